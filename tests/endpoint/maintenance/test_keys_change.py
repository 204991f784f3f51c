"""Rotation of data keys: everything is encrypted again, the old key opens nothing, and nothing is lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import data_key_rotation
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from lifeboat_endpoint.maintenance.tenant_care import compact_tenant
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault import errors
from support.endpoint.keeping import (
    AGENT,
    CANARY,
    OTHER,
    RunningClock,
    files_holding,
    new_endpoint,
    tenant_folder,
    with_history,
)
from support.killing import killed_at

NOTE = "raw/openclaw/MEMORY.md"


def read_note(endpoint: Endpoint, tenant: Tenant, agent_id: str = AGENT) -> bytes | None:
    return endpoint.space(tenant.id).read(agent_id, 0, [NOTE], [])[0]


def new_keys(endpoint: Endpoint, tenant: Tenant) -> list[str]:
    """Rotate the keys; return the ids before."""
    before = endpoint.keys(tenant.id).ids()
    data_key_rotation.rotate_keys(endpoint, tenant)
    return before


@pytest.mark.parametrize("scope", ["tenant", "agent"])
def test_after_compact_nothing_is_left_that_the_old_keys_sealed(tmp_path: Path, scope: str) -> None:
    with new_endpoint(tmp_path, key_scope=scope) as endpoint:
        tenant = endpoint.add_tenant("home")
        for agent_id in (AGENT, OTHER):
            with_history(endpoint, tenant, agent_id, hours=2)
        endpoint.space(tenant.id).put_keys(AGENT, {"agent": AGENT})
        before = new_keys(endpoint, tenant)
        care = compact_tenant(endpoint, tenant)
        assert (care.problems, sorted(care.destroyed)) == ([], sorted(before))
        for key_id in before:
            assert files_holding(tenant_folder(endpoint, tenant.id), bytes.fromhex(key_id)) == []
        assert verify_endpoint(endpoint, [tenant]).findings == []
        assert endpoint.space(tenant.id).keys(AGENT) == {"agent": AGENT}


def test_until_compact_everything_can_be_read_and_written(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        with_history(endpoint, tenant)
        new_keys(endpoint, tenant)
        with_history(endpoint, tenant, OTHER)
        assert read_note(endpoint, tenant) == read_note(endpoint, tenant, OTHER) == CANARY + b"- hour 0\n"
        assert verify_endpoint(endpoint, [tenant]).ok


def test_a_server_that_runs_meanwhile_goes_on_reading_and_writing(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        with_history(endpoint, tenant)
        with Endpoint.open(endpoint.folder, clock=endpoint.clock) as server:
            assert read_note(server, tenant) is not None
            new_keys(endpoint, tenant)
            assert compact_tenant(endpoint, tenant).problems == []
            assert read_note(server, tenant) == CANARY + b"- hour 0\n"
            assert [one.name for one in server.space(tenant.id).agents()] == ["Juniper"]
            server.space(tenant.id).raise_epoch(AGENT, 1)
        assert verify_endpoint(endpoint, [tenant]).findings == []


@pytest.mark.parametrize("minutes", [0, 60], ids=["soon", "after-the-old-key-was-let-go-of"])
def test_a_vault_that_was_open_meanwhile_is_opened_under_its_new_key(tmp_path: Path, minutes: int) -> None:
    clock = RunningClock()
    with new_endpoint(tmp_path, clock=clock) as endpoint:
        tenant = endpoint.add_tenant("home")
        with_history(endpoint, tenant)
        with Endpoint.open(endpoint.folder, clock=clock) as server:
            assert read_note(server, tenant) is not None
            new_keys(endpoint, tenant)
            assert compact_tenant(endpoint, tenant).problems == []
            clock.advance(minutes=minutes)
            assert read_note(server, tenant) == CANARY + b"- hour 0\n"


def test_where_one_agent_cannot_be_sealed_anew_the_old_key_stays(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        for agent_id in (AGENT, OTHER):
            with_history(endpoint, tenant, agent_id)
        endpoint.forget(tenant.id)
        (tenant_folder(endpoint, tenant.id) / "agents" / AGENT / "vault.db").write_bytes(b"damaged" * 1000)
        before = new_keys(endpoint, tenant)
        care = compact_tenant(endpoint, tenant)
        assert care.destroyed == [] and before[0] in endpoint.keys(tenant.id).ids()
        assert read_note(endpoint, tenant, OTHER) is not None


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="kills a fork")
@pytest.mark.parametrize(
    ("step", "nth"),
    [
        (CrashPoint.REENCRYPT_KEY_MADE, 1),
        (CrashPoint.REENCRYPT_BODIES_WRITTEN, 1),
        (CrashPoint.REENCRYPT_COMMITTED, 2),
        (CrashPoint.REENCRYPT_KEY_DESTROYED, 1),
    ],
)
def test_a_rotation_that_is_cut_off_loses_nothing_and_is_finished_by_the_next(
    tmp_path: Path, step: CrashPoint, nth: int
) -> None:
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        for agent_id in (AGENT, OTHER):
            with_history(endpoint, tenant, agent_id)
        first = endpoint.keys(tenant.id).ids()

    def work() -> None:
        with Endpoint.open(endpoint.folder, clock=endpoint.clock) as other:
            data_key_rotation.rotate_keys(other, tenant)
            compact_tenant(other, tenant)

    assert killed_at(work, step, nth), f"{step} was not reached on {sys.platform}"
    with Endpoint.open(endpoint.folder, clock=endpoint.clock) as again:
        assert read_note(again, tenant) == read_note(again, tenant, OTHER) == CANARY + b"- hour 0\n"
        data_key_rotation.rotate_keys(again, tenant)
        assert compact_tenant(again, tenant).problems == []
        assert len(again.keys(tenant.id).ids()) == 1 and first[0] not in again.keys(tenant.id).ids()
        assert verify_endpoint(again, [tenant]).findings == []


def test_another_key_source_protects_what_is_there_and_what_comes(tmp_path: Path) -> None:
    source = f"file:{tmp_path / 'new.key'}"
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        with_history(endpoint, tenant)
        data_key_rotation.rotate_keys(endpoint, tenant, source)
        data_key_rotation.move_endpoint_keys(endpoint, source)
    (tmp_path / "endpoint.key").unlink()
    with Endpoint.open(endpoint.folder, clock=endpoint.clock) as again:
        assert again.settings.key_source == source
        assert read_note(again, tenant) == CANARY + b"- hour 0\n"
        assert again.keys(again.add_tenant("office").id).source == source


def test_a_key_source_in_the_folder_of_the_data_is_refused_before_anything_changes(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        before = endpoint.keys(tenant.id).ids()
        with pytest.raises(errors.KeySourceRefused):
            data_key_rotation.rotate_keys(endpoint, tenant, f"file:{endpoint.folder / 'key'}")
        assert endpoint.keys(tenant.id).ids() == before


def test_new_and_destroyed_keys_stand_in_the_audit(tmp_path: Path) -> None:
    with new_endpoint(tmp_path) as endpoint:
        tenant = endpoint.add_tenant("home")
        (old,) = new_keys(endpoint, tenant)
        compact_tenant(endpoint, tenant)
        rows = {row.kind: row for row in endpoint.control.audit_rows()}
    assert rows["key.destroyed"].subject == old and rows["key.rotated"].details == {"tenant": tenant.id}


@pytest.mark.parametrize("trouble", ["taken away", "open to others", "damaged", "missing"])
def test_a_tenant_whose_keys_cannot_be_had_keeps_nobody_else_from_new_keys(tmp_path: Path, trouble: str) -> None:
    with new_endpoint(tmp_path) as endpoint:
        revoked = endpoint.add_tenant("office", key_source=f"file:{tmp_path / 'office.key'}")
        tenant = endpoint.add_tenant("home")
        document = tenant_folder(endpoint, revoked.id) / "keys.json"
        {
            "taken away": (tmp_path / "office.key").unlink,
            "open to others": lambda: (tmp_path / "office.key").chmod(0o644),
            "damaged": lambda: document.write_bytes(b"{}"),
            "missing": document.unlink,
        }[trouble]()
    with Endpoint.open(endpoint.folder, clock=endpoint.clock) as again:
        done, problems = data_key_rotation.rotate_all(again, [revoked, tenant])
    assert [one.tenant for one in done] == [tenant]
    assert len(problems) == 1 and problems[0].startswith("office: ")
