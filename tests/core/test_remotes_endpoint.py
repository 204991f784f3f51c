"""The client of an endpoint: it believes one authority, tries again where that does no harm, and keeps nothing in clear
where others could read it."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from lifeboat_alf.states.agent_state import Leaf
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_registry, request_retries
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.endpoint import endpoint_remote
from lifeboat_core.remotes.endpoint.endpoint_calls import EndpointCalls
from lifeboat_core.remotes.endpoint.endpoint_remote import EndpointRemote
from lifeboat_vault.errors import (
    RemoteBusy,
    RemoteDamaged,
    RemoteDenied,
    RemoteError,
    RemoteFull,
    RemoteRefused,
    RemoteTooLarge,
    RemoteUnreachable,
    RemoteUntrusted,
)
from lifeboat_vault.remote.remote_contract import FileKey, RemoteBundle
from support.core.authorities import Authority
from support.core.skipped_silence import PACE, skip_silence
from support.talking_server import Reply, TalkingServer, status, talking_server

TOKEN = "lb_abcdefgh_only-ada-knows"
AGENT = "0198c0de-0000-7000-8000-000000000001"
HEAD = {"sequence": 1, "digest": "ab" * 32, "epoch": 1}


@pytest.fixture
def context(isolated_home: Path) -> Context:
    return Context.open()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[TalkingServer]:
    with talking_server() as made:
        skip_silence(monkeypatch, made)
        yield made


class Asking:
    """Calls to a server, and the pauses that were made."""

    def __init__(self, context: Context, server: TalkingServer, *, pin: str = "", token: str | None = TOKEN) -> None:
        self.pauses: list[float] = []
        config = RemoteConfig("home", server.address, pin=pin)
        self.calls = EndpointCalls(context, config, token, pace=PACE, wait=self.pauses.append)
        self.remote = EndpointRemote(self.calls)


def answer(document: object, code: int = 200) -> Reply:
    return status(code, json.dumps(document).encode(), **{"Content-Type": "application/json"})


def problem(code: str, http: int, **more: object) -> Reply:
    body = json.dumps({"code": code, "detail": "not now", **more}).encode()
    return status(http, body, **{"Content-Type": "application/problem+json"})


def bundle(data: bytes = b"PK" * 500, *, base: int | None = 0) -> RemoteBundle:
    return RemoteBundle("snapshot" if base is None else "delta", 1, base, io.BytesIO(data), len(data))


# Another try ----------------------------------------------------------------------------------------------------------


def test_who_asks_to_wait_is_asked_again_after_that_time(context: Context, server: TalkingServer) -> None:
    server.replies = [status(503, **{"Retry-After": "7"}), answer({"agents": [], "next": None})]
    asking = Asking(context, server)
    assert asking.remote.agents() == [] and asking.pauses == [7.0]


def test_pauses_grow_and_are_never_the_same(context: Context, server: TalkingServer) -> None:
    server.replies = [status(502)]
    asking = Asking(context, server)
    with pytest.raises(RemoteBusy):
        asking.remote.agents()
    assert len(set(asking.pauses)) == request_retries.TRIES - 1
    assert all(0.25 * 2**tried <= pause <= 0.75 * 2**tried for tried, pause in enumerate(asking.pauses))


def test_who_asks_to_wait_for_long_is_left_to_whoever_planned_it(context: Context, server: TalkingServer) -> None:
    server.replies = [status(429, **{"Retry-After": "3600"})]
    asking = Asking(context, server)
    with pytest.raises(RemoteBusy) as caught:
        asking.remote.agents()
    assert asking.pauses == [] and caught.value.retry_after == 3600 and len(server.asked) == 1


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (problem("remote_full", 507), RemoteFull),
        (problem("remote_denied", 401), RemoteDenied),
        (problem("remote_refused", 422), RemoteRefused),
        (status(301, Location="https://example.com/"), RemoteRefused),
        (problem("remote_too_large", 413), RemoteTooLarge),
    ],
)
def test_what_a_wait_does_not_help_is_said_at_once(
    context: Context, server: TalkingServer, reply: Reply, kind: type[RemoteError]
) -> None:
    server.replies = [reply]
    asking = Asking(context, server)
    with pytest.raises(kind):
        asking.remote.agents()
    assert asking.pauses == [] and len(server.asked) == 1


@pytest.mark.parametrize("reply", ["silent", "header_by_header"])
def test_a_push_is_made_once_when_nobody_knows_whether_it_arrived(
    context: Context, server: TalkingServer, reply: str
) -> None:
    server.replies = [answer({"id": "0a", "limits": {}}), getattr(server, reply)]
    asking = Asking(context, server)
    with pytest.raises(RemoteUnreachable):
        asking.remote.push(AGENT, bundle())
    assert [each.method for each in server.asked] == ["GET", "POST"] and asking.pauses == []


def test_an_epoch_is_raised_once(context: Context, server: TalkingServer) -> None:
    server.replies = [status(502)]
    asking = Asking(context, server)
    with pytest.raises(RemoteBusy):
        asking.remote.raise_epoch(AGENT, 1)
    assert len(server.asked) == 1


def test_a_file_is_sent_from_its_beginning_again(context: Context, server: TalkingServer) -> None:
    server.replies = [status(503), status(204)]
    asking = Asking(context, server)
    asking.calls.ask("PUT", "/files/x", content=io.BytesIO(b"whole"))
    assert [each.body for each in server.asked] == [b"whole", b"whole"]


# Large files --------------------------------------------------------------------------------------------------------


def key(number: int) -> FileKey:
    return FileKey(Leaf(bytes([number]) * 32, bytes([number]) * 16), f"{number:064x}")


def test_files_are_asked_for_by_leaf_and_an_endpoint_of_an_earlier_release_answers_by_sha256(
    context: Context, server: TalkingServer
) -> None:
    server.replies = [answer({"missing": [], "leaves": ["02" * 32]}), answer({"missing": [key(1).sha256]})]
    remote = Asking(context, server).remote
    assert remote.missing(AGENT, [key(1), key(2)]) == [key(2)]
    assert remote.missing(AGENT, [key(1), key(2)], read=True) == [key(1)]
    first, second = (json.loads(each.body) for each in server.asked)
    assert first == {"sha256": [key(1).sha256, key(2).sha256], "leaves": ["01" * 32, "02" * 32]}
    assert second == {**first, "read": True}


def test_a_file_is_sent_with_the_salt_of_its_leaf(context: Context, server: TalkingServer) -> None:
    server.replies = [status(204)]
    Asking(context, server).remote.put_object(AGENT, key(7), b"a film")
    (asked,) = server.asked
    assert (asked.headers["X-Lifeboat-Salt"], asked.body) == ("07" * 16, b"a film")
    assert asked.path.endswith(f"/objects/{key(7).sha256}")


@pytest.mark.parametrize("found", [{"leaves": "ab"}, {"missing": None}, []])
def test_an_answer_of_another_shape_is_damage(context: Context, server: TalkingServer, found: object) -> None:
    server.replies = [answer(found)]
    with pytest.raises(RemoteDamaged):
        Asking(context, server).remote.missing(AGENT, [key(1)])


# Parts --------------------------------------------------------------------------------------------------------------


def test_of_an_upload_only_missing_parts_travel(context: Context, server: TalkingServer) -> None:
    data = bytes(range(256)) * 8
    asking = Asking(context, server)
    sent: list[str] = []

    def reply(handler: BaseHTTPRequestHandler) -> None:
        if handler.path.endswith("/uploads"):
            parts = json.loads(server.asked[-1].body)["parts"]
            answer({"upload_id": "u/1", "missing": [parts[1]["sha256"]]}, 201)(handler)
        elif "/parts/" in handler.path:
            sent.append(handler.path)
            status(204)(handler)
        else:
            answer({"head": HEAD}, 201)(handler)

    server.replies = [reply]
    given = bundle(data)
    found = endpoint_remote.push_in_parts(asking.calls, AGENT, given, {}, part=1000)
    assert found["head"] == HEAD and len(sent) == 1 and "/uploads/u%2F1/parts/" in sent[0]
    (part,) = [each.body for each in server.asked if each.method == "PUT"]
    assert part == data[1000:2000]


def test_a_bundle_that_it_never_takes_is_not_begun(context: Context, server: TalkingServer) -> None:
    server.replies = [answer({"id": "0a", "limits": {"direct_bytes": 10, "bundle_bytes": 100}})]
    with pytest.raises(RemoteTooLarge):
        Asking(context, server).remote.push(AGENT, bundle())
    assert len(server.asked) == 1


# What comes -----------------------------------------------------------------------------------------------------------


def test_a_download_is_in_a_file_without_a_name(context: Context, server: TalkingServer) -> None:
    server.replies = [status(200, b"PK" * 1000)]
    got = Asking(context, server).remote.snapshot(AGENT, 3)
    with contextlib.closing(got.file):
        assert got.file.read() == b"PK" * 1000 and (got.number, got.size) == (3, 2000)
        assert [path for path in context.home.folder.rglob("*") if path.is_file() and path.stat().st_size == 2000] == []


@pytest.mark.parametrize(
    "document",
    [[], {}, {"agents": None}, {"agents": [], "next": {}}, {"agents": [{}], "next": None}, "<html>", None],
)
def test_an_answer_that_is_none_is_damage_and_no_crash(
    context: Context, server: TalkingServer, document: object
) -> None:
    server.replies = [answer(document)]
    with pytest.raises(RemoteDamaged):
        Asking(context, server).remote.agents()


def test_pages_that_lead_round_in_a_circle_end(context: Context, server: TalkingServer) -> None:
    server.replies = [answer({"agents": [], "next": AGENT})]
    with pytest.raises(RemoteDamaged):
        Asking(context, server).remote.agents()


def test_an_object_with_other_bytes_is_damage(context: Context, server: TalkingServer) -> None:
    server.replies = [status(200, b"other")]
    with pytest.raises(RemoteDamaged):
        Asking(context, server).remote.object(AGENT, "ab" * 32)


def test_ids_are_one_part_of_a_path(context: Context, server: TalkingServer) -> None:
    server.replies = [problem("unknown_there", 404)]
    with pytest.raises(RemoteError):
        Asking(context, server).remote.agent("../token?x=#")
    assert server.asked[0].path == "/agents/..%2Ftoken%3Fx%3D%23"


# Whom to believe ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def serving(authority: Authority, told: bytes | None = None) -> Iterator[TalkingServer]:
    """An endpoint with its own authority, which tells `told` as that authority's certificate."""
    with talking_server(authority.serving()) as server:

        def reply(handler: BaseHTTPRequestHandler) -> None:
            body = (authority.pem if told is None else told) if handler.path == "/ca.pem" else b'{"id": "0a"}'
            status(200, body)(handler)

        server.replies = [reply]
        yield server


