"""The two clients: answers, events, and programs that are no daemon."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import (
    BadRequest,
    Busy,
    Cancelled,
    NotAllowed,
    NotRunning,
    OtherRelease,
    ServiceError,
    UnknownAgent,
)
from lifeboat_core.home.context import Context
from lifeboat_daemon.control import async_daemon_client, control_methods, json_rpc, socket_address
from lifeboat_daemon.control.async_daemon_client import AsyncDaemonClient
from lifeboat_daemon.control.control_methods import ControlMethod
from lifeboat_daemon.control.control_server import ConnectionLimits
from lifeboat_daemon.control.daemon_client import DaemonClient, connect_if_running
from lifeboat_daemon.control.socket_address import LoopbackAddress, UnixAddress
from support.alf.raising import raises_code
from support.daemon.control_servers import Served, context
from support.patience import patience
from support.short_folders import short
from support.waiting import until

__all__ = ["context", "short"]


@contextlib.contextmanager
def imposing(context: Context, *answers: bytes, silent: bool = False) -> Iterator[None]:
    """Listen at the daemon's address and send these answers, one for each message."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(context.home.run_folder / "control.sock"))
    listening.listen(8)
    over = threading.Event()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection:
                    for answer in answers:
                        connection.recv(100_000)
                        connection.sendall(answer)
                    if silent:
                        over.wait(patience())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(patience())


def _hello(**other: object) -> bytes:
    found: JsonObject = {"protocol": 1, "release": "9", "pid": 1, "home": "/", "started_at": "2026-01-01T00:00:00Z"}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {**found, **other}}).encode() + b"\n"


def _connect(context: Context, kind: str, timeout: float | None = None) -> None:
    """Connect with one of the two clients, and disconnect."""
    limit = patience() if timeout is None else timeout
    if kind == "sync":
        DaemonClient.connect(context.home, context.files, limit).close()
        return

    async def connect() -> None:
        await (await AsyncDaemonClient.connect(context.home, context.files, limit)).close()

    asyncio.run(connect())


