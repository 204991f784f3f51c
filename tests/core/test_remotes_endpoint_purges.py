"""Purges as the client of an endpoint sends them: with the owner's token for one request, and answers that are somebody
else's data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.endpoint.endpoint_calls import EndpointCalls
from lifeboat_core.remotes.endpoint.endpoint_remote import EndpointRemote
from lifeboat_keys.pairs.strict_base64 import to_base64
from lifeboat_vault.errors import AgentErased, RemoteDamaged, RemoteDenied
from lifeboat_vault.remote.remote_contract import RemoteRedaction
from support.core.skipped_silence import PACE, skip_silence
from support.talking_server import Reply, TalkingServer, status, talking_server

USUAL, OWNER = "lb_abcdefgh_only-ada-knows", "lb_ijklmnop_nobody-else-knows"
AGENT = "0198c0de-0000-7000-8000-000000000001"
PURGE = {"id": "0198c0de-0000-7000-8000-00000000000a", "agent_id": AGENT}
WAITS = {"id": PURGE["id"], "applies_at": "2026-11-21T12:00:00.000Z", "receipt": None}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[TalkingServer]:
    with talking_server() as made:
        skip_silence(monkeypatch, made)
        yield made


@pytest.fixture
def remote(isolated_home: Path, server: TalkingServer) -> EndpointRemote:
    config = RemoteConfig("home", server.address)
    return EndpointRemote(EndpointCalls(Context.open(), config, USUAL, pace=PACE, wait=lambda _: None))


def answer(document: object, code: int = 200, kind: str = "application/json") -> Reply:
    return status(code, json.dumps(document).encode(), **{"Content-Type": kind})


def problem(code: str, http: int, **more: object) -> Reply:
    return answer({"code": code, "detail": "not now", **more}, http, "application/problem+json")


def noting(reply: Reply, seen: list[tuple[str, str | None]]) -> Reply:
    def talk(handler: BaseHTTPRequestHandler) -> None:
        seen.append((handler.path, handler.headers["Authorization"]))
        reply(handler)

    return talk


def test_a_purge_goes_with_the_usual_token(remote: EndpointRemote, server: TalkingServer) -> None:
    seen: list[tuple[str, str | None]] = []
    server.replies = [noting(answer(WAITS), seen)]
    assert remote.redact(AGENT, PURGE) == RemoteRedaction(PURGE["id"], "2026-11-21T12:00:00.000Z")
    assert seen == [(f"/agents/{AGENT}/redactions", f"Bearer {USUAL}")]


def test_the_owners_token_is_shown_in_one_request_and_no_other(remote: EndpointRemote, server: TalkingServer) -> None:
    seen: list[tuple[str, str | None]] = []
    done = {**WAITS, "applies_at": None, "receipt": {"signed": True}}
    server.replies = [noting(answer(done), seen), noting(answer({"redactions": []}), seen)]
    assert remote.redact(AGENT, PURGE, owner=OWNER).receipt == {"signed": True}
    remote.redactions(AGENT)
    path = f"/agents/{AGENT}/redactions"
    assert seen == [(f"{path}?confirm=true", f"Bearer {OWNER}"), (path, f"Bearer {USUAL}")]


def test_the_owners_token_is_in_no_message(remote: EndpointRemote, server: TalkingServer) -> None:
    server.replies = [problem("remote_denied", 403, scope="purge", detail=f"{OWNER} may not do that")]
    with pytest.raises(RemoteDenied) as denied:
        remote.redact(AGENT, PURGE, owner=OWNER)
    assert denied.value.scope == "purge"
    assert OWNER not in denied.value.message


def test_an_agent_that_is_gone_is_known_with_the_purge_that_says_so(
    remote: EndpointRemote, server: TalkingServer
) -> None:
    server.replies = [problem("agent_erased", 410, redaction=PURGE)]
    with pytest.raises(AgentErased) as erased:
        remote.agent(AGENT)
    assert erased.value.redaction == PURGE


@pytest.mark.parametrize("wrong", ["a text", 7, [], None])
def test_a_purge_that_is_no_document_is_none(remote: EndpointRemote, server: TalkingServer, wrong: object) -> None:
    server.replies = [problem("agent_erased", 410, redaction=wrong)]
    with pytest.raises(AgentErased) as erased:
        remote.agent(AGENT)
    assert erased.value.redaction is None


@pytest.mark.parametrize(
    "wrong",
    [{}, {"id": 3}, {**WAITS, "id": "another"}, {**WAITS, "applies_at": "soon"}, {**WAITS, "receipt": "signed"}, []],
)
def test_an_answer_to_a_purge_that_fits_nothing_is_damage(
    remote: EndpointRemote, server: TalkingServer, wrong: object
) -> None:
    server.replies = [answer(wrong)]
    with pytest.raises(RemoteDamaged):
        remote.redact(AGENT, PURGE)


@pytest.mark.parametrize("wrong", [{}, {"redactions": {}}, {"redactions": ["text"]}])
def test_a_list_of_purges_that_is_none_is_damage(remote: EndpointRemote, server: TalkingServer, wrong: object) -> None:
    server.replies = [answer(wrong)]
    with pytest.raises(RemoteDamaged):
        remote.redactions(AGENT)


def test_the_key_of_receipts_is_told_by_the_endpoint(remote: EndpointRemote, server: TalkingServer) -> None:
    key = to_base64(bytes(range(32)))
    server.replies = [answer({"id": "0a", "limits": {}, "signing_key": key})]
    assert remote.about().signing_key == key


def test_a_key_of_receipts_that_is_none_is_damage(remote: EndpointRemote, server: TalkingServer) -> None:
    server.replies = [answer({"id": "0a", "limits": {}, "signing_key": "short"})]
    with pytest.raises(RemoteDamaged):
        remote.about()