def test_the_authority_is_fetched_once_and_without_the_token(context: Context) -> None:
    authority = Authority()
    with serving(authority) as server:
        for _ in range(2):
            assert Asking(context, server, pin=authority.pin).remote.about().id == "0a"
        first, *others = server.asked
    assert (first.path, first.headers["Authorization"]) == ("/ca.pem", None)
    assert [each.path for each in others] == ["/version", "/version"]
    assert remote_registry.load_authority(context, "home")


def test_another_pin_is_refused_before_the_token_travels(context: Context) -> None:
    with serving(Authority()) as server:
        with pytest.raises(RemoteUntrusted, match="pinned"):
            Asking(context, server, pin=Authority().pin).remote.about()
        assert [each.path for each in server.asked] == ["/ca.pem"]


def test_who_tells_the_pinned_certificate_but_has_not_its_key_is_refused(context: Context) -> None:
    pinned = Authority()
    with serving(Authority(), told=pinned.pem) as server:
        with pytest.raises(RemoteUntrusted):
            Asking(context, server, pin=pinned.pin).remote.about()
        assert TOKEN not in str([each.headers.items() for each in server.asked])


def test_a_changed_authority_is_refused_also_after_it_was_known(context: Context) -> None:
    before, after = Authority(), Authority()
    with serving(before) as server:
        Asking(context, server, pin=before.pin).remote.about()
    with serving(after) as server, pytest.raises(RemoteUntrusted):
        Asking(context, server, pin=before.pin).remote.about()


