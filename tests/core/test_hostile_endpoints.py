"""Whoever answers for an endpoint, and means harm: nothing it says is written, believed, waited for or counted on
without having been held against what there can be."""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.errors import ArchiveError, LifeboatError
from lifeboat_alf.states.agent_state import Leaf
from lifeboat_core.home.context import Context
from lifeboat_core.network.http_session import SessionReply as Answered
from lifeboat_core.processes.progress import tell_nobody
from lifeboat_core.remotes import acknowledged_states, agent_replication, pulling, remote_verification, writer_epochs
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.endpoint import endpoint_problems, endpoint_remote
from lifeboat_core.remotes.endpoint.endpoint_calls import EndpointCalls
from lifeboat_core.remotes.endpoint.endpoint_files import EndpointFiles
from lifeboat_core.remotes.endpoint.endpoint_remote import EndpointRemote
from lifeboat_core.texts.safe_text import block_text as plain
from lifeboat_keys.errors import KeysError
from lifeboat_vault.errors import (
    EpochBehind,
    RemoteBusy,
    RemoteDamaged,
    RemoteRefused,
    RemoteUnreachable,
    UnknownAtRemote,
)
from lifeboat_vault.remote.remote_contract import MOST_EPOCHS, FileKey, RemoteAgent, RemoteBundle
from support.core.machines import Machine
from support.core.skipped_silence import PACE, skip_silence
from support.talking_server import Reply, TalkingServer, status, talking_server

TOKEN = "lb_abcdefgh_only-ada-knows"
AGENT = "0198c0de-0000-7000-8000-000000000001"
OTHER = "0198c0de-0000-7000-8000-000000000002"
HEAD = {"sequence": 1, "digest": "ab" * 32, "epoch": 1, "time": "2026-11-20T12:00:00.000Z"}
INFO = {"id": AGENT, "name": "ada", "source_runtime": "openclaw", "head": HEAD, "epoch": 1}
ESCAPES = "\x1b[2J\x1b]0;title\x07evil\r\n\x9b31m\u202ename\ud800\x00"


@pytest.fixture
def context(isolated_home: Path) -> Context:
    return Context.open()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[TalkingServer]:
    with talking_server() as made:
        skip_silence(monkeypatch, made)
        yield made


@pytest.fixture
def remote(context: Context, server: TalkingServer) -> EndpointRemote:
    return EndpointRemote(calls_to(context, server))


def calls_to(context: Context, server: TalkingServer) -> EndpointCalls:
    return EndpointCalls(context, RemoteConfig("home", server.address), TOKEN, pace=PACE, wait=lambda _: None)


def answer(document: object) -> Reply:
    return status(200, json.dumps(document).encode(), **{"Content-Type": "application/json"})


def page(name: str, *items: object, following: object = None) -> Reply:
    return answer({name: list(items), "next": following})


# Answers in another shape ---------------------------------------------------------------------------------------------


BAD_NUMBERS: tuple[Any, ...] = (-1, 2**53 + 1, 2**70, 10**400, 1.5, "1", True, [1], {"a": 1})
BAD_IDS: tuple[Any, ...] = (
    "../../../etc",
    "",
    "x",
    AGENT + "/..",
    AGENT.replace("-", ""),
    "C:\\x",
    7,
    None,
    AGENT + "\n",
)


def test_numbers_that_nothing_can_be_are_damage(remote: EndpointRemote, server: TalkingServer) -> None:
    for number in BAD_NUMBERS:
        made = [{**INFO, "epoch": number}, {**INFO, "head": {**HEAD, "sequence": number}}, {**INFO, "bytes": number}]
        made.append({**INFO, "head": {**HEAD, "epoch": number}})
        for document in made:
            server.replies = [answer(document)]
            with pytest.raises(RemoteDamaged):
                remote.agent(AGENT)
        server.replies = [page("sequences", {**HEAD, "sequence": number})]
        with pytest.raises(RemoteDamaged):
            list(remote.sequences(AGENT))
        server.replies = [page("deltas", {"sequence": number, "base_sequence": 0})]
        with pytest.raises(RemoteDamaged):
            list(remote.deltas(AGENT, 0))


