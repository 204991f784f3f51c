"""The behaviour of a connection, the same on a Unix socket and on a loopback address."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import BadRequest, Busy, ServiceError, UnknownAgent
from lifeboat_core.home.context import Context
from lifeboat_daemon.control import json_rpc
from lifeboat_daemon.control.control_server import ConnectionLimits
from support.daemon.control_servers import Serve, Served, context, serve
from support.patience import patience
from support.short_folders import short
from support.waiting import until

__all__ = ["context", "serve", "short"]


def _code(answer: JsonObject | None) -> int:
    assert answer is not None
    return int(answer["error"]["code"])


class TestHello:
    def test_is_answered_with_who_answers(self, serve: Serve, context: Context) -> None:
        served = serve()
        with served.connect() as client:
            assert (client.hello.protocol, client.hello.release) == (json_rpc.PROTOCOL, "0.1.0")
            assert client.hello.home == str(context.home.folder)
            assert client.hello.started_at <= context.now()

    @pytest.mark.parametrize(
        "first",
        [
            {"jsonrpc": "2.0", "id": 1, "method": "echo"},
            {"jsonrpc": "2.0", "id": 1, "method": "subscribe"},
            {"jsonrpc": "2.0", "method": "hello", "params": {"protocol": 1, "app": "x"}},
            {"id": 1, "method": "hello", "params": {"protocol": 1, "app": "x"}},
            [],
            7,
        ],
    )
    def test_comes_first_or_the_connection_ends(self, serve: Serve, first: object) -> None:
        with serve().raw() as raw:
            raw.send(first)
            said = raw.rest()
            assert [_code(each) for each in said] == [json_rpc.INVALID_REQUEST]

    def test_what_another_program_says_ends_the_connection(self, serve: Serve) -> None:
        with serve().raw() as raw:
            raw.socket.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert [_code(each) for each in raw.rest()] == [json_rpc.PARSE_ERROR]

    def test_names_a_protocol_and_a_program(self, serve: Serve) -> None:
        served = serve()
        for wrong in ({"protocol": "1"}, {"protocol": None}, {"app": 3}, {"app": None}):
            with served.raw() as raw:
                said = raw.hello(**wrong)
                assert (_code(said), said["error"]["data"]["code"]) == (json_rpc.INVALID_PARAMETERS, "bad_request")
                assert raw.rest() == []

    @pytest.mark.parametrize("other", [0, 2, -1, 10**15])
    def test_of_another_protocol_is_told_what_helps(self, serve: Serve, other: int) -> None:
        with serve().raw() as raw:
            data = raw.hello(protocol=other)["error"]["data"]
            assert (data["code"], data["fix"]) == ("other_release", "lifeboat daemon restart")
            assert raw.rest() == []

    def test_is_said_once(self, serve: Serve) -> None:
        with serve().greeted() as raw:
            assert _code(raw.hello()) == json_rpc.INVALID_REQUEST
            assert raw.ask("echo", {"a": 1})["result"] == {"a": 1}

    def test_has_to_come_in_time_and_nothing_else_has(self, serve: Serve) -> None:
        served = serve()
        with served.greeted() as greeted:
            served.server._desk.limits = ConnectionLimits(hello=0.02)
            self._is_hurried(served)
            assert greeted.ask("echo", {"still": "here"})["result"] == {"still": "here"}

    def _is_hurried(self, served: Served) -> None:
        with served.raw() as silent, served.raw() as slow:
            slow.socket.sendall(b'{"jsonrpc": "2.0",')
            for each in (silent, slow):
                assert [_code(answer) for answer in each.rest()] == [json_rpc.INVALID_REQUEST]


class TestRequests:
    def test_are_answered_as_they_finish(self, serve: Serve) -> None:
        served = serve()
        with served.greeted() as raw:
            raw.say("wait", {"slow": True}, number="slow")
            raw.say("echo", {"quick": True}, number="quick")
            first = raw.hear()
            served.let_go()
            second = raw.hear()
        assert [first["id"], second["id"]] == ["quick", "slow"]

    def test_that_come_in_pieces_or_together_are_the_same(self, serve: Serve) -> None:
        lines = b"".join(json.dumps({"jsonrpc": "2.0", "id": n, "method": "echo"}).encode() + b"\n" for n in range(5))
        with serve().greeted() as raw:
            for byte in lines:
                raw.socket.send(bytes([byte]))
            raw.socket.sendall(lines)
            assert sorted(raw.hear()["id"] for _ in range(10)) == sorted([0, 1, 2, 3, 4] * 2)

    def test_are_all_answered_when_a_thousand_come_at_once(self, serve: Serve) -> None:
        served = serve()
        with served.greeted() as raw:
            for number in range(1000):
                raw.say("echo", {"n": number}, number=number)
            answers = [raw.hear() for _ in range(1000)]
        assert sorted(each["id"] for each in answers) == list(range(1000))
        assert all(each["result"] == {"n": each["id"]} for each in answers)

    def test_of_many_connections_do_not_wait_for_each_other(self, serve: Serve) -> None:
        served = serve()
        with contextlib.ExitStack() as stack:
            waiting = [stack.enter_context(served.greeted()) for _ in range(20)]
            for each in waiting:
                each.say("wait")
            for _ in waiting:
                assert served.began.acquire(timeout=patience())
            with served.connect() as quick:
                assert quick.call("echo", a=1) == {"a": 1}
            served.let_go()
            assert [each.hear()["result"] for each in waiting] == [{}] * 20

    def test_beyond_a_number_wait_unread(self, serve: Serve) -> None:
        served = serve(at_work=3)
        with served.greeted() as raw:
            for number in range(10):
                raw.say("wait", number=number)
            for _ in range(3):
                assert served.began.acquire(timeout=patience())
            with served.connect() as other:  # An iteration of the loop, in which a fourth request would have started.
                other.call("echo")
            assert not served.began.acquire(blocking=False)
            served.let_go()
            assert sorted(raw.hear()["id"] for _ in range(10)) == list(range(10))

    def test_that_wait_are_not_kept_in_memory_but_left_unsent(self, serve: Serve) -> None:
        served = serve(at_work=1)
        most = 32 * 1024 * 1024
        with served.greeted() as raw, served.connect() as other:
            raw.say("wait")
            assert served.began.acquire(timeout=patience())
            raw.socket.setblocking(False)
            sent = refusals = 0
            while sent < most and refusals < 20:  # As many iterations of the loop, and still no room.
                try:
                    sent += raw.socket.send(b'{"jsonrpc":"2.0","method":"echo"}\n' * 2000)
                    refusals = 0
                except BlockingIOError:
                    other.call("echo")
                    refusals += 1
            assert sent < most
            served.let_go()

    @pytest.mark.parametrize("number", [0, -1, 2**63 - 1, -(2**63), "", "ä", "x" * 1000])
    def test_have_their_id_in_the_answer(self, serve: Serve, number: int | str) -> None:
        with serve().greeted() as raw:
            assert raw.ask("echo", number=number)["id"] == number

    @pytest.mark.parametrize("number", [None, 1.5, True, [], {}, 2**63, 10**30])
    def test_with_another_id_are_refused(self, serve: Serve, number: object) -> None:
        with serve().greeted() as raw:
            answer = raw.ask("echo", number=number)
            assert (_code(answer), answer["id"]) == (json_rpc.INVALID_REQUEST, None)

    def test_without_an_id_are_done_and_not_answered(self, serve: Serve) -> None:
        done: list[JsonObject] = []

        async def note(parameters: JsonObject) -> JsonObject:
            done.append(parameters)
            return {}

        with serve({"note": note}).greeted() as raw:
            for method in ("note", "nowhere"):
                raw.send({"jsonrpc": "2.0", "method": method, "params": {"n": 1}})
            assert raw.ask("echo", number=5)["id"] == 5
        assert done == [{"n": 1}]

    def test_in_a_list_are_refused(self, serve: Serve) -> None:
        with serve().greeted() as raw:
            raw.send([{"jsonrpc": "2.0", "id": 1, "method": "echo"}])
            assert _code(raw.hear()) == json_rpc.INVALID_REQUEST
            assert raw.ask("echo")["result"] == {}

    @pytest.mark.parametrize(
        ("line", "code"),
        [
            (b"", json_rpc.PARSE_ERROR),
            (b"nonsense", json_rpc.PARSE_ERROR),
            (b"\xff\xfe", json_rpc.PARSE_ERROR),
            (b'{"id": 1', json_rpc.PARSE_ERROR),
            (b"[" * 100_000, json_rpc.PARSE_ERROR),
            (b"1" * 10_000, json_rpc.INVALID_REQUEST),
            (b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}', json_rpc.PARSE_ERROR),
            (b"null", json_rpc.INVALID_REQUEST),
            (b"{}", json_rpc.INVALID_REQUEST),
            (b'{"jsonrpc": "1.0", "id": 1, "method": "echo"}', json_rpc.INVALID_REQUEST),
            (b'{"jsonrpc": "2.0", "id": 1}', json_rpc.INVALID_REQUEST),
            (b'{"jsonrpc": "2.0", "id": 1, "method": 3}', json_rpc.INVALID_REQUEST),
            (b'{"jsonrpc": "2.0", "id": 1, "method": "echo", "params": [1]}', json_rpc.INVALID_PARAMETERS),
            (b'{"jsonrpc": "2.0", "id": 1, "method": "nowhere"}', json_rpc.METHOD_NOT_FOUND),
            (b'{"jsonrpc": "2.0", "id": 1, "method": "__class__"}', json_rpc.METHOD_NOT_FOUND),
        ],
    )
    def test_that_are_none_get_an_error_and_change_nothing(self, serve: Serve, line: bytes, code: int) -> None:
        with serve().greeted() as raw:
            raw.socket.sendall(line + b"\n")
            answer = raw.hear()
            assert answer["error"]["data"]["code"] == "bad_request"
            assert _code(answer) in (code, json_rpc.PARSE_ERROR)
            assert raw.ask("echo", {"a": 1})["result"] == {"a": 1}

    def test_as_large_as_may_be_are_read_and_larger_ones_end_the_connection(self, serve: Serve) -> None:
        served = serve()
        frame = len(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"t": ""}}))
        with served.greeted() as raw:
            text = "x" * (json_rpc.LARGEST_REQUEST - frame)
            assert raw.ask("echo", {"t": text})["result"] == {"t": text}
            raw.say("echo", {"before": 1}, number="before")
            raw.say("echo", {"t": text + "x"})
            assert [raw.hear()["id"], _code(raw.hear())] == ["before", json_rpc.INVALID_REQUEST]
            assert raw.line() is None

    def test_that_never_end_are_ended(self, serve: Serve) -> None:
        """Input without a line end is not stored, regardless of its size."""
        with serve().greeted() as raw:
            with contextlib.suppress(OSError):
                for _ in range(8):
                    raw.socket.sendall(b"x" * json_rpc.LARGEST_REQUEST)
            assert [_code(each) for each in raw.rest()] in ([json_rpc.INVALID_REQUEST], [])


class TestFailures:
    def test_of_ours_come_as_they_are(self, serve: Serve) -> None:
        async def fail(_: JsonObject) -> JsonObject:
            raise UnknownAgent("no agent is called juniper")

        with serve({"fail": fail}).greeted() as raw:
            answer = raw.ask("fail")
        assert _code(answer) == json_rpc.FAILED
        assert answer["error"]["message"] == "Unknown agent"
        assert answer["error"]["data"] == {
            "code": "unknown_agent",
            "title": "Unknown agent",
            "message": "no agent is called juniper",
            "fix": "lifeboat agents list",
            "retryable": False,
            "exit_status": 1,
        }

    def test_of_the_parameters_are_told_as_such(self, serve: Serve) -> None:
        async def fail(_: JsonObject) -> JsonObject:
            raise BadRequest("the parameter `agents` must be a list of ids")

        with serve({"fail": fail}).greeted() as raw:
            assert _code(raw.ask("fail")) == json_rpc.INVALID_PARAMETERS

    def test_that_nobody_foresaw_are_reported_and_told_without_their_text(self, serve: Serve) -> None:
        secret = "the text of a memory"

        async def fail(_: JsonObject) -> JsonObject:
            raise RuntimeError(secret)

        served = serve({"fail": fail})
        with served.greeted() as raw:
            answer = raw.ask("fail")
            assert _code(answer) == json_rpc.INTERNAL
            assert "RuntimeError" in answer["error"]["data"]["message"]
            assert secret not in json.dumps(answer)
            assert raw.ask("echo")["result"] == {}
        ((kind, error, fields),) = served.reports.errors
        assert (kind, str(error), fields) == ("control.error", secret, {"method": "fail"})

    def test_to_give_a_result_that_can_be_sent_are_failures_too(self, serve: Serve) -> None:
        async def strange(_: JsonObject) -> JsonObject:
            return {"a": object()}

        async def huge(_: JsonObject) -> JsonObject:
            return {"a": "x" * json_rpc.LARGEST}

        served = serve({"strange": strange, "huge": huge})
        with served.greeted() as raw:
            assert _code(raw.ask("strange")) == json_rpc.INTERNAL
            answer = raw.ask("huge")
            assert (_code(answer), answer["error"]["data"]["code"]) == (json_rpc.FAILED, "service")
            assert raw.ask("echo")["result"] == {}

    def test_because_somebody_cancelled_the_work_say_so(self, serve: Serve) -> None:
        async def cancelled(_: JsonObject) -> JsonObject:
            raise asyncio.CancelledError

        with serve({"cancelled": cancelled}).greeted() as raw:
            assert raw.ask("cancelled")["error"]["data"]["code"] == "cancelled"

    def test_that_a_client_may_try_again_say_so(self, serve: Serve) -> None:
        async def busy(_: JsonObject) -> JsonObject:
            raise Busy("process 7 holds it (restore)")

        with serve({"busy": busy}).greeted() as raw:
            assert raw.ask("busy")["error"]["data"]["retryable"] is True


class TestLargeAnswers:
    def test_come_whole_to_a_client_that_reads_slowly(self, serve: Serve) -> None:
        text = "x" * 4_000_000

        async def large(parameters: JsonObject) -> JsonObject:
            return {"n": parameters["n"], "text": text}

        with serve({"large": large}).greeted() as raw:
            for number in range(4):
                raw.say("large", {"n": number}, number=number)
            raw.end()
            answers = raw.rest()
        assert sorted(each["id"] for each in answers) == [0, 1, 2, 3]
        assert all(each["result"] == {"n": each["id"], "text": text} for each in answers)

    def test_that_nobody_reads_keep_further_requests_waiting(self, serve: Serve) -> None:
        begun: list[int] = []

        async def large(parameters: JsonObject) -> JsonObject:
            begun.append(parameters["n"])
            return {"text": "x" * 1_000_000}

        served = serve({"large": large}, at_work=5)
        with served.greeted() as raw, served.connect() as other:
            for number in range(40):
                raw.say("large", {"n": number}, number=number)
            for _ in range(100):  # Iterations of the loop.
                other.call("echo")
            assert len(begun) <= 10
            raw.end()
            assert sorted(each["id"] for each in raw.rest()) == list(range(40))


class TestTheEndOfAClient:
    def test_that_only_stops_sending_gets_the_answers_that_are_due(self, serve: Serve) -> None:
        served = serve()
        with served.greeted() as raw:
            raw.say("wait", number=1)
            raw.say("echo", number=2)
            raw.end()
            assert raw.hear()["id"] == 2
            served.let_go()
            assert [each["id"] for each in raw.rest()] == [1]
        until(lambda: served.server.clients == 0)

    def test_in_the_middle_of_a_line_is_told(self, serve: Serve) -> None:
        with serve().greeted() as raw:
            raw.socket.sendall(b'{"jsonrpc"')
            raw.end()
            assert [_code(each) for each in raw.rest()] == [json_rpc.PARSE_ERROR]

    def test_before_hello_leaves_nothing(self, serve: Serve) -> None:
        served = serve()
        for said in (b"", b"half a li"):
            with served.raw() as raw:
                raw.socket.sendall(said)
                raw.end()
                raw.rest()
        until(lambda: served.server.clients == 0)

    def test_leaves_its_work_to_be_done(self, serve: Serve) -> None:
        done: list[JsonObject] = []

        async def slow(parameters: JsonObject) -> JsonObject:
            await served.server._desk.handlers["wait"]({})
            done.append(parameters)
            return {}

        served = serve({"slow": slow})
        with served.greeted() as raw:
            raw.say("slow", {"n": 1})
            assert served.began.acquire(timeout=patience())
        served.let_go()
        until(lambda: done == [{"n": 1}])

    def test_gives_back_its_place_while_its_work_goes_on(self, context: Context) -> None:
        """Only on a Unix socket: elsewhere, a client that left looks like one that only stopped sending."""
        with Served(context) as served:
            with served.greeted() as raw:
                raw.say("wait")
                assert served.began.acquire(timeout=patience())
            until(lambda: served.server.clients == 0)
            assert len(served.server._desk.tasks) == 1
            served.let_go()
            until(lambda: not served.server._desk.tasks)

    def test_without_a_word_is_noticed(self, serve: Serve) -> None:
        served = serve()
        raw = served.greeted()
        raw.ask("subscribe")
        raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        raw.close()
        until(lambda: served.server.clients == 0)
        served.publish({"event": "x"})


class TestEvents:
    def test_come_to_those_who_subscribed_and_to_nobody_else(self, serve: Serve) -> None:
        served = serve()
        with served.greeted() as one, served.greeted() as two, served.greeted() as other:
            for each in (one, two):
                assert each.ask("subscribe")["result"] == {}
            served.publish({"event": "capture", "agent": "juniper"}, {"event": "idle"})
            for each in (one, two):
                first = each.hear()
                assert (first["method"], first["params"]) == ("event", {"event": "capture", "agent": "juniper"})
                assert "id" not in first
                assert each.hear()["params"] == {"event": "idle"}
            assert other.ask("echo", number=9)["id"] == 9

    def test_come_once_to_who_subscribed_twice(self, serve: Serve) -> None:
        served = serve()
        with served.greeted() as raw:
            raw.ask("subscribe")
            raw.ask("subscribe")
            served.publish({"event": "one"}, {"event": "two"})
            assert [raw.hear()["params"]["event"] for _ in range(2)] == ["one", "two"]

    def test_come_in_order_between_answers(self, serve: Serve) -> None:
        async def work(_: JsonObject) -> JsonObject:
            served.server.publish({"event": "begun"})
            await asyncio.sleep(0)
            served.server.publish({"event": "done"})
            return {}

        served = serve({"work": work})
        with served.greeted() as raw:
            raw.ask("subscribe")
            raw.say("work")
            said = [raw.hear() for _ in range(3)]
        assert [each.get("params", {}).get("event") for each in said] == ["begun", "done", None]

    def test_cost_nothing_when_nobody_listens(self, serve: Serve) -> None:
        served = serve()
        with served.greeted():
            served.publish({"event": object()})  # It is not even encoded as JSON.
        assert served.reports.errors == []

    def test_that_cannot_be_sent_are_a_mistake_that_is_reported_and_stops_nothing(self, serve: Serve) -> None:
        served = serve()
        with served.greeted() as raw:
            raw.ask("subscribe")
            served.publish({"event": object()}, {"event": "x" * json_rpc.LARGEST}, {"event": "good"})
            assert raw.hear()["params"] == {"event": "good"}
        assert [type(error) for _, error, _ in served.reports.errors] == [TypeError, ServiceError]

    def test_that_are_not_read_cost_the_slow_client_its_place_and_nobody_anything(self, serve: Serve) -> None:
        served = serve(events=50)
        with served.greeted() as slow, served.greeted() as quick:
            for each in (slow, quick):
                each.ask("subscribe")
            sent = 0
            while "control.lost" not in served.reports.kinds:
                served.publish({"event": "n", "n": sent, "text": "x" * 20_000})
                assert quick.hear()["params"]["n"] == sent
                sent += 1
                assert sent < 5000
            said = [each["params"] for each in slow.rest()]
            assert said[-1] == {"event": "lost"}
            assert [each["n"] for each in said[:-1]] == list(range(len(said) - 1))
            assert len(said) - 1 == sent - 50 - 1  # The waiting events, and the one for which there was no room.
            served.publish({"event": "after"})
            assert quick.hear()["params"] == {"event": "after"}
        until(lambda: served.server.clients == 0)

    def test_are_limited_by_their_size_too(self, serve: Serve) -> None:
        served = serve(event_bytes=100_000)
        with served.greeted() as slow:
            slow.ask("subscribe")
            for _ in range(400):
                served.publish({"event": "n", "text": "x" * 90_000})
            assert "control.lost" in served.reports.kinds
            assert slow.rest()[-1]["params"] == {"event": "lost"}

    def test_that_a_client_never_reads_do_not_hold_its_place(self, serve: Serve) -> None:
        served = serve(events=1, leave=0.05)
        with served.greeted() as stopped:
            stopped.ask("subscribe")
            while "control.lost" not in served.reports.kinds:
                served.publish({"event": "n", "text": "x" * 50_000})
            until(lambda: served.server.clients == 0)

    def test_after_a_slow_time_go_on_for_who_caught_up(self, serve: Serve) -> None:
        served = serve(events=10_000, event_bytes=2**30)
        with served.greeted() as slow:
            slow.ask("subscribe")
            for number in range(300):
                served.publish({"event": "n", "n": number, "text": "x" * 20_000})
            slow.say("echo", {"a": 1}, number=7)
            said = [slow.hear() for _ in range(301)]
        assert [each["params"]["n"] for each in said if "params" in each] == list(range(300))
        assert [each["result"] for each in said if "result" in each] == [{"a": 1}]
