"""ALF §10.14: hard deletion, by two servers in turns on PostgreSQL and an object store."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_core.remotes import manage_remotes
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from spec import test_section_10_14_endpoint as promised
from spec.test_section_10_14_endpoint import Tenant, machine
from support.endpoint.endpoint_purges import erasing
from support.scale.shared_endpoint import Joined, SharedEndpoint
from support.scale.shared_lives import the_audit_is_whole

__all__ = ["machine"]


@pytest.fixture(scope="module")
def joined(begun: SharedEndpoint) -> Joined:
    begun.all_run()
    return begun.new_tenant()


@pytest.fixture(scope="module")
def tenant(begun: SharedEndpoint, joined: Joined, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    home = {"LIFEBOAT_HOME": str(tmp_path_factory.mktemp("home") / "lifeboat"), "HOME": "/nonexistent"}
    context = Context.open(home)
    config = manage_remotes.add_remote(context, "home", manage_remotes.parse_remote_access(joined.join))[0]
    with contextlib.closing(open_remote(context, config)) as remote:
        yield Tenant(begun.folder / "here", remote, joined.owner)


def test_all_of_an_agent_is_destroyed(
    tenant: Tenant, machine: TrialMachine, begun: SharedEndpoint, joined: Joined
) -> None:
    """Rows and objects, too; the audit keeps its id."""
    promised.test_all_of_an_agent_is_destroyed_at_an_endpoint(tenant, machine)
    where = f"where tenant = '{joined.tenant.id}' and agent = '{machine.agent_id}'"
    assert begun.database.run(f"select 1 from lifeboat_vault.place {where}", name="lifeboat") == []
    blobs = f"select 1 from lifeboat_tenant.blob where scope = '{machine.agent_id}'"
    assert begun.database.run(blobs, name="lifeboat") == []


def test_three_of_a_hundred_records_are_purged(tenant: Tenant, machine: TrialMachine, tmp_path: Path) -> None:
    promised.test_three_of_a_hundred_records_are_purged_at_an_endpoint(tenant, machine, tmp_path)


def test_records_of_two_partitions_are_purged(tenant: Tenant, machine: TrialMachine, tmp_path: Path) -> None:
    promised.test_records_of_two_partitions_are_purged_at_an_endpoint(tenant, machine, tmp_path)


def test_a_record_of_the_current_partition_is_purged(tenant: Tenant, machine: TrialMachine, tmp_path: Path) -> None:
    promised.test_a_record_of_the_current_partition_is_purged_at_an_endpoint(tenant, machine, tmp_path)


def test_deltas_hold_no_purged_record(tenant: Tenant, machine: TrialMachine) -> None:
    promised.test_deltas_of_an_endpoint_hold_no_purged_record(tenant, machine)


def test_who_knows_the_hash_of_a_partition_sees_that_it_was_replaced(
    tenant: Tenant, machine: TrialMachine, tmp_path: Path
) -> None:
    promised.test_who_knows_the_hash_of_a_partition_sees_that_it_was_replaced(tenant, machine, tmp_path)


def test_the_audit_tells_of_a_purge_and_nothing_of_the_content(
    tenant: Tenant, machine: TrialMachine, begun: SharedEndpoint
) -> None:
    promised.test_the_audit_of_an_endpoint_tells_of_a_purge_and_nothing_of_the_content(tenant, machine)
    the_audit_is_whole(begun)


def test_objects_of_an_agent_that_was_purged_whole_are_gone_from_the_store(
    tenant: Tenant, machine: TrialMachine, begun: SharedEndpoint, joined: Joined
) -> None:
    machine.capture(raw__openclaw__scan=os.urandom(300_000))
    tenant.remote.push(machine.agent_id, machine.delta(1))
    machine.capture(raw__openclaw__scan=os.urandom(300_000))
    tenant.remote.push(machine.agent_id, machine.delta(2))
    named = f"select key from lifeboat_tenant.blob where scope = '{machine.agent_id}'"
    keys = {key for (key,) in begun.database.run(named, name="lifeboat")}
    bucket = begun.endpoint.engine.bucket  # type: ignore[attr-defined]
    folder = f"bodies/{joined.tenant.id}/"
    assert keys and keys <= {each.key for each in bucket.list(folder)}
    tenant.purge(machine, erasing(machine))
    assert not keys & {each.key for each in bucket.list(folder)}
