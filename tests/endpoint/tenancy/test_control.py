"""Tenants and tokens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from lifeboat_endpoint.tenancy import token_secrets
from lifeboat_endpoint.tenancy.callers import Caller
from lifeboat_endpoint.tenancy.control import Control
from lifeboat_endpoint.tenancy.control_file import ControlFile, create_control
from lifeboat_vault import errors
from support.alf.raising import raises_code
from support.descriptors import descriptors_left, needs_limits
from support.endpoint.keeping import RunningClock, clock, control
from support.vault.vaults import START

__all__ = ["clock", "control"]


def test_a_token_says_whose_it_is_and_what_it_may_do(control: Control) -> None:
    tenant = control.add_tenant("home")
    token, secret = control.add_token(tenant.id, "laptop", ["pull", "push"])
    assert control.authenticate(secret) == Caller(tenant.id, token.id, "laptop", frozenset({"push", "pull"}))


def test_a_token_is_256_random_bits_behind_its_public_id(control: Control) -> None:
    token, secret = control.add_token(control.add_tenant("home").id, "laptop", ["push"])
    mark, public, random = secret.split("_", 2)
    assert (mark, public, len(random)) == ("lb", token.id, 43)


def test_no_file_holds_a_token(control: Control, tmp_path: Path) -> None:
    _, secret = control.add_token(control.add_tenant("home").id, "laptop", ["push"])
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in kept and secret.split("_", 2)[2].encode() not in kept


def test_a_token_that_differs_in_one_character_lets_nobody_in(control: Control) -> None:
    _, secret = control.add_token(control.add_tenant("home").id, "laptop", ["push"])
    for other in (f"{secret}A", secret[:-1], secret.swapcase(), secret.replace("lb_", "lb-")):
        with pytest.raises(errors.RemoteDenied):
            control.authenticate(other)


def test_what_is_no_token_lets_nobody_in(control: Control) -> None:
    for text in ("", "lb_", "x' or '1'='1", "lb_aaaaaaaa_" + "a" * 43, "lb_ä" + "a" * 60, "\0", "\ud800"):
        with pytest.raises(errors.RemoteDenied):
            control.authenticate(text)


def test_a_revoked_token_counts_no_more_at_once_in_another_process_too(
    control: Control, tmp_path: Path, clock: RunningClock
) -> None:
    token, secret = control.add_token(control.add_tenant("home").id, "laptop", ["push"])
    server = Control(ControlFile(tmp_path / "control.db"), clock=clock)
    server.authenticate(secret)
    control.revoke_token(token.id)
    with pytest.raises(errors.RemoteDenied, match="revoked"):
        server.authenticate(secret)
    server.close()


@needs_limits
def test_a_token_counts_no_more_where_the_file_could_only_be_read_when_it_was_opened(
    tmp_path: Path, clock: RunningClock
) -> None:
    """As on a full disk: SQLite needs more descriptors to write than to read the file."""
    create_control(tmp_path / "control.db", clock)
    stores = ControlFile(tmp_path / "control.db")
    server = Control(stores, clock=clock)
    token, secret = server.add_token(server.add_tenant("home").id, "laptop", ["push"])
    stores.close_thread()
    with descriptors_left(1):
        server.authenticate(secret)
        assert stores.control().is_read_only
    other = ControlFile(tmp_path / "control.db")
    Control(other, clock=clock).revoke_token(token.id)
    other.close_thread()
    with pytest.raises(errors.RemoteDenied, match="revoked"):
        server.authenticate(secret)
    stores.close_thread()


def test_a_token_ends_when_its_time_is_over(control: Control, clock: RunningClock) -> None:
    tenant = control.add_tenant("home")
    _, secret = control.add_token(tenant.id, "visitor", ["pull"], START + timedelta(days=90))
    clock.advance(days=89)
    control.authenticate(secret)
    clock.advance(days=1)
    with pytest.raises(errors.RemoteDenied, match="expired on"):
        control.authenticate(secret)


def test_the_tokens_of_a_tenant_that_is_removed_count_no_more(control: Control) -> None:
    tenant = control.add_tenant("home")
    _, secret = control.add_token(tenant.id, "laptop", ["push"])
    control.begin_removal(tenant.id)
    with pytest.raises(errors.RemoteDenied):
        control.authenticate(secret)


def test_a_caller_needs_one_of_the_scopes_that_are_asked_for() -> None:
    reader = Caller("t", "k", "reader", frozenset({"pull"}))
    reader.need("push", "pull")
    with pytest.raises(errors.RemoteDenied) as denied:
        reader.need("purge")
    assert denied.value.scope == "purge"


@pytest.mark.parametrize("scopes", [[], ["everything"], ["push", "root"]])
def test_a_token_has_known_scopes_and_at_least_one(control: Control, scopes: list[str]) -> None:
    tenant = control.add_tenant("home")
    with pytest.raises(errors.EndpointError):
        control.add_token(tenant.id, "laptop", scopes)


def test_when_a_token_was_last_used_is_kept_without_a_write_for_each_request(
    control: Control, clock: RunningClock
) -> None:
    tenant = control.add_tenant("home")
    token, secret = control.add_token(tenant.id, "laptop", ["push"])
    control.authenticate(secret)
    clock.advance(minutes=5)
    control.authenticate(secret)
    assert control.token(token.id).last_used_at is None
    control.flush()
    assert control.token(token.id).last_used_at == "2026-11-20T12:05:00.000Z"


def test_many_threads_authenticate_at_once(control: Control) -> None:
    _, secret = control.add_token(control.add_tenant("home").id, "laptop", ["push"])
    with ThreadPoolExecutor(4) as threads:
        callers = list(threads.map(lambda _: control.authenticate(secret).token_name, range(40)))
        for _ in range(4):
            threads.submit(control.close_thread)
    assert callers == ["laptop"] * 40


def test_a_tenant_is_found_by_name_and_by_id_whatever_the_case(control: Control) -> None:
    tenant = control.add_tenant("Home")
    assert control.tenant("home") == control.tenant(tenant.id) == tenant


def test_two_tenants_never_have_names_that_people_take_for_one_another(control: Control) -> None:
    control.add_tenant("Home")
    with raises_code(errors.EndpointError.TENANT_EXISTS):
        control.add_tenant("hOME")


def test_what_nobody_could_type_or_would_take_for_something_else_is_no_name(control: Control) -> None:
    for name in ("", " home", "a\nb", "\x1b[2J", "-x", "x" * 65, "0190f0a0-0000-7000-8000-0000000000a1"):
        with pytest.raises(errors.EndpointError):
            control.add_tenant(name)


@pytest.mark.parametrize("name", ["nobody", "' or 1=1 --", "%"])
def test_an_unknown_tenant_is_said_to_be_unknown(control: Control, name: str) -> None:
    control.add_tenant("home")
    with pytest.raises(errors.UnknownTenant):
        control.tenant(name)


def test_an_unknown_token_is_said_to_be_unknown(control: Control) -> None:
    with raises_code(errors.EndpointError.UNKNOWN_TOKEN):
        control.revoke_token(token_secrets.new_id())


def test_a_newer_control_db_is_refused_by_name(control: Control, tmp_path: Path, clock: RunningClock) -> None:
    with control._store.transaction():
        control._store.execute("update control set schema = 99")
    with pytest.raises(errors.VaultNewer, match=r"control\.db has database schema 99"):
        Control(ControlFile(tmp_path / "control.db"), clock=clock)