@pytest.mark.parametrize("kind", ["sync", "async"])
class TestConnecting:
    def test_finds_nobody(self, context: Context, kind: str) -> None:
        with pytest.raises(NotRunning) as caught:
            _connect(context, kind)
        assert caught.value.fix == "lifeboat daemon start"
        assert connect_if_running(context.home) is None

    def test_finds_a_socket_that_nobody_listens_on(self, context: Context, kind: str) -> None:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(context.home.run_folder / "control.sock"))
            with pytest.raises(NotRunning):
                _connect(context, kind)

    def test_finds_a_port_that_nobody_listens_on(self, context: Context, kind: str) -> None:
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            where = LoopbackAddress(bound.getsockname()[1], "a" * 64, "b" * 64)
            socket_address.write_address_note(context.home, context.files, where)
            with pytest.raises(NotRunning):
                _connect(context, kind)

    def test_finds_one_that_says_nothing(self, context: Context, kind: str) -> None:
        with imposing(context, silent=True), raises_code(ServiceError.DOES_NOT_ANSWER) as caught:
            _connect(context, kind, timeout=0.05)
        assert (caught.value.fix, caught.value.retryable) == ("lifeboat daemon restart", True)

    def test_finds_one_that_goes_away(self, context: Context, kind: str) -> None:
        for said in ((), (b"",), (b'{"jsonrpc": "2.0", "id": 1, "res',)):
            with imposing(context, *said), raises_code(ServiceError.DOES_NOT_ANSWER):
                _connect(context, kind)
            (context.home.run_folder / "control.sock").unlink()

    @pytest.mark.parametrize(
        "said",
        [
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            b"[1]\n",
            b"7\n",
            b"[" * 100_000 + b"\n",
            b'{"jsonrpc": "2.0", "id": 1, "result": 7}\n',
        ],
    )
    def test_finds_another_program(self, context: Context, kind: str, said: bytes) -> None:
        with imposing(context, said), pytest.raises(ServiceError) as caught:
            _connect(context, kind)
        assert caught.value.fix == "lifeboat daemon restart"

    @pytest.mark.parametrize("other", [{"protocol": 2}, {"protocol": "1"}, {"pid": None}])
    def test_finds_one_that_speaks_otherwise(self, context: Context, kind: str, other: JsonObject) -> None:
        with imposing(context, _hello(**other)), pytest.raises(OtherRelease) as caught:
            _connect(context, kind)
        assert caught.value.fix == "lifeboat daemon restart"

    def test_minds_no_fields_that_it_does_not_know(self, context: Context, kind: str) -> None:
        with imposing(context, _hello(moon="full")):
            _connect(context, kind)

    def test_is_refused_by_one_of_another_release(self, context: Context, kind: str) -> None:
        with Served(context), pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "lifeboat_daemon.control.client_conversation.make_hello_parameters",
                lambda *_: {"protocol": 7, "app": "later"},
            )
            with pytest.raises(OtherRelease, match="uses protocol 1; the client uses protocol 7"):
                _connect(context, kind)

    def test_is_told_that_all_places_are_taken(self, context: Context, kind: str) -> None:
        full = Served(context, limits=ConnectionLimits(connections=1))
        with (
            full as served,
            served.connect(),
            raises_code(ServiceError.DOES_NOT_ANSWER, match="the daemon has reached its limit of 1 connection"),
        ):
            _connect(context, kind)

    def test_trusts_no_port_that_another_program_took(self, context: Context, kind: str) -> None:
        """A daemon was killed and another program took its port. It receives the token, but cannot prove anything."""
        with Served(context, loopback=True) as served:
            where = socket_address.find_address(context.home, context.files)
            assert isinstance(where, LoopbackAddress)
            note = LoopbackAddress(where.port, where.token, "c" * 64)
            socket_address.write_address_note(context.home, context.files, note)
            with pytest.raises(NotAllowed, match="not the daemon"):
                _connect(context, kind)
            socket_address.write_address_note(
                context.home, context.files, LoopbackAddress(where.port, "c" * 64, where.reply)
            )
            with pytest.raises(NotAllowed, match="token"):
                _connect(context, kind)
            socket_address.write_address_note(context.home, context.files, where)
            _connect(context, kind)
            assert served.reports.kinds == ["control.refused"]


def _failing(error: LifeboatError) -> dict[str, Any]:
    async def fail(_: JsonObject) -> JsonObject:
        raise error

    return {"fail": fail}


class Strange(LifeboatError):
    """An error class whose constructor needs more than a message."""

    code = "strange"
    title = "Strange"
    exit_status = 3

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