def test_ids_that_are_none_name_no_files_here(remote: EndpointRemote, server: TalkingServer) -> None:
    for agent_id in BAD_IDS:
        server.replies = [page("agents", {**INFO, "id": agent_id})]
        with pytest.raises(RemoteDamaged):
            remote.agents()


def test_another_agent_than_was_asked_for_is_damage(remote: EndpointRemote, server: TalkingServer) -> None:
    server.replies = [answer({**INFO, "id": OTHER})]
    with pytest.raises(RemoteDamaged):
        remote.agent(AGENT)


@pytest.mark.parametrize("field", ["leaves", "missing"], ids=["this release", "an earlier one"])
def test_files_that_it_was_not_asked_for_are_damage(remote: EndpointRemote, server: TalkingServer, field: str) -> None:
    server.replies = [answer({field: ["ab" * 32]})]
    with pytest.raises(RemoteDamaged):
        remote.missing(AGENT, [_file("cd")])


@pytest.mark.parametrize("field", ["leaves", "missing"], ids=["this release", "an earlier one"])
def test_a_file_that_it_names_again_and_again_is_sent_once(
    remote: EndpointRemote, server: TalkingServer, field: str
) -> None:
    server.replies = [answer({field: ["cd" * 32] * 1000})]
    assert remote.missing(AGENT, [_file("ab"), _file("cd")]) == [_file("cd")]


def _file(pair: str) -> FileKey:
    return FileKey(Leaf(bytes.fromhex(pair * 32)), pair * 32)


def test_times_that_are_none_are_damage(remote: EndpointRemote, server: TalkingServer) -> None:
    for time in ("yesterday", "2026-13-40T99:99:99Z", "9" * 500, 7):
        for name in ("time", "written_at"):
            server.replies = [answer({**INFO, "head": {**HEAD, name: time}})]
            with pytest.raises(RemoteDamaged):
                remote.agent(AGENT)


def test_what_others_call_something_is_one_line_that_can_be_shown(
    remote: EndpointRemote, server: TalkingServer
) -> None:
    named = {**INFO, "name": ESCAPES, "source_runtime": ESCAPES, "head": {**HEAD, "machine": ESCAPES * 100}}
    server.replies = [answer(named)]
    found = remote.agent(AGENT)
    assert found.head is not None
    for text in (found.name, found.runtime, found.head.machine):
        assert text.isprintable() and len(text) <= 300 and plain(text) == text
        text.encode()


def test_a_problem_document_steers_no_terminal_and_no_clock() -> None:
    for after in (-5, 1e400, float("nan"), 10**30, "soon", True, None, [1]):
        document = {"code": "remote_busy", "detail": ESCAPES + TOKEN, "retry_after": after, "fix": "rm -rf ~"}
        body = json.dumps(document).encode()
        reply = Answered(503, {"content-type": "application/problem+json"}, body, len(body))
        error = endpoint_problems.make_remote_error(reply, secret=TOKEN)
        assert isinstance(error, RemoteBusy) and error.message.isprintable() and TOKEN not in error.message
        assert "rm -rf" not in str(error.fix)
        assert error.retry_after is None or 0 <= error.retry_after <= 10**6
    for header in ("-1", "9" * 5000, "Fri, 31 Dec 9999 23:59:59 -2359", "NaN", "\u0663"):
        found = endpoint_problems.parse_retry_after({"retry-after": header})
        assert found is None or found >= 0


def test_the_numbers_of_a_problem_document_are_numbers() -> None:
    for number in BAD_NUMBERS:
        body = json.dumps({"code": "epoch_behind", "detail": "no", "epoch": number}).encode()
        with contextlib.suppress(TypeError):
            error = endpoint_problems.make_remote_error(Answered(409, {"content-type": "application/json"}, body, 0))
            assert not isinstance(error, EpochBehind) or 0 <= error.epoch <= 2**53


