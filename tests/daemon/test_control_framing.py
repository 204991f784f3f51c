"""For any input the server neither fails nor hangs, and every request has exactly one answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import LifeboatError, ServiceError
from lifeboat_core.home.context import Context
from lifeboat_daemon.control import json_rpc
from lifeboat_daemon.control.client_conversation import ClientConversation
from lifeboat_daemon.control.client_outbox import ClientOutbox
from lifeboat_daemon.control.json_rpc import RpcRequest, UnusableRequest
from lifeboat_daemon.control.line_splitter import LineSplitter
from support.daemon.control_servers import Served, context
from support.short_folders import short

__all__ = ["context", "short"]
simple = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(-1e9, 1e9) | st.text(max_size=8)
json_values = simple | st.lists(simple, max_size=3) | st.dictionaries(st.text(max_size=8), simple, max_size=3)
almost_requests = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0"]) | json_values,
        "id": json_values,
        "method": st.sampled_from(["hello", "echo", "subscribe", "event"]) | json_values,
        "params": json_values,
    },
).map(lambda found: json.dumps(found).encode())
garbage = st.binary(max_size=40).filter(lambda line: b"\n" not in line)


def _pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """Return the bytes, cut at these places."""
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[begin:end] for begin, end in zip([0, *places], [*places, len(data)], strict=True)]


# Pure --------------------------------------------------------------------------------------------------------------


@given(st.lists(garbage), garbage, st.lists(st.integers(0, 10_000)))
def test_lines_are_the_same_however_they_are_cut(lines: list[bytes], rest: bytes, cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines) + rest
    found = LineSplitter(1000)
    assert [line for piece in _pieces(data, cuts) for line in found.feed(piece)] == lines
    assert (found.broken, found.unfinished) == (False, bool(rest))


@given(st.binary(max_size=200), st.lists(st.integers(0, 10_000)), st.integers(1, 20))
def test_a_line_that_is_too_long_ends_what_is_read_and_nothing_before_it(
    data: bytes, cuts: list[int], largest: int
) -> None:
    found = LineSplitter(largest)
    lines = [line for piece in _pieces(data, cuts) for line in found.feed(piece)]
    *whole, rest = data.split(b"\n")
    fitting = [line for line in whole if len(line) <= largest]
    assert found.broken == any(len(line) > largest for line in (*whole, rest))
    assert lines == (whole[: len(lines)] if found.broken else whole)
    assert len(lines) <= len(fitting)
    assert found.feed(b"more\n") == ([] if found.broken else [rest + b"more"] if len(rest) + 4 <= largest else [])


@settings(max_examples=50)
@given(st.binary() | almost_requests | json_values.map(lambda value: json.dumps(value).encode()))
@example(b'{"jsonrpc": "2.0", "id": 7, "method": "echo", "params": {}}')
def test_a_line_is_a_request_or_has_an_answer_that_says_why_not(line: bytes) -> None:
    try:
        request = json_rpc.decode_request(line)
    except UnusableRequest as problem:
        answer = json.loads(problem.answer)
        assert problem.answer.endswith(b"\n") and problem.answer.count(b"\n") == 1
        assert answer["error"]["data"]["code"] == "bad_request"
    else:
        assert isinstance(request, RpcRequest)
        assert json.loads(json_rpc.encode_answer(request.id, {}))["id"] == request.id


@given(st.lists(st.binary(max_size=60)))
def test_a_client_takes_whatever_comes(pieces: list[bytes]) -> None:
    talk = ClientConversation()
    for piece in pieces:
        try:
            talk.take(piece)
        except ServiceError:
            return


@settings(max_examples=50)
@given(
    st.lists(
        almost_requests | json_values.map(lambda value: json.dumps({"id": 1, "error": value}).encode()), max_size=5
    )
)
def test_a_client_sorts_whatever_is_json(lines: list[bytes]) -> None:
    talk = ClientConversation()
    talk.take(b"".join(line + b"\n" for line in lines))
    for outcome in talk.outcomes.values():
        assert isinstance(outcome, (dict, LifeboatError))


def test_a_client_keeps_no_line_without_an_end() -> None:
    talk = ClientConversation()
    with pytest.raises(ServiceError, match="more than"):
        for _ in range(json_rpc.LARGEST // 2**20 + 1):
            talk.take(b"x" * 2**20)


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=9)) | st.none()))
def test_an_outbox_keeps_the_order_and_its_limits(said: list[tuple[bool, bytes] | None]) -> None:
    outbox = ClientOutbox(3, 20)
    kept: list[tuple[bool, bytes]] = []
    for each in said:
        events = [line for is_event, line in kept if is_event]
        if each is None:
            if kept:
                assert outbox.take() == kept.pop(0)[1]
        elif each[0]:
            fits = len(events) < 3 and sum(map(len, events)) + len(each[1]) <= 20
            assert outbox.put_event(each[1]) == fits
            kept += [each] if fits else []
        else:
            outbox.put_answer(each[1])
            kept.append(each)
        assert len(outbox) == len(kept)
    outbox.drop_events()
    assert [outbox.take() for _ in range(len(outbox))] == [line for is_event, line in kept if not is_event]
    assert outbox.put_event(b"x" * 20)


# With a server -----------------------------------------------------------------------------------------------------


@pytest.fixture(params=[False, True], ids=["unix", "loopback"])
def served(request: pytest.FixtureRequest, context: Context) -> Iterator[Served]:
    with Served(context, loopback=request.param) as served:
        yield served


@given(st.booleans(), st.lists(st.binary(max_size=100) | almost_requests.map(lambda line: line + b"\n"), max_size=6))
@settings(max_examples=40)
def test_no_bytes_make_the_server_fall_or_hang(served: Served, greets: bool, said: list[bytes]) -> None:
    with served.raw() as raw:
        if greets:
            raw.hello()
        try:
            for piece in said:
                raw.socket.sendall(piece)
        except OSError:
            assert not greets
        raw.end()
        for answer in raw.rest():
            assert ("error" in answer) != ("result" in answer)
    with served.greeted() as other:
        assert other.ask("echo", {"a": 1})["result"] == {"a": 1}
    assert served.reports.errors == []


requests = st.tuples(st.just("request"), st.sampled_from(["echo", "soon", "fail", "nowhere", "subscribe"]))
others = st.tuples(st.sampled_from(["notification", "garbage"]), garbage.map(lambda line: line.hex()))


@given(st.lists(requests | others, max_size=30), st.lists(st.integers(0, 10_000), max_size=8))
@settings(max_examples=40)
def test_every_request_has_exactly_one_answer(serving: Served, said: list[tuple[str, str]], cuts: list[int]) -> None:
    lines, wanted, refused = [], [], 0
    for number, (kind, text) in enumerate(said):
        message: JsonObject = {"jsonrpc": "2.0", "id": number, "method": text}
        if kind == "notification":
            message = {"jsonrpc": "2.0", "method": text}
        lines.append(b"?" + text.encode() if kind == "garbage" else json.dumps(message).encode())
        wanted += [number] if kind == "request" else []
        refused += kind == "garbage"
    with serving.greeted() as raw:
        for piece in _pieces(b"".join(line + b"\n" for line in lines), cuts):
            raw.socket.sendall(piece)
        raw.end()
        answers = raw.rest()
    assert sorted(each["id"] for each in answers if each["id"] is not None) == wanted
    assert sum(each["id"] is None for each in answers) == refused


@pytest.fixture
def serving(context: Context) -> Iterator[Served]:
    async def soon(_: JsonObject) -> JsonObject:
        await asyncio.sleep(0)
        return {}

    async def fail(_: JsonObject) -> JsonObject:
        raise ServiceError("as it is meant to")

    with Served(context, {"soon": soon, "fail": fail}) as served:
        yield served