class TestFailures:
    @pytest.mark.parametrize("error", [UnknownAgent("juniper"), Busy("process 7"), Cancelled("x"), NotAllowed("y")])
    def test_are_what_they_were(self, context: Context, error: LifeboatError) -> None:
        with Served(context, _failing(error)) as served, served.connect() as client:
            with pytest.raises(type(error)) as caught:
                client.call("fail")
            found = caught.value
            assert type(found) is type(error)
            for name in ("code", "title", "message", "fix", "retryable", "exit_status"):
                assert getattr(found, name) == getattr(error, name)
            assert client.call("echo", a=1) == {"a": 1}

    def test_keep_a_fix_of_their_own_or_none(self, context: Context) -> None:
        error = UnknownAgent("juniper", fix="lifeboat agents add .")
        with Served(context, _failing(error)) as served, served.connect() as client:
            with pytest.raises(UnknownAgent) as caught:
                client.call("fail")
            assert caught.value.fix == "lifeboat agents add ."
            error.fix = None
            with pytest.raises(UnknownAgent) as caught:
                client.call("fail")
            assert caught.value.fix is None

    def test_of_a_kind_that_is_not_known_here_say_what_they_are(self, context: Context) -> None:
        error = Busy("of a later release")
        error.code, error.title, error.exit_status = "tide_out", "The tide is out", 3
        with Served(context, _failing(error)) as served, served.connect() as client:
            with pytest.raises(ServiceError) as caught:
                client.call("fail")
            found = caught.value
            assert (found.code, found.title, found.message) == ("tide_out", "The tide is out", "of a later release")
            assert (found.exit_status, found.retryable, type(found)) == (3, True, ServiceError)

    def test_whose_class_cannot_be_made_of_a_message_are_told_all_the_same(self, context: Context) -> None:
        with Served(context, _failing(Strange(1, 2))) as served, served.connect() as client:
            with pytest.raises(ServiceError, match="1 and 2") as caught:
                client.call("fail")
            assert (caught.value.code, caught.value.title, caught.value.exit_status) == ("strange", "Strange", 3)

    @pytest.mark.parametrize(
        ("error", "kind"),
        [
            ({"code": json_rpc.METHOD_NOT_FOUND, "message": "Method not found"}, BadRequest),
            ({"code": json_rpc.INVALID_PARAMETERS}, BadRequest),
            ({"code": json_rpc.INTERNAL, "message": "?"}, ServiceError),
            ({"code": json_rpc.FAILED, "data": {}}, ServiceError),
            (
                {"code": json_rpc.FAILED, "data": {"code": 7, "message": [], "title": None, "exit_status": "x"}},
                ServiceError,
            ),
            ({"code": "x", "data": 7}, ServiceError),
            ({}, ServiceError),
        ],
    )
    def test_that_say_little_are_failures(self, context: Context, error: JsonObject, kind: type[LifeboatError]) -> None:
        answer = json.dumps({"jsonrpc": "2.0", "id": 2, "error": error}).encode() + b"\n"
        with (
            imposing(context, _hello(), answer),
            DaemonClient.connect(context.home, context.files, patience()) as client,
        ):
            with pytest.raises(kind) as caught:
                client.call("anything")
            assert type(caught.value) is kind
            assert caught.value.message and caught.value.title
            assert caught.value.exit_status == 1

    def test_of_a_method_that_is_not_there_are_requests_that_are_not_understood(self, context: Context) -> None:
        with Served(context) as served, served.connect() as client, pytest.raises(BadRequest, match="'moonrise'"):
            client.call("moonrise")

    def test_to_say_something_are_found_before_it_is_sent(self, context: Context) -> None:
        with Served(context) as served, served.connect() as client:
            for wrong in (object(), "x" * json_rpc.LARGEST_REQUEST, "\ud800"):
                with pytest.raises(BadRequest):
                    client.call("echo", a=wrong)
            assert client.call("echo", a=1) == {"a": 1}