# Answers without an end -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "replies",
    [
        [page("agents", INFO, following="a"), page("agents", INFO, following="a")],
        [page("agents", INFO, following="b"), page("agents", INFO, following="a")],
        [page("agents", following="a")],
        [page("agents", INFO, following=[1])],
        [page("agents", INFO, following=True)],
        [page("agents", 7)],
        [page("agents", None)],
        [answer({"agents": {"a": 1}})],
        [answer([])],
        [answer("x" * 1000)],
        [status(200, b"[" * 200_000, **{"Content-Type": "application/json"})],
        [status(200, b'{"agents": [' + b"9" * 10_000 + b"]}", **{"Content-Type": "application/json"})],
        [status(200, b"\xff\xfe")],
    ],
)
def test_a_list_that_is_none_or_has_no_end_is_damage(
    replies: list[Reply], remote: EndpointRemote, server: TalkingServer
) -> None:
    server.replies = replies
    with pytest.raises(RemoteDamaged):
        remote.agents()
    assert len(server.asked) <= 3


def test_an_answer_that_is_too_large_is_not_kept(context: Context, server: TalkingServer) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(10**12))
        handler.end_headers()
        while not server.over.is_set():
            handler.wfile.write(bytes(1 << 16))

    server.replies = [endless]
    with pytest.raises(RemoteUnreachable, match="longer than"):
        calls_to(context, server).ask("GET", "/agents", again=False, most=1 << 20)


def test_an_answer_that_comes_byte_by_byte_is_given_up(context: Context, server: TalkingServer) -> None:
    def slowly(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        while not server.over.wait(0.02):
            server.while_stalling()
            handler.wfile.write(b".")

    server.replies = [slowly]
    with pytest.raises(RemoteUnreachable, match="no data was transferred"):
        calls_to(context, server).ask("GET", "/agents", again=False)


def test_no_redirect_takes_the_token_elsewhere(remote: EndpointRemote, server: TalkingServer) -> None:
    with talking_server() as elsewhere:
        for code in (301, 302, 303, 307, 308):
            server.replies = [status(code, Location=f"{elsewhere.address}/agents")]
            with pytest.raises(RemoteRefused):
                remote.agents()
        assert elsewhere.asked == []


def test_whoever_takes_tiny_parts_only_is_not_asked_without_end(remote: EndpointRemote, server: TalkingServer) -> None:
    size = 3 * endpoint_remote.LEAST
    about = answer({"id": "endpoint", "limits": {"direct_bytes": 1, "part_bytes": True, "bundle_bytes": 10**9}})
    server.replies = [about, answer({"upload_id": "u", "missing": []}), answer({"head": HEAD})]
    remote.push(AGENT, RemoteBundle("delta", 1, 0, io.BytesIO(bytes(size)), size))
    begun = json.loads(next(each.body for each in server.asked if each.path.endswith("/uploads")))
    assert len(begun["parts"]) == 3


def test_a_sealed_endpoint_that_lists_what_cannot_be_is_damage(context: Context, server: TalkingServer) -> None:
    files = EndpointFiles(calls_to(context, server))
    for stored in (7, {"name": 7, "size": 1}, {"name": "a", "size": "x"}, {"name": "a", "size": -1}, {"size": 1}):
        server.replies = [answer({"files": [stored]})]
        with pytest.raises(RemoteDamaged):
            files.names(AGENT)
    server.replies = [page("agents", {"id": "../../x", "sealed": True})]
    with pytest.raises(RemoteDamaged):
        files.agents()


# The last epoch -------------------------------------------------------------------------------------------------------


class Liar:
    """A remote that says what it was told to."""

    def __init__(self, **answers: Any) -> None:
        self._answers = {"redactions": [], **answers}
        self.closed = False

    def __getattr__(self, name: str) -> Any:
        def answering(*_: Any, **__: Any) -> Any:
            found = self._answers[name]
            if isinstance(found, Exception):
                raise found
            return found

        return answering

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path / "laptop")
    machine.add(name="ada")
    machine.add_remote("home", (tmp_path / "stick").as_uri())
    assert machine.push().state == "ok"
    return machine


def lied_to(monkeypatch: pytest.MonkeyPatch, liar: Liar) -> None:
    for module in (writer_epochs, agent_replication):
        monkeypatch.setattr(module, "open_remote", lambda *_: liar)


