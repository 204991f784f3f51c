"""An endpoint moves from its folder into PostgreSQL and an object store: everything is the same there."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.endpoint_preparation import prepare_endpoint
from lifeboat_endpoint.maintenance import periodic_maintenance
from lifeboat_endpoint.maintenance.endpoint_verification import verify_endpoint
from lifeboat_endpoint.migration.endpoint_migration import abort_migration, migrate_endpoint
from lifeboat_endpoint.tenancy.callers import DEVICE_SCOPES
from lifeboat_vault import errors
from lifeboat_vault.vault import Draft, EntryPut
from support.endpoint.keeping import AGENT, OTHER
from support.scale.moving_endpoints import Moving, Places, command, filled, holds, is_the_same, made, moving, places
from support.vault.vaults import START, commit

__all__ = ["moving", "places"]

MORE = Draft({"raw/openclaw/MEMORY.md": EntryPut({}, b"one more state\n")})


def test_every_row_and_every_body_is_the_same(moving: Moving) -> None:
    done = moving.move()
    assert done.problems == [] and (done.tenants, done.agents) == (2, 4)
    is_the_same(moving)


def test_what_was_moved_is_proved_whole_with_its_own_keys(moving: Moving) -> None:
    moving.move()
    with moving.after() as endpoint:
        proof = verify_endpoint(endpoint, endpoint.control.tenants())
    assert proof.findings == [] and proof.agents == 4


def test_agents_with_keys_of_their_own_keep_them(tmp_path: Path, places: Places) -> None:
    moving = made(tmp_path, places.store(), key_scope="agent")
    filled(moving, tenants=1)
    moving.move()
    is_the_same(moving)
    with moving.after() as endpoint:
        assert verify_endpoint(endpoint, endpoint.control.tenants()).findings == []


def test_the_endpoint_stays_who_it_is(moving: Moving) -> None:
    with moving.before() as endpoint:
        before = endpoint.id, endpoint.signing_key().public
    moving.move()
    with moving.after() as endpoint:
        assert (endpoint.id, endpoint.signing_key().public) == before


def test_tokens_open_the_new_one_and_revoked_ones_do_not(moving: Moving) -> None:
    moving.move()
    with moving.after() as endpoint:
        for tenant_id, secret in moving.tokens.items():
            assert endpoint.control.authenticate(secret).tenant_id == tenant_id
        assert sum(token.revoked_at is not None for token in endpoint.control.tokens()) == 2


def test_the_chain_of_the_audit_goes_on(moving: Moving) -> None:
    with moving.before() as endpoint:
        first, last, digest = endpoint.control.audit_ends()
    moving.move()
    with moving.after() as endpoint:
        assert endpoint.control.audit_page(last, 1)[0].hex() == digest
        assert endpoint.control.audit_page(last, 10)[1][-1].kind == "endpoint.moved"
        assert endpoint.control.check_audit() == [] and endpoint.control.audit_ends()[0] == first


def test_while_it_moves_nothing_new_is_taken_and_all_is_given(moving: Moving) -> None:
    from lifeboat_endpoint.engines.move_markers import MoveMarkers

    with moving.before() as endpoint:
        tenant = endpoint.control.tenants()[0]
        space = endpoint.space(tenant.id)
        MoveMarkers(moving.old).begin()
        with space.vault(AGENT) as vault:
            with pytest.raises(errors.EndpointMoving):
                commit(vault, MORE, START + timedelta(days=1))
            assert vault.state(3).sequence.number == 3
        with pytest.raises(errors.RemoteBusy, match="being moved") as refused:
            space.put_keys(AGENT, {})
        assert refused.value.retry_after == 60.0
        with pytest.raises(errors.EndpointMoving):
            endpoint.add_tenant("another")
        with pytest.raises(errors.EndpointMoving):
            endpoint.keys(tenant.id).rotate()
        assert periodic_maintenance.run_due(endpoint, endpoint.clock.now()) == []


def test_a_token_that_ends_while_it_moves_has_ended_afterwards(moving: Moving) -> None:
    def tell(what: str, done: int, every: int) -> None:
        if done == every:
            with moving.before() as endpoint:
                token = endpoint.control.authenticate(next(iter(moving.tokens.values()))).token_id
                endpoint.control.revoke_token(token)
                endpoint.control.add_token(endpoint.control.tenants()[0].id, "new", DEVICE_SCOPES)

    moving.move(tell=tell)
    is_the_same(moving)
    with moving.after() as endpoint, pytest.raises(errors.RemoteDenied):
        endpoint.control.authenticate(next(iter(moving.tokens.values())))


def test_an_endpoint_that_was_moved_serves_nobody(moving: Moving) -> None:
    moving.move()
    with moving.before() as endpoint:
        with pytest.raises(errors.EndpointMoved):
            endpoint.control.authenticate(next(iter(moving.tokens.values())))
        with pytest.raises(errors.EndpointMoved):
            endpoint.control.revoke_token(endpoint.control.tokens()[0].id)


def test_moving_again_changes_nothing(moving: Moving) -> None:
    moving.move()
    with moving.after() as endpoint:
        endpoint.control.add_token(endpoint.control.tenants()[0].id, "later", DEVICE_SCOPES)
        before = endpoint.control.audit_ends()
    assert moving.move().was_done
    with moving.after() as endpoint:
        assert endpoint.control.audit_ends() == before


def test_what_is_there_in_part_is_not_served(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lifeboat_endpoint.migration.control_copy.finish_control", _fail)
    with pytest.raises(errors.VaultFull):
        moving.move()
    with Endpoint.open(moving.new) as endpoint, pytest.raises(errors.EndpointSettings, match="move is not complete"):
        endpoint.control.tenants()


def test_who_served_the_empty_one_finds_that_it_is_another_one_now(moving: Moving) -> None:
    with Endpoint.open(moving.new) as stale:
        assert stale.control.tenants() == []
        stale.engine.checks()["schema"]()
        moving.move()
        for asked in (
            stale.engine.checks()["schema"],
            lambda: stale.engine.remove_nobodys((), stale.clock.now()),
            lambda: stale.engine.sweep(stale.clock.now()),
        ):
            with pytest.raises(errors.EndpointSettings, match=r"endpoint\.json belongs to another endpoint"):
                asked()
    is_the_same(moving)


def _fail(*_: object) -> None:
    raise errors.VaultFull("no space")


def test_after_giving_up_agents_push_again_and_the_next_move_brings_all(
    moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(errors.VaultFull):
        patch.setattr("lifeboat_endpoint.migration.control_copy.finish_control", _fail)
        moving.move()
    assert abort_migration(moving.old) and not abort_migration(moving.old)
    with moving.before() as endpoint:
        tenant, other = endpoint.control.tenants()
        with endpoint.space(tenant.id).vault(AGENT) as vault:
            commit(vault, MORE, START + timedelta(days=1))
        endpoint.space(tenant.id).remove_agent(OTHER)
        endpoint.control.set_key_source(other.id, None)
        endpoint.add_tenant("a third")
    assert moving.move().agents == 3
    is_the_same(moving)


def test_what_is_finished_cannot_be_given_up(moving: Moving) -> None:
    moving.move()
    with pytest.raises(errors.EndpointMoved, match="give the new endpoint with --to"):
        abort_migration(moving.old)
    with pytest.raises(errors.EndpointMoved, match="is finished"):
        abort_migration(moving.old, moving.new)


def test_two_at_once_are_one(moving: Moving) -> None:
    refused = []

    def tell(what: str, done: int, every: int) -> None:
        if not refused:
            with pytest.raises(errors.EndpointBusy) as error:
                moving.move()
            refused.append(error.value)

    moving.move(tell=tell)
    assert refused
    is_the_same(moving)


def test_a_damaged_vault_is_named_and_nothing_is_finished(moving: Moving) -> None:
    with moving.before() as endpoint:
        tenant = endpoint.control.tenants()[0]
    next((moving.old / "tenants" / tenant.id / "agents" / AGENT / "objects").iterdir()).unlink()
    done = moving.move()
    assert len(done.problems) == 1 and f"{tenant.id} {AGENT}" in done.problems[0] and "missing" in done.problems[0]
    assert holds(moving).startswith("unfinished:")
    with moving.before() as endpoint:
        assert endpoint.control.authenticate(moving.tokens[tenant.id])


def test_a_database_that_holds_another_endpoint_is_left_alone(moving: Moving) -> None:
    with moving.after() as endpoint:
        endpoint.add_tenant("somebody")
    with pytest.raises(errors.EndpointSettings, match="with tenants"):
        moving.move()
    with moving.before() as endpoint:
        endpoint.add_tenant("it takes what is new")


def test_a_key_that_cannot_be_used_from_there_stops_it_before_anything_is_written(
    moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    with moving.before() as endpoint:
        (moving.old / "endpoint.json").write_text(
            (moving.old / "endpoint.json").read_text().replace(endpoint.settings.key_source, f"file:{moving.new}/key")
        )
    with pytest.raises(errors.KeySourceRefused):
        moving.move()
    assert not holds(moving).startswith("unfinished:")


def test_settings_travel_and_other_processes_join_with_them(moving: Moving, tmp_path: Path) -> None:
    path = moving.old / "endpoint.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "purge_hours": 7}))
    moving.move()
    found = json.loads((moving.new / "endpoint.json").read_text())
    assert found["purge_hours"] == 7 and found["key_source"] == moving.key_source and found["store"]
    joined = prepare_endpoint(tmp_path / "another", moving.store, key_source=moving.key_source)
    with moving.before() as endpoint:
        assert joined.id == endpoint.id


def test_certificates_that_clients_have_pinned_travel(moving: Moving) -> None:
    (moving.old / "tls").mkdir(mode=0o700)
    (moving.old / "tls" / "ca.pem").write_text("a certificate")
    moving.move()
    assert (moving.new / "tls" / "ca.pem").read_text() == "a certificate"


def test_the_command_says_what_it_did(moving: Moving) -> None:
    done = command("--data", moving.old, "--to", moving.new, "--verify", "--json")
    assert done.returncode == 0, done.stderr.decode()
    said = json.loads(done.stdout)
    assert said["finished"] and said["agents"] == 4 and said["objects"] == 4 and said["findings"] == []
    assert json.loads(command("--data", moving.old, "--abort", "--json").stdout)["error"]["code"] == "endpoint_moved"


def test_only_files_move(moving: Moving) -> None:
    with pytest.raises(errors.EndpointSettings, match="already stores its data in a shared database"):
        migrate_endpoint(moving.new, moving.old)