def test_a_kept_certificate_that_somebody_replaced_is_not_believed(context: Context) -> None:
    authority, other = Authority(), Authority()
    remote_registry.save_authority(context, "home", other.pem.decode())
    with serving(authority) as server:
        assert Asking(context, server, pin=authority.pin).remote.about().id == "0a"
    kept = remote_registry.load_authority(context, "home")
    assert kept is not None and kept.encode() == authority.pem


def test_no_error_holds_the_token(context: Context, server: TalkingServer) -> None:
    server.replies = [problem("remote_refused", 422, detail=f"{TOKEN} is odd")]
    with pytest.raises(RemoteRefused) as caught:
        Asking(context, server).remote.agents()
    assert TOKEN not in str(caught.value) + repr(caught.value) + str(caught.value.fix)


# Damaged states -------------------------------------------------------------------------------------------------------


def test_an_endpoint_says_which_states_are_damaged(context: Context, server: TalkingServer) -> None:
    server.replies = [answer({"sequences": [3, 4]})]
    assert Asking(context, server).remote.damaged_states(AGENT, read=True) == [3, 4]


def test_an_endpoint_of_an_earlier_release_names_no_damaged_states(context: Context, server: TalkingServer) -> None:
    server.replies = [problem("http_404", 404)]
    assert Asking(context, server).remote.damaged_states(AGENT) == []


@pytest.mark.parametrize("numbers", [[-1], ["3"], [2**60], [True], None])
def test_damaged_states_that_are_no_numbers_are_damage(
    context: Context, server: TalkingServer, numbers: object
) -> None:
    server.replies = [answer({"sequences": numbers})]
    with pytest.raises(RemoteDamaged):
        Asking(context, server).remote.damaged_states(AGENT)