@pytest.mark.parametrize("epoch", [MOST_EPOCHS + 2, 2**53 - 1, 2**53])
def test_no_remote_makes_this_machine_write_in_the_last_epoch(
    epoch: int, laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it once signed in it nobody could follow, at no remote: it would be locked out by itself."""
    there = RemoteAgent(laptop.agent.id, "ada", "openclaw", epoch, None)
    lied_to(monkeypatch, Liar(agent=there, raise_epoch=epoch + 1))
    with laptop.context.vault(laptop.agent.id) as vault:
        before = vault.epoch
        raised = writer_epochs.raise_epoch_everywhere(laptop.context, vault, "laptop")
        assert (raised.epoch, vault.epoch) == (before + 1, before + 1)
        assert list(raised.missed) == ["home"]


def test_a_remote_that_names_the_last_epoch_fences_nobody_elsewhere(
    laptop: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop.add_remote("office", (tmp_path / "other-stick").as_uri())
    laptop.write("notes.md", "one more\n")
    laptop.capture()
    with contextlib.closing(_opened(laptop, "home")) as real:
        about, there = real.about(), real.agent(laptop.agent.id)
    ended = EpochBehind("no", epoch=2**53)
    with monkeypatch.context() as patched:
        for liar in (Liar(about=about, agent=replace(there, epoch=2**53)), Liar(about=about, agent=there, push=ended)):
            lied_to(patched, liar)
            outcome = laptop.push("home")
            assert (outcome.state, outcome.code) == ("error", RemoteDamaged.code)
    assert laptop.push("office").state == "ok"
    with laptop.context.vault(laptop.agent.id) as vault:
        assert all(known.fenced is None for known in acknowledged_states.load_acknowledged(vault).values())


def test_an_epoch_that_was_asked_for_is_the_next_one(remote: EndpointRemote, server: TalkingServer) -> None:
    for made in (1, 3, 0, 2**53):
        server.replies = [answer({"epoch": made})]
        with pytest.raises(RemoteDamaged):
            remote.raise_epoch(AGENT, 1)


def _opened(machine: Machine, name: str) -> Any:
    from lifeboat_core.remotes.remote_kinds import open_remote

    return open_remote(machine.context, machine.remote(name))


# A stick that somebody else wrote to ------------------------------------------------------------------------------


def test_a_stick_that_somebody_else_wrote_to_is_damage_and_no_crash(laptop: Machine, tmp_path: Path) -> None:
    """It may say that there is nothing to be had; it may not fill the memory, hang, or lead elsewhere."""
    folder = tmp_path / "stick" / "agents" / laptop.agent.id
    head = folder / "head.json"
    good = head.read_bytes()
    document = json.loads(good)
    bad = [
        b"",
        b"null",
        b"[" * 200_000,
        b'{"kind":"lifeboat sealed log","version":1,"head":{},"signature":{"a":' + b"[" * 200_000,
    ]
    bad += [json.dumps({**document, "version": 10**9}).encode(), json.dumps({**document, "signature": {}}).encode()]
    bad += [json.dumps({**document, "head": {**document["head"], "epoch": 2**60}}).encode(), bytes(17 << 20)]
    for data in bad:
        head.write_bytes(data)
        outcome = laptop.push()
        assert outcome.state == "error" and ESCAPES not in outcome.message, data[:80]
    head.unlink()
    (tmp_path / "elsewhere").write_bytes(good)
    head.symlink_to(tmp_path / "elsewhere")
    assert laptop.push().state != "ok"
    head.unlink()
    os.mkfifo(head)
    assert laptop.push().state != "ok"
    head.unlink()
    head.write_bytes(good)
    assert laptop.push().state == "ok"


# States, keys ---------------------------------------------------------------------------------------------------------


def snapshot_there(laptop: Machine) -> bytes:
    with contextlib.closing(_opened(laptop, "home")) as remote:
        return bytes(remote.snapshot(laptop.agent.id).file.read())


def giving(laptop: Machine, data: bytes, *, number: int = 0) -> Any:
    return Liar(
        snapshot=RemoteBundle("snapshot", number, None, io.BytesIO(data), len(data)),
        object=UnknownAtRemote("none"),
        deltas=[],
    )


def with_entry(data: bytes, name: str, body: bytes) -> bytes:
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, body)
    return out.getvalue()


def test_a_bundle_that_bombs_or_climbs_is_refused_before_anything_is_written(laptop: Machine, tmp_path: Path) -> None:
    good = snapshot_there(laptop)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    bad = [with_entry(good, "raw/openclaw/zeros", bytes(64 << 20)), good[:-100], b"", b"PK"]
    bad += [with_entry(good, name, b"x") for name in ("../../../x", "/x", "raw\\x", "raw/../x")]
    for data in bad:
        with pytest.raises(ArchiveError), pulling.open_remote_state(giving(laptop, data), laptop.agent.id, None):
            pass
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_another_state_or_agent_than_was_asked_for_is_damage(laptop: Machine) -> None:
    good = snapshot_there(laptop)
    for agent_id, number, promised in ((AGENT, 0, 0), (laptop.agent.id, 1, 0), (laptop.agent.id, 0, 1)):
        with (
            pytest.raises(RemoteDamaged),
            pulling.open_remote_state(giving(laptop, good, number=promised), agent_id, number),
        ):
            pass


def test_a_large_file_with_other_bytes_is_damage(remote: EndpointRemote, server: TalkingServer) -> None:
    server.replies = [status(200, b"other bytes")]
    with pytest.raises(RemoteDamaged):
        remote.object(AGENT, "ab" * 32)


KEYS: tuple[Any, ...] = (
    {},
    {"a": 1},
    {"kind": "lifeboat agent keys", "version": 10**9},
    {"kind": ESCAPES, "agent_id": "../../x"},
    {"pairs": [{"id": "../../x"}] * 10},
    {"a": {"b": {"c": ["d"] * 100}}},
)


def test_keys_of_somebody_else_or_of_nobody_change_none_here(laptop: Machine, tmp_path: Path) -> None:
    stranger = Machine(tmp_path / "stranger")
    stranger.add(name="mallory")
    for machine in (laptop, stranger):
        machine.context.keys().agent_public(machine.agent.id)
    theirs = stranger.context.keys().export_agent(stranger.agent.id)
    own = laptop.context.keys().export_agent(laptop.agent.id)
    mixed = [theirs, {**own, "agent": stranger.agent.id}, {**theirs, "agent": laptop.agent.id}]
    before = files_of(laptop)
    for document in (*KEYS, *mixed):
        with contextlib.suppress(LifeboatError, KeysError):
            pulling.take_keys(laptop.context, Liar(keys=document), laptop.agent.id)  # type: ignore[arg-type]
        assert laptop.context.keys().export_agent(laptop.agent.id) == own
    assert {path: body for path, body in files_of(laptop).items() if path in before} == before


def files_of(machine: Machine) -> dict[str, bytes]:
    folder = machine.context.home.keys_folder
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_history_that_nobody_signed_is_not_taken(laptop: Machine, tmp_path: Path) -> None:
    """Signed by somebody else is signed by nobody."""
    stranger = Machine(tmp_path / "stranger")
    with (
        contextlib.closing(_opened(laptop, "home")) as remote,
        pytest.raises(LifeboatError),
    ):
        stranger.context.keys().ensure()
        pulling.fetch_history(
            stranger.context, remote, laptop.agent.id, tmp_path / "staged", accept_unsigned=False, tell=tell_nobody
        )


def test_keys_that_somebody_replaced_are_sent_again(laptop: Machine) -> None:
    """No signature of a state covers them, and without them a restore has no credentials."""
    assert laptop.acknowledged().keys
    with contextlib.closing(_opened(laptop, "home")) as remote:
        remote.put_keys(laptop.agent.id, {"agent_id": laptop.agent.id, "pairs": []})
    remote_verification.verify_remote(laptop.context, laptop.agent, laptop.remote())
    assert laptop.push().state == "ok"
    with contextlib.closing(_opened(laptop, "home")) as remote:
        assert remote.keys(laptop.agent.id) == laptop.context.keys().export_agent(laptop.agent.id)
