"""Another service of ALF is named for what it is; what answers nonsense is still damaged."""

from __future__ import annotations

import io
import sys

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.remotes.endpoint import endpoint_shapes as shapes
from lifeboat_vault.errors import NotAnEndpoint, RemoteDamaged
from support.cli.cli_client import run
from support.endpoint.hosted_service import KEY, hosted_service
from support.talking_server import status, talking_server


@pytest.mark.parametrize("answer", [{"version": "1.4.0"}, {"api_version": "v1", "status": "ok"}])
def test_another_service_of_alf_is_called_one(answer: dict[str, str]) -> None:
    with pytest.raises(NotAnEndpoint, match="a different ALF service") as refused:
        shapes.parse_about(answer)
    assert refused.value.fix


@pytest.mark.parametrize("answer", [{}, [], None, {"version": 1}, {"id": 7, "version": "1.4.0"}])
def test_an_answer_that_says_nothing_is_damaged(answer: object) -> None:
    with pytest.raises(RemoteDamaged):
        shapes.parse_about(answer)


def added(address: str, monkeypatch: pytest.MonkeyPatch) -> JsonObject:
    """The error of an address that is no second copy."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(KEY))
    error: JsonObject = run("remote", "add", "former", address, "--token-stdin", expect=1)["error"]
    assert run("remote", "list")["remotes"] == []
    return error


def test_adding_the_service_of_the_reference_client_says_what_it_is_and_how_its_history_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with hosted_service() as service:
        error = added(service.url, monkeypatch)
    assert (error["code"], error["fix"]) == ("not_an_endpoint", "lifeboat setup --from-alf --hosted")
    assert "a different ALF service" in error["message"]


@pytest.mark.parametrize("body", [b"<html>Welcome</html>", b"[]", b"{}"])
def test_adding_another_web_server_does_not_call_it_damaged(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with talking_server() as server:
        server.replies = [status(200, body)]
        assert added(server.address, monkeypatch)["code"] == "not_an_endpoint"
