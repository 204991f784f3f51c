"""An endpoint of files that is being moved refuses changes immediately, in every process."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.move_markers import MOVING, MoveMarkers
from lifeboat_endpoint.maintenance import periodic_maintenance
from lifeboat_endpoint.maintenance.tenant_removal import remove_tenant
from lifeboat_endpoint.migration.old_folder import OldFolder
from lifeboat_endpoint.tenancy.callers import DEVICE_SCOPES
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault import errors
from lifeboat_vault.vault import Draft, EntryPut
from support.endpoint.keeping import AGENT, OTHER, RunningClock, clock, endpoint, reopened, with_history
from support.patience import patience
from support.vault.vaults import START, commit

__all__ = ["clock", "endpoint"]

MORE = Draft({"raw/openclaw/MEMORY.md": EntryPut({}, b"one more state\n")})


@pytest.fixture
def tenant(endpoint: Endpoint) -> Tenant:
    made = endpoint.add_tenant("home")
    with_history(endpoint, made, hours=2)
    return made


@pytest.fixture
def leaving(endpoint: Endpoint, tenant: Tenant) -> MoveMarkers:
    return MoveMarkers(endpoint.folder)


def test_what_says_so_takes_no_room(leaving: MoveMarkers, endpoint: Endpoint) -> None:
    leaving.begin()
    assert (endpoint.folder / MOVING).stat().st_size == 0


def test_beginning_again_is_the_same_attempt_and_after_giving_up_it_is_another(leaving: MoveMarkers) -> None:
    first = leaving.begin()
    assert leaving.begin() == first == leaving.since
    leaving.take_back()
    assert leaving.since is None
    threading.Event().wait(0.01)
    assert leaving.begin() > first


def test_a_vault_that_is_open_already_takes_nothing_new(
    leaving: MoveMarkers, endpoint: Endpoint, tenant: Tenant
) -> None:
    with endpoint.space(tenant.id).vault(AGENT) as vault:
        leaving.begin()
        with pytest.raises(errors.EndpointMoving):
            commit(vault, MORE, START + timedelta(days=1))
        assert [row.number for row in vault.sequences()] == [0, 1, 2]
        leaving.take_back()
        assert commit(vault, MORE, START + timedelta(days=1)) is not None


def test_what_another_process_opens_gives_and_takes_nothing(
    leaving: MoveMarkers, endpoint: Endpoint, tenant: Tenant
) -> None:
    leaving.begin()
    with reopened(endpoint) as other:
        space = other.space(tenant.id)
        assert space.head(AGENT).number == 2  # type: ignore[union-attr]
        with space.vault(AGENT) as vault:
            assert vault.verify(trusted=None, whole=True).findings == []
        with pytest.raises(errors.RemoteBusy, match="being moved"):
            space.register(OTHER, "Juniper", "openclaw")


def test_whoever_was_writing_ends_before_it_is_read(leaving: MoveMarkers, endpoint: Endpoint, tenant: Tenant) -> None:
    """An acknowledged change is moved, and any other one is refused."""
    begun, let = threading.Event(), threading.Event()
    old = OldFolder(endpoint.folder, endpoint.files)

    def write() -> None:
        with reopened(endpoint) as other, other.space(tenant.id).vault(AGENT) as vault, vault._transaction():
            begun.set()
            let.wait(patience())
            vault._metadata.execute("insert into decision(key, value) values ('late', '1')")

    thread = threading.Thread(target=write)
    thread.start()
    begun.wait(patience())
    leaving.begin()
    threading.Timer(0.3, let.set).start()
    with old.vault(tenant.id, AGENT) as store:
        assert store.row("select 1 from decision where key = 'late'") == (1,)
    thread.join()


def test_tokens_end_while_it_moves_and_tenants_stay(leaving: MoveMarkers, endpoint: Endpoint, tenant: Tenant) -> None:
    token, secret = endpoint.control.add_token(tenant.id, "laptop", DEVICE_SCOPES)
    leaving.begin()
    endpoint.control.revoke_token(token.id)
    with pytest.raises(errors.RemoteDenied):
        endpoint.control.authenticate(secret)
    with pytest.raises(errors.EndpointMoving):
        remove_tenant(endpoint, tenant.id)
    with pytest.raises(errors.EndpointMoving):
        endpoint.add_tenant("another")


def test_keys_stay_as_they_are(leaving: MoveMarkers, endpoint: Endpoint, tenant: Tenant) -> None:
    before = endpoint.keys(tenant.id).ids()
    leaving.begin()
    with pytest.raises(errors.EndpointMoving):
        endpoint.keys(tenant.id).rotate()
    assert endpoint.keys(tenant.id).ids() == before


def test_a_server_does_nothing_by_itself(
    leaving: MoveMarkers, endpoint: Endpoint, tenant: Tenant, clock: RunningClock
) -> None:
    leaving.begin()
    clock.advance(days=400)
    assert periodic_maintenance.run_due(endpoint, clock.now()) == []
    assert endpoint.control.get(periodic_maintenance.NOTE) is None


def test_reads_stand_in_the_audit_all_the_same(leaving: MoveMarkers, endpoint: Endpoint, tenant: Tenant) -> None:
    leaving.begin()
    endpoint.control.note(None, "snapshot.read", AGENT, {"tenant": tenant.id})
    endpoint.control.flush()
    assert [row.kind for row in endpoint.control.audit_rows()][-1] == "snapshot.read"


def test_where_it_is_over_nobody_is_served(leaving: MoveMarkers, endpoint: Endpoint, tenant: Tenant) -> None:
    token, secret = endpoint.control.add_token(tenant.id, "laptop", DEVICE_SCOPES)
    leaving.begin()
    leaving.finish()
    with pytest.raises(errors.EndpointMoved):
        endpoint.control.authenticate(secret)
    with pytest.raises(errors.EndpointMoved):
        endpoint.control.check_token(token.id, tenant.id)
    with pytest.raises(errors.EndpointMoved):
        endpoint.control.revoke_token(token.id)


def test_a_folder_that_cannot_say_so_is_not_moved(tmp_path: Path) -> None:
    with pytest.raises((errors.VaultUnusable, FileNotFoundError)):
        MoveMarkers(tmp_path / "missing").begin()