class TestTheClientOfCommands:
    def test_imports_nothing_that_takes_long(self) -> None:
        program = "import lifeboat_daemon.control.daemon_client, sys; print(*sys.modules)"
        loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        heavy = {"asyncio", "watchdog", "apscheduler", "nacl", "httpx", "rich", "click", "lifeboat_vault"}
        assert heavy & set(loaded.split()) == set()

    def test_asks_a_thousand_times(self, context: Context) -> None:
        with Served(context) as served, served.connect() as client:
            for number in range(1000):
                assert client.call("echo", n=number) == {"n": number}

    def test_hears_what_happens_until_the_end(self, context: Context) -> None:
        with Served(context) as served, served.connect() as client:
            client.subscribe()
            served.publish({"event": "one"}, {"event": "two", "n": 2})
            told = client.events()
            assert [next(told), next(told)] == [{"event": "one"}, {"event": "two", "n": 2}]
            assert client.call("echo") == {}
            stopping = asyncio.run_coroutine_threadsafe(served.server.stop(), served.loop)
            assert list(told) == [{"event": "goodbye"}]
            client.close()
            stopping.result(patience())

    def test_that_another_thread_closes_hears_no_more(self, context: Context) -> None:
        with Served(context) as served, served.connect() as client:
            client.subscribe()
            heard: list[JsonObject] = []

            def listen() -> None:
                for event in client.events():
                    heard.append(event)

            listening = threading.Thread(target=listen, daemon=True)
            listening.start()
            served.publish({"event": "one"})
            until(lambda: heard == [{"event": "one"}])
            client.close()
            listening.join(patience())
            assert not listening.is_alive()
            until(lambda: served.server.clients == 0)
            client.close()

    def test_is_told_what_happens_while_it_waits(self, context: Context) -> None:
        async def work(_: JsonObject) -> JsonObject:
            for done in range(3):
                served.server.publish({"event": "progress", "done": done})
                await asyncio.sleep(0)
            return {"done": True}

        told: list[JsonObject] = []
        with Served(context, {"work": work}) as served, served.connect() as client:
            method = ControlMethod("work", dict, patience=None)
            assert client.ask(method, tell=told.append) == {"done": True}
        assert [each["done"] for each in told] == [0, 1, 2]

    def test_waits_no_longer_than_a_method_is_worth(self, context: Context) -> None:
        with Served(context) as served, served.connect() as client:
            with raises_code(ServiceError.DOES_NOT_ANSWER):
                client.ask(ControlMethod("wait", dict, patience=0.05))
            served.let_go()
            assert client.call("echo", a=1) == {"a": 1}

    def test_reads_why_it_was_sent_away(self, context: Context) -> None:
        """The error is not that its own message could not be sent."""
        refusal = json_rpc.encode_rpc_error(
            None, json_rpc.FAILED, ServiceError.DOES_NOT_ANSWER("64 programs are connected to it")
        )
        with (
            imposing(context, _hello(), refusal),
            DaemonClient.connect(context.home, context.files, patience()) as client,
        ):
            with raises_code(ServiceError.DOES_NOT_ANSWER, match="64 programs"):
                client.call("echo")
            with raises_code(ServiceError.DOES_NOT_ANSWER, match="64 programs"):
                client.call("echo")


class TestTheClientOfTheDashboard:
    def test_asks_many_things_at_once(self, context: Context) -> None:
        async def ask() -> None:
            async with await AsyncDaemonClient.connect(context.home, context.files, patience()) as client:
                slow = asyncio.create_task(client.call("wait", slow=True))
                found = await asyncio.gather(*(client.call("echo", n=number) for number in range(1000)))
                assert found == [{"n": number} for number in range(1000)]
                assert not slow.done()
                served.let_go()
                assert await slow == {"slow": True}
                with pytest.raises(BadRequest):
                    await client.call("moonrise")
                assert client.connected

        with Served(context) as served:
            asyncio.run(ask())

    def test_hears_what_happens_until_the_end(self, context: Context) -> None:
        async def listen() -> list[JsonObject]:
            async with await AsyncDaemonClient.connect(context.home, context.files, patience()) as client:
                told = client.events()
                first = asyncio.create_task(anext(told))
                await client.call("echo")
                served.publish({"event": "one"}, {"event": "two"})
                heard = [await first, await anext(told)]
                stopping = asyncio.run_coroutine_threadsafe(served.server.stop(), served.loop)
                heard += [each async for each in told]
                await asyncio.wait_for(asyncio.wrap_future(stopping), patience())  # No request waits for it.
                assert not client.connected
                with raises_code(ServiceError.DOES_NOT_ANSWER):
                    await client.call("echo")
                return heard

        with Served(context, limits=ConnectionLimits(stop=1000.0, leave=1000.0)) as served:
            assert asyncio.run(listen()) == [{"event": "one"}, {"event": "two"}, {"event": "goodbye"}]

    def test_loses_events_rather_than_memory_when_nobody_reads_them(
        self, context: Context, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(async_daemon_client, "MOST_EVENTS", 10)

        async def listen() -> list[JsonObject]:
            async with await AsyncDaemonClient.connect(context.home, context.files, patience()) as client:
                told = client.events()
                first = asyncio.create_task(anext(told))
                await client.call("echo")
                served.publish({"event": "n"})
                await first
                await asyncio.to_thread(served.publish, *[{"event": "n", "n": number} for number in range(100)])
                with pytest.raises(ServiceError):
                    while True:
                        await client.call("echo")
                return [each async for each in told]

        with Served(context) as served:
            heard = asyncio.run(listen())
        assert heard[-1] == {"event": "lost"}

    def test_ends_what_waits_when_the_daemon_ends(self, context: Context) -> None:
        async def ask() -> None:
            async with await AsyncDaemonClient.connect(context.home, context.files, patience()) as client:
                waiting = [asyncio.create_task(client.call("wait")) for _ in range(3)]
                await client.call("echo")
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(served.server.stop(), served.loop))
                for each in waiting:
                    with pytest.raises(ServiceError):
                        await each

        with Served(context) as served:
            asyncio.run(ask())

    def test_ends_what_waits_when_it_is_closed(self, context: Context) -> None:
        async def ask() -> None:
            client = await AsyncDaemonClient.connect(context.home, context.files, patience())
            waiting = asyncio.create_task(client.call("wait"))
            await client.call("echo")
            await client.close()
            await client.close()
            with raises_code(ServiceError.DOES_NOT_ANSWER):
                await waiting

        with Served(context) as served:
            asyncio.run(ask())
            served.let_go()

    def test_waits_no_longer_than_a_method_is_worth(self, context: Context) -> None:
        async def ask() -> None:
            async with await AsyncDaemonClient.connect(context.home, context.files, patience()) as client:
                with raises_code(ServiceError.DOES_NOT_ANSWER):
                    await client.ask(ControlMethod("wait", dict, patience=0.05))
                served.let_go()
                assert await client.call("echo", a=1) == {"a": 1}

        with Served(context) as served:
            asyncio.run(ask())


