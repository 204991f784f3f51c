"""Backup and restore of a shared endpoint, with the tools that people use: pg_dump and pg_restore for the database, a
copy of the bucket that is never older than the dump."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lifeboat_core.remotes import manage_remotes
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.endpoint_config import SharedStore
from lifeboat_endpoint.engines.endpoint_preparation import prepare_endpoint
from lifeboat_endpoint.engines.objects import store_address
from lifeboat_endpoint.engines.objects.bucket import MARKER, Bucket
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from lifeboat_endpoint.tenancy.callers import DEVICE_SCOPES
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault import errors
from support import postgres_server
from support.alf.raising import raises_code
from support.core.replicated import Replicated, machine_in
from support.endpoint.endpoint_servers import RunningEndpoint
from support.endpoint.keeping import AGENT
from support.patience import patience
from support.scale.moving_endpoints import Places, places, with_agents

__all__ = ["places"]


@dataclass
class Kept:
    """A shared endpoint, in this process, and what an operator does with its database and its bucket."""

    folder: Path
    places: Places
    store: SharedStore
    objects: dict[str, bytes] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def name(self) -> str:
        return self.store.database.partition("///")[2].partition("?")[0]

    @property
    def bucket(self) -> Bucket:
        return store_address.open_store(
            store_address.check_store_address(self.store.objects, self.store.object_options)
        )

    def open(self) -> Endpoint:
        return Endpoint.open(self.data)

    def dump_database(self) -> Path:
        """While it is served: a dump is of one moment."""
        path = self.folder / "database.dump"
        where = f"{self.store.database}&user=postgres"
        self._run("pg_dump", "--format=custom", "--no-password", f"--file={path}", where)
        return path

    def copy_bucket(self) -> None:
        """As `aws s3 sync` and `rclone copy` do: what is there, one object after the other; what was copied stays."""
        self.objects |= {each.key: self.bucket.get(each.key) for each in self.bucket.list("")}

    def lose_everything(self) -> None:
        drop = f'drop database "{self.name}" with (force)'
        self.places.database.run(drop, f'create database "{self.name}" encoding UTF8 template template0')
        for each in list(self.bucket.list("")):
            self.bucket.delete(each.key)

    def restore(self, dump: Path) -> None:
        """Objects first: then no row names what is not there yet."""
        for key, data in self.objects.items():
            self.bucket.put(key, data)
        self._run("pg_restore", "--exit-on-error", f"--dbname={self.store.database}&user=postgres", str(dump))

    def _run(self, program: str, *arguments: str) -> None:
        found = postgres_server.programs()
        assert found is not None
        done = subprocess.run(
            [str(found / program), *arguments], capture_output=True, timeout=patience(120), check=False
        )
        assert done.returncode == 0, done.stderr.decode()


@pytest.fixture
def kept(tmp_path: Path, places: Places) -> Kept:
    store = places.store()
    made = Kept(tmp_path, places, store)
    prepare_endpoint(made.data, store, key_source=f"file:{tmp_path / 'endpoint.key'}")
    return made


@pytest.fixture
def tenant(kept: Kept) -> Tenant:
    with kept.open() as endpoint:
        made = endpoint.add_tenant("home")
        with_agents(endpoint, made)
    return made


def everything(kept: Kept, tenant: Tenant) -> dict[str, bytes]:
    """Every body of every state of the agents, by agent, number and path."""
    found = {}
    with kept.open() as endpoint:
        space = endpoint.space(tenant.id)
        for agent_id in space.agent_ids():
            with space.vault(agent_id) as vault:
                for row in vault.sequences():
                    state = vault.state(row.number)
                    found |= {f"{agent_id} {row.number} {each.path}": state.body(each.path) for each in state.entries()}
    return found


def test_all_that_the_dump_has_is_back_byte_for_byte(kept: Kept, tenant: Tenant) -> None:
    before = everything(kept, tenant)
    dump = kept.dump_database()
    kept.copy_bucket()
    kept.lose_everything()
    kept.restore(dump)
    assert len(before) == 24 and everything(kept, tenant) == before
    with kept.open() as endpoint:
        assert verify_endpoint(endpoint, endpoint.control.tenants()).findings == []
        with raises_code(errors.EndpointError.TENANT_EXISTS):
            endpoint.add_tenant("home")


def test_row_level_security_is_back_too(kept: Kept, tenant: Tenant) -> None:
    dump = kept.dump_database()
    kept.copy_bucket()
    kept.lose_everything()
    kept.restore(dump)
    rows = kept.places.database.run(
        "select count(*), count(*) filter (where relrowsecurity and relforcerowsecurity) from pg_class c "
        "join pg_namespace n on n.oid = c.relnamespace where n.nspname like 'lifeboat%' and relkind = 'r'",
        name=kept.name,
    )
    assert rows[0][0] == rows[0][1] > 20
    seen = kept.places.database.run("select count(*) from lifeboat_tenant.agent", name=kept.name, user="lifeboat_api")
    assert seen == [(0,)], "whoever sets no tenant sees nothing"


def test_a_copy_of_the_bucket_that_is_older_than_the_dump_lacks_what_verify_names(kept: Kept, tenant: Tenant) -> None:
    kept.copy_bucket()
    with kept.open() as endpoint:
        other = endpoint.add_tenant("office")
        with_agents(endpoint, other)
    dump = kept.dump_database()
    kept.lose_everything()
    kept.restore(dump)
    with kept.open() as endpoint:
        assert verify_endpoint(endpoint, [endpoint.control.tenant("home")]).findings == []
        found = verify_endpoint(endpoint, [endpoint.control.tenant("office")]).findings
    assert found and {one.tenant for one in found} == {"office"}


def test_an_object_that_is_missing_is_named_by_agent_and_body(kept: Kept, tenant: Tenant) -> None:
    dump = kept.dump_database()
    kept.copy_bucket()
    kept.lose_everything()
    gone = next(key for key in kept.objects if key.startswith("bodies/"))
    del kept.objects[gone]
    kept.restore(dump)
    with kept.open() as endpoint:
        found = verify_endpoint(endpoint, endpoint.control.tenants()).findings
    assert len({one.agent for one in found}) == 1 and any("does not have the object" in one.message for one in found)


def test_a_newer_copy_of_the_bucket_has_orphans_that_the_sweep_takes(kept: Kept, tenant: Tenant) -> None:
    dump = kept.dump_database()
    before = everything(kept, tenant)
    with kept.open() as endpoint:
        with_agents(endpoint, endpoint.add_tenant("office"))
    kept.copy_bucket()
    kept.lose_everything()
    kept.restore(dump)
    assert everything(kept, tenant) == before
    with kept.open() as endpoint:
        assert verify_endpoint(endpoint, endpoint.control.tenants()).findings == []
    assert MARKER in kept.objects


def test_what_goes_while_the_backup_is_made_is_in_the_copy_from_before(kept: Kept, tenant: Tenant) -> None:
    """Copied before the dump and once more after it: what the dump names is in one of them."""
    kept.copy_bucket()
    before = everything(kept, tenant)
    dump = kept.dump_database()
    with kept.open() as endpoint:
        endpoint.space(tenant.id).remove_agent(AGENT)
    kept.copy_bucket()
    kept.lose_everything()
    kept.restore(dump)
    assert everything(kept, tenant) == before


# Machines that are ahead ----------------------------------------------------------------------------------------------


@pytest.fixture
def serving(kept: Kept) -> Iterator[RunningEndpoint]:
    there = RunningEndpoint(kept.data, plain=True, workers=1, options=())
    with kept.open() as endpoint:
        tenant = endpoint.add_tenant("home")
        there.token = endpoint.control.add_token(tenant.id, "laptop", DEVICE_SCOPES)[1]
    try:
        there.start()
        yield there
    finally:
        there.kill()


def test_a_machine_that_is_ahead_says_so_and_brings_what_is_missing(
    kept: Kept, serving: RunningEndpoint, tmp_path: Path
) -> None:
    ada = Replicated(machine_in(tmp_path / "laptop"))
    ada.machine.add_remote("home", serving.url, token=serving.token)
    ada.straight["home"] = ada.machine.remote()
    assert ada.machine.push().state == "ok"
    dump = kept.dump_database()
    for number in range(3):
        ada.capture(number)
        assert ada.machine.push().state == "ok"
    kept.copy_bucket()
    serving.kill()
    kept.lose_everything()
    kept.restore(dump)
    serving.start()
    ada.capture(3)
    outcome = ada.machine.push()
    assert (outcome.state, outcome.code) == ("error", "remote_forgot"), outcome
    manage_remotes.remove_remote(ada.machine.context, "home")
    ada.machine.add_remote("home", serving.url, token=serving.token)
    ada.straight["home"] = ada.machine.remote()
    assert ada.machine.push().state == "ok"
    ada.holds()
    with kept.open() as endpoint:
        tenant = endpoint.control.tenant("home")
        with endpoint.space(tenant.id).vault(ada.machine.agent.id) as vault:
            assert [row.number for row in vault.sequences()] == [0, 4], "from the state that both have, in one step"
