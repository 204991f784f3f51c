"""`lifeboat receipts confirm` at a real endpoint: a purge waits there, until the second token says that it is meant."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_daemon.context import Context
from lifeboat_daemon.purge import doing, receipts
from lifeboat_daemon.remotes import redacting
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.errors import RemoteRefused
from support.daemon.cli_client import Json, run
from support.daemon.machines import Machine
from support.daemon.purge_receipt_home import Purged
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint


class There(Purged, Machine):
    """A purge that was told to an endpoint."""


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
    receipts.begin(made.context, made.redaction, made.context.now())
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "home"))
    redacting.send(made.context, made.known_agent, made.remote("boat"), made.redaction)
    return made


def second_token(endpoint: RunningEndpoint, *scopes: str) -> str:
    with contextlib.closing(Endpoint.open(endpoint.data)) as data:
        tenant = data.control.tenants()[0]
        return data.control.add_token(tenant.id, "owner", frozenset(scopes), None)[1]


def confirm(ada: There, token: str, monkeypatch: pytest.MonkeyPatch, *, expect: int = 0) -> Json:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{token}\n"))
    return run("receipts", "confirm", ada.redaction.id, "--remote", "boat", "--token-stdin", expect=expect)


def state(ada: There) -> str:
    receipt = receipts.read(ada.context, ada.redaction.id)
    note = None if receipt is None else receipt.vault(ada.remote("boat").id)
    return "" if note is None else note.state


def test_with_the_second_token_it_is_done_at_once_and_proven(
    ada: There, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert state(ada) == receipts.WAITING
    token = second_token(endpoint, "push", "pull", "purge")
    assert confirm(ada, token, monkeypatch)["vault"]["state"] == receipts.DONE
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
    assert error["code"] == "remote_denied" and state(ada) == receipts.WAITING
    assert error["fix"] == f"lifeboat receipts confirm {ada.redaction.id} --remote boat"
    assert [each["message"] for each in run("status")["pending_purges"]] == [""]


def test_a_purge_that_the_owner_refused_does_not_stand_as_one_that_waits(
    ada: There, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_ENDPOINT_DATA", str(endpoint.data))
    run("endpoint", "purges", "refuse", ada.redaction.id)
    with pytest.raises(RemoteRefused):
        redacting.send(ada.context, ada.known_agent, ada.remote("boat"), ada.redaction)
    assert state(ada) == receipts.PENDING
    assert "refused" in run("status")["pending_purges"][0]["message"]


def test_where_the_whole_agent_is_gone_no_smaller_purge_is_waited_for(ada: There, endpoint: RunningEndpoint) -> None:
    assert run("status")["pending_purges"]
    doing.erase(ada.context, ada.known_agent, "user_request", {"boat": second_token(endpoint, "purge")})
    assert run("status")["pending_purges"] == []
    assert len(run("receipts", "list", "ADA")["receipts"]) == 2