class TestAnswersWithAShape:
    def test_are_read_as_what_they_are(self, context: Context) -> None:
        async def jobs(_: JsonObject) -> JsonObject:
            return {"jobs": [{"operation": "capture", "agent": "a", "state": "running", "done": 3, "newer": 1}]}

        with Served(context, {"jobs": jobs}) as served, served.connect() as client:
            (job,) = client.ask(control_methods.JOBS).jobs
            assert (job.operation, job.agent, job.state, job.done, job.total) == ("capture", "a", "running", 3, None)

    @pytest.mark.parametrize("answer", [{}, {"jobs": 7}, {"jobs": [{"operation": 1}]}])
    def test_that_are_something_else_are_those_of_another_release(self, context: Context, answer: JsonObject) -> None:
        async def jobs(_: JsonObject) -> JsonObject:
            return answer

        serving = Served(context, {"jobs": jobs})
        with serving as served, served.connect() as client, pytest.raises(OtherRelease, match="jobs"):
            client.ask(control_methods.JOBS)

    def test_tell_how_everything_stands(self, context: Context) -> None:
        from lifeboat_core.health.agent_status import AgentStatus, KeyFacts, Status

        agent = AgentStatus(id="1", name="juniper", runtime="openclaw", workspace="/w", state="waiting", pending=2)
        standing = Status("waiting", "2 files wait", [agent], KeyFacts(key_id="k"), [], True)
        offer = {"runtime": "openclaw", "native_id": "main", "name": "ada", "workspace": "/a"}

        async def status(_: JsonObject) -> JsonObject:
            return {**standing.to_json(), "daemon": {"running": True, "pid": 7, "later": 1}, "offers": [offer]}

        with Served(context, {"status": status}) as served, served.connect() as client:
            found = client.ask(control_methods.STATUS)
        assert found.standing == standing
        assert (found.daemon.pid, found.offers[0].name) == (7, "ada")
        assert found.document["verdict"] == "2 files wait"


def test_a_unix_address_reads_as_its_path() -> None:
    assert str(UnixAddress(str(Path("/run/x.sock")))) == "/run/x.sock"
