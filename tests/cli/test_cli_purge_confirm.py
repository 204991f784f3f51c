"""`lifeboat receipts confirm` at a real endpoint, where a purge waits until the second token confirms it."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_core.purge import purge_run, receipt_signing
from lifeboat_core.remotes.redactions import purge_exchange
from lifeboat_core.remotes.redactions.purge_notes import PurgeNotes
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_vault.errors import RemoteRefused, RemoteUnreachable
from support.cli.cli_client import run
from support.core.machines import Machine
from support.core.purge_receipt_home import Purged
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint


class There(Purged, Machine):
    """A purge that was sent to an endpoint."""


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("served")) as made:
        yield made


@pytest.fixture
def ada(endpoint: RunningEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> There:
    made = There.__new__(There)
    super(Purged, made).__init__(tmp_path)
    made.add(name="ada")
    made.add_remote("boat", endpoint.url, token=endpoint.token, pin=endpoint.pin)
    made.push("boat")
    made.redaction = made.purge(b"red boat")
    receipt_signing.begin_receipt(made.context, made.redaction, made.context.now())
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "home"))
    purge_exchange.send_redaction(made.context, made.known_agent, made.remote("boat"), made.redaction)
    return made


def second_token(endpoint: RunningEndpoint, *scopes: str) -> str:
    with contextlib.closing(Endpoint.open(endpoint.data)) as data:
        tenant = data.control.tenants()[0]
        return data.control.add_token(tenant.id, "owner", frozenset(scopes), None)[1]


def confirm(ada: There, token: str, monkeypatch: pytest.MonkeyPatch, *, expect: int = 0) -> JsonObject:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{token}\n"))
    return run("receipts", "confirm", ada.redaction.id, "--remote", "boat", "--token-stdin", expect=expect)


def state(ada: There) -> str:
    receipt = receipt_signing.read_receipt(ada.context, ada.redaction.id)
    note = None if receipt is None else receipt.vault(ada.remote("boat").id)
    return "" if note is None else note.state


def test_with_the_second_token_it_is_done_at_once_and_proven(
    ada: There, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert state(ada) == receipt_signing.WAITING
    token = second_token(endpoint, "push", "pull", "purge")
    assert confirm(ada, token, monkeypatch)["vault"]["state"] == receipt_signing.DONE
    found = run("receipts", "show", ada.redaction.id)["findings"]
    assert [each["level"] for each in found if each["subject"] == "boat"] == ["holds"]


def test_the_second_token_is_kept_nowhere(
    ada: There, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = second_token(endpoint, "push", "pull", "purge")
    confirm(ada, token, monkeypatch)
    home = Context.open().home.folder
    assert all(token.encode() not in path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_a_token_that_may_not_purge_changes_nothing(
    ada: There, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = second_token(endpoint, "push", "pull")
    error = confirm(ada, token, monkeypatch, expect=1)["error"]
    assert error["code"] == "remote_denied" and state(ada) == receipt_signing.WAITING
    assert error["fix"] == f"lifeboat receipts confirm {ada.redaction.id} --remote boat"
    assert [each["message"] for each in run("status")["pending_purges"]] == [""]


def test_a_purge_that_the_owner_refused_does_not_stand_as_one_that_waits(
    ada: There, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_ENDPOINT_DATA", str(endpoint.data))
    run("endpoint", "purges", "refuse", ada.redaction.id)
    with pytest.raises(RemoteRefused):
        purge_exchange.send_redaction(ada.context, ada.known_agent, ada.remote("boat"), ada.redaction)
    assert state(ada) == receipt_signing.PENDING
    assert "refused" in run("status")["pending_purges"][0]["message"]


def at_boat() -> JsonObject:
    found: JsonObject = run("status")["agents"][0]["remotes"][0]
    return found


def test_status_and_receipt_say_after_the_next_contact_that_the_owner_refused(
    ada: There, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("sync")
    assert (at_boat()["purges"], run("status")["agents"][0]["state"]) == (1, "waiting")
    monkeypatch.setenv("LIFEBOAT_ENDPOINT_DATA", str(endpoint.data))
    run("endpoint", "purges", "refuse", ada.redaction.id)
    run("sync")  # Nothing changed.
    assert state(ada) == receipt_signing.PENDING
    agent, there = run("status")["agents"][0], at_boat()
    assert (agent["state"], there["state"], there["purges"], there["purges_refused"]) == ("ok", "ok", 0, 1)
    assert any("the owner of boat refused 1 purge" in reason for reason in agent["reasons"])
    vault = run("receipts", "show", ada.redaction.id)["receipt"]["vaults"][-1]
    assert "refused" in vault["message"] and vault["applies_at"] is None


def test_what_the_owner_refused_and_then_confirmed_is_done(
    ada: There, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_ENDPOINT_DATA", str(endpoint.data))
    run("endpoint", "purges", "refuse", ada.redaction.id)
    run("sync")
    confirm(ada, second_token(endpoint, "push", "pull", "purge"), monkeypatch)
    assert (state(ada), at_boat()["purges_refused"]) == (receipt_signing.DONE, 0)


def test_a_refusal_stands_while_the_endpoint_cannot_be_asked(
    ada: There, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_ENDPOINT_DATA", str(endpoint.data))
    run("endpoint", "purges", "refuse", ada.redaction.id)
    run("sync")
    with ada.context.vault(ada.known_agent.id) as vault:
        notes = PurgeNotes(ada.context, ada.remote("boat"), vault)
        notes.failed(ada.redaction, RemoteUnreachable("nothing answers"), soon=True)
    assert (at_boat()["purges"], at_boat()["purges_refused"]) == (0, 1)


def test_of_an_agent_that_is_gone_whole_it_is_said_that_the_owner_refused(
    ada: There, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = purge_run.purge_agent(ada.context, ada.known_agent, "user_request", {}).receipt
    monkeypatch.setenv("LIFEBOAT_ENDPOINT_DATA", str(endpoint.data))
    run("endpoint", "purges", "refuse", receipt)
    run("sync")
    pending = next(each for each in run("status")["pending_purges"] if each["id"] == receipt)
    assert (pending["state"], pending["applies_at"]) == ("pending", None)
    assert "refused" in pending["message"]


def test_where_the_whole_agent_is_gone_no_smaller_purge_is_waited_for(ada: There, endpoint: RunningEndpoint) -> None:
    assert run("status")["pending_purges"]
    purge_run.purge_agent(ada.context, ada.known_agent, "user_request", {"boat": second_token(endpoint, "purge")})
    assert run("status")["pending_purges"] == []
    assert len(run("receipts", "list", "ADA")["receipts"]) == 2
