"""Attacks with a valid token: on other tenants, on the memory, on the disk, and on the attacker's own agents."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from lifeboat_alf.states.agent_state import Sequence
from lifeboat_endpoint.server.api import RouteResponse
from lifeboat_endpoint.server.lanes import Lanes
from lifeboat_endpoint.server.request_bodies import MemoryBudget
from lifeboat_endpoint.server.response_sending import SlowReader, close_response, send_answer
from lifeboat_endpoint.server.server_log import RequestRecord
from lifeboat_endpoint.server.server_settings import ServerPace
from lifeboat_endpoint.service import append_rules, endpoint_limits, state_bundles
from lifeboat_endpoint.service.uploads import ExpectedPart
from lifeboat_vault.errors import EpochBehind, RemoteBusy, RemoteFull, RemoteRefused, RemoteTooLarge
from lifeboat_vault.remote.remote_contract import MOST_EPOCHS
from lifeboat_vault.vault import FIRST_EPOCH, EntryPut
from support.endpoint.served_apps import ServedApp, client, push_delta, served
from support.endpoint.spaces import space_in

__all__ = ["client", "served"]
AGENT = "0198aaaa-aaaa-7aaa-8aaa-aaaaaaaaaaaa"
LAST = 2**53 - 1


# Bundles ------------------------------------------------------------------------------------------------------------


def repacked(data: bytes, change: Callable[[str, bytes], bytes | None], **more: bytes) -> bytes:
    """Return a bundle with other entries."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            body = change(name, source.read(name))
            if body is not None:
                target.writestr(name, body)
        for name, body in more.items():
            target.writestr(name, body)
    return out.getvalue()


def with_manifest(data: bytes, manifest: bytes) -> bytes:
    return repacked(data, lambda name, body: manifest if name == "manifest.json" else body)


def same(_: str, body: bytes) -> bytes:
    return body


HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "no archive": lambda data: b"PK" + bytes(100),
    "half of one": lambda data: data[: len(data) // 2],
    "a bomb": lambda data: repacked(data, same, **{"raw/openclaw/zeros": bytes(32 << 20)}),
    "a name that climbs": lambda data: repacked(data, same, **{"../../control.db": b"x"}),
    "an absolute name": lambda data: repacked(data, same, **{"/etc/passwd": b"x"}),
    "a backslash": lambda data: repacked(data, same, **{"raw\\openclaw\\x": b"x"}),
    "a name with a zero": lambda data: repacked(data, same, **{"raw/x\0y": b"x"}),
    "many names": lambda data: repacked(data, same, **{f"raw/openclaw/{number}": b"" for number in range(3000)}),
    "a deep document": lambda data: with_manifest(data, b"[" * 200_000 + b"]" * 200_000),
    "a wide number": lambda data: with_manifest(data, b'{"a":' + b"9" * 5000 + b"}"),
    "no object": lambda data: with_manifest(data, b"null"),
    "half a character": lambda data: with_manifest(data, b'{"a":"\\ud800"}'),
    "no text": lambda data: with_manifest(data, b'{"a":"\xff"}'),
    "no documents": lambda data: repacked(data, lambda name, body: None),
}


def test_bundles_that_mean_harm_are_refused_and_change_nothing(served: ServedApp, client: httpx.Client) -> None:
    machine = served.registered(client)
    machine.capture()
    path = f"/agents/{machine.agent_id}"
    good = machine.snapshot().file.read()
    for what, make in HOSTILE.items():
        answer = client.put(f"{path}/snapshot", content=make(good))
        assert (what, answer.status_code, answer.json()["code"]) == (what, 422, "remote_refused")
        assert str(served.folder) not in answer.text
    assert client.put(f"{path}/snapshot", content=good).status_code == 201


def test_a_bundle_of_another_agent_is_refused(served: ServedApp, client: httpx.Client) -> None:
    one, other = served.pushed(client), served.registered(client)
    data = one.snapshot().file.read()
    assert client.put(f"/agents/{other.agent_id}/snapshot", content=data).status_code == 422


def test_capitals_make_no_twin_of_an_agent(served: ServedApp, client: httpx.Client) -> None:
    machine = served.pushed(client)
    twin = {"id": machine.agent_id.upper(), "name": "twin", "source_runtime": "openclaw"}
    assert client.post("/agents", json=twin).status_code == 409
    assert client.get(f"/agents/{machine.agent_id.upper()}").json()["id"] == machine.agent_id
    assert len(client.get("/agents").json()["agents"]) == 1


@pytest.mark.parametrize("found", ["", "..", "../x", "a" * 65, "a/b", "a\0b", "a b", "ä", "-x", "a\n", "."])
def test_what_is_no_id_makes_no_folder(tmp_path: Path, found: str) -> None:
    with space_in(tmp_path / "tenant") as space, pytest.raises(RemoteRefused):
        space.register(found, "ada", "openclaw")
    assert [path.name for path in tmp_path.iterdir()] == ["tenant"]


# The last number, the last epoch ------------------------------------------------------------------------------------


def sequence(number: int, epoch: int = FIRST_EPOCH) -> Sequence:
    return Sequence(AGENT, number, None, epoch, "2026-11-20T12:00:00.000Z", b"x" * 32, {})


@pytest.mark.parametrize("number", [LAST, 2**53, append_rules.LARGEST_FIRST + 1])
def test_nobody_takes_the_last_number_at_once(number: int) -> None:
    """After the last number no other sequence could ever follow."""
    with pytest.raises(RemoteRefused):
        append_rules.check_fit(sequence(number), None, None, FIRST_EPOCH)


@pytest.mark.parametrize("epoch", [LAST, 2**53, FIRST_EPOCH + MOST_EPOCHS + 1])
def test_nobody_takes_the_last_epoch_at_once(epoch: int) -> None:
    with pytest.raises(RemoteRefused):
        append_rules.check_fit(sequence(0, epoch), None, None, FIRST_EPOCH)


def test_a_machine_that_was_taken_over_elsewhere_comes_with_a_later_epoch() -> None:
    append_rules.check_fit(sequence(70_000, FIRST_EPOCH + 5), None, None, FIRST_EPOCH)
    with pytest.raises(EpochBehind):
        append_rules.check_fit(sequence(0, FIRST_EPOCH), None, None, FIRST_EPOCH + 5)


def test_an_epoch_rises_by_one_from_the_one_in_force_only(served: ServedApp, client: httpx.Client) -> None:
    path = f"/agents/{served.registered(client).agent_id}"
    for expected in (LAST, 2**53, 2**53 + 1, 2**64, -1, 1.5, "1", None):
        assert client.post(f"{path}/epoch", json={"expected": expected}).status_code in (409, 422)
    assert client.get(path).json()["epoch"] == FIRST_EPOCH


def test_numbers_at_their_end_are_answered_in_order(served: ServedApp, client: httpx.Client) -> None:
    path = f"/agents/{served.pushed(client).agent_id}"
    numbers = (2**53, 2**53 + 1, 2**63, 2**64, -2, "1e3", "0x10", "NaN", "1;drop")
    found = [answer for number in numbers for answer in asked_with(client, path, number)]
    assert {answer.status_code for answer in found} <= {400, 404, 409, 422}
    assert {answer.headers["content-type"] for answer in found} == {"application/problem+json"}


def asked_with(client: httpx.Client, path: str, number: Any) -> list[httpx.Response]:
    return [
        client.get(f"{path}/snapshot", params={"sequence": number}),
        client.get(f"{path}/deltas/{number}"),
        client.get(f"{path}/deltas/0", params={"base": number}),
        client.get(f"{path}/deltas", params={"since": number}),
        client.post(f"{path}/deltas", params={"base_sequence": number}, content=b"x"),
        client.post(f"{path}/read", json={"sequence": number, "entries": ["x"], "records": []}),
    ]


# Memory -------------------------------------------------------------------------------------------------------------


def test_one_thing_cannot_be_read_back_ten_thousand_times(
    served: ServedApp, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_bundles, "READ_BYTES", 100)
    machine = served.pushed(client)
    path = f"/agents/{machine.agent_id}/read"
    state = machine.vault.state()
    record = next(state.records()).id
    assert client.post(path, json={"sequence": 0, "records": [record]}).status_code == 200
    answer = client.post(path, json={"sequence": 0, "records": [record] * 10_000})
    assert (answer.status_code, answer.json()["code"]) == (413, "remote_too_large")


def test_a_tenant_takes_no_more_than_its_part_of_what_all_have() -> None:
    budget = MemoryBudget(100, share=0.6)
    with budget.taking() as one, budget.taking() as another:
        one.add("home", 60)
        with pytest.raises(RemoteBusy):
            another.add("home", 1)
        another.add("office", 40)
        with budget.taking() as third, pytest.raises(RemoteBusy):
            third.add("third", 1)
    with budget.taking() as again:
        again.add("home", 60)


def test_what_is_larger_than_all_is_let_through_alone() -> None:
    budget = MemoryBudget(100)
    with budget.taking() as one, budget.taking() as other:
        one.add("home", 1000, first=True)
        with pytest.raises(RemoteBusy):
            other.add("home", 1000, first=True)


def test_who_does_not_take_an_answer_does_not_keep_it_in_memory() -> None:
    async def nobody(message: Any) -> None:
        await asyncio.sleep(60)

    async def sending() -> None:
        lanes, file = Lanes("test", 1, 10), io.BytesIO(bytes(1000))
        answer = RouteResponse(file=file, size=1000)
        record = RequestRecord("id", "GET", 0.0)
        try:
            with pytest.raises(SlowReader):
                await send_answer(answer, lanes.of("a"), False, nobody, record, ServerPace(pause_seconds=0.01))
            assert file.closed
        finally:
            lanes.close(lambda: close_response(answer))

    asyncio.run(sending())


@pytest.mark.parametrize("served", [{"waiting_bytes": 1000}], indirect=True)
def test_a_body_that_does_not_fit_is_answered_with_when_to_come_again(served: ServedApp, client: httpx.Client) -> None:
    path = f"/agents/{served.registered(client).agent_id}/snapshot"
    answer = client.put(path, content=bytes(2000))
    assert (answer.status_code, answer.json()["code"]) == (503, "remote_busy")
    assert int(answer.headers["retry-after"]) > 0


def test_slow_senders_of_a_tenant_leave_room_for_others(served: ServedApp) -> None:
    most = served.server.settings.pace.streams // 2
    with contextlib.ExitStack() as stack:
        for _ in range(most):
            stack.enter_context(served.server.streaming("home"))
        with pytest.raises(RemoteBusy), served.server.streaming("home"):
            pass
        with served.server.streaming("office"):
            pass
    assert not served.server.streams


def test_a_body_that_comes_while_others_come_slowly_has_a_thread_of_its_own() -> None:
    async def chosen() -> set[int]:
        lanes, forever = Lanes("test", 3, 10), threading.Event()
        found, waiting = set(), []
        for _ in range(3):
            lane = lanes.free()
            found.add(id(lane))
            waiting.append(asyncio.create_task(lane.run(forever.wait)))
            await asyncio.sleep(0)
        forever.set()
        await asyncio.gather(*waiting)
        lanes.close(lambda: None)
        return found

    assert len(asyncio.run(chosen())) == 3


# The disk -----------------------------------------------------------------------------------------------------------


def test_a_bundle_has_no_more_entries_than_bytes_allow(
    served: ServedApp, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty bytes of a packed delta are an empty file, which costs as much as one of a kilobyte."""
    monkeypatch.setattr(endpoint_limits, "FREE_ENTRIES", 200)
    machine = served.pushed(client)
    base = machine.here.number
    machine.commit({f"raw/openclaw/{number}": EntryPut({}, b"") for number in range(1000)})
    answer = push_delta(client, machine, base)
    assert (answer.status_code, answer.json()["code"]) == (413, "remote_too_large")
    assert client.get(f"/agents/{machine.agent_id}").json()["head"]["sequence"] == base
    found = b"".join(hashlib.sha256(bytes([number % 256, number >> 8])).digest() for number in range(10_000))
    bodies = {f"raw/openclaw/{number}": EntryPut({}, found[number * 300 :][:300]) for number in range(1000)}
    machine.commit(bodies)
    assert push_delta(client, machine, base).status_code == 201


def test_agents_without_end_are_not_taken(tmp_path: Path) -> None:
    with space_in(tmp_path, limited={"agents": 3}) as space:
        for number in range(3):
            space.register(f"agent-{number}", "ada", "openclaw")
        space.register("agent-1", "again", "openclaw")
        with pytest.raises(RemoteFull):
            space.register("agent-3", "ada", "openclaw")
        assert len(space.agent_ids()) == 3


def test_empty_agents_count_for_the_quota(tmp_path: Path) -> None:
    with space_in(tmp_path, limited={"tenant_bytes": 300_000}) as space, pytest.raises(RemoteFull):
        for number in range(50):
            space.register(f"agent-{number}", "ada", "openclaw")


def test_uploads_that_never_end_make_room_for_those_that_begin(tmp_path: Path) -> None:
    with space_in(tmp_path, limited={"uploads": 4}) as space:
        space.register(AGENT, "ada", "openclaw")
        data = b"x" * 100
        part = ExpectedPart(hashlib.sha256(data).hexdigest(), 100)
        begun = [space.uploads.begin(AGENT, "snapshot", None, [part]) for _ in range(3)]
        space.uploads.put_part(begun[0].id, part.sha256, data)
        begun += [space.uploads.begin(AGENT, "snapshot", None, [part]) for _ in range(20)]
        assert begun[-1].missing == []  # the part of the first upload is still there
        rows = space._metadata.row("select count(*) from upload", ())
        assert rows == (4,)


def test_parts_that_never_come_count_for_the_quota(tmp_path: Path) -> None:
    parts = [ExpectedPart(hashlib.sha256(str(number).encode()).hexdigest(), 1) for number in range(2000)]
    with space_in(tmp_path, limited={"tenant_bytes": 500_000}) as space:
        space.register(AGENT, "ada", "openclaw")
        with pytest.raises(RemoteFull):
            for _ in range(5):
                space.uploads.begin(AGENT, "snapshot", None, parts)


def test_keys_are_small_and_count_for_the_quota(tmp_path: Path) -> None:
    with space_in(tmp_path, limited={"keys_bytes": 1000, "tenant_bytes": 10_000_000}) as space:
        space.register(AGENT, "ada", "openclaw")
        before = space.size()
        with pytest.raises(RemoteTooLarge):
            space.put_keys(AGENT, {"x": "y" * 1000})
        space.put_keys(AGENT, {"x": "y" * 900})
        assert space.size() >= before + 900


def test_heads_and_names_of_sealed_agents_count_for_the_quota(tmp_path: Path) -> None:
    with space_in(tmp_path, limited={"tenant_bytes": 100_000}) as space:
        space.register(AGENT, "ada", "", sealed=True)
        tag = space.sealed_files.set_head(AGENT, b"h" * 97_000, None)
        with pytest.raises(RemoteFull):
            for number in range(100):
                space.sealed_files.put(AGENT, f"empty-{number}.age", b"")
        with pytest.raises(RemoteFull):
            space.sealed_files.set_head(AGENT, b"h" * 99_000, tag)
        space.sealed_files.set_head(AGENT, b"h" * 10, tag)  # a smaller head makes room


# What others are told -----------------------------------------------------------------------------------------------


def test_what_a_machine_is_called_is_one_line_without_escapes(served: ServedApp, client: httpx.Client) -> None:
    machine = served.pushed(client)
    machine.capture()
    header = {"X-Lifeboat-Machine": "evil%1b%5b2J%0a%e2%80%aename" + "x" * 500}
    assert push_delta(client, machine, 0, headers=header).status_code == 201
    told = client.get(f"/agents/{machine.agent_id}").json()["head"]["machine"]
    assert told.isprintable() and len(told) <= 200


def test_what_an_agent_is_called_is_one_line_without_escapes(client: httpx.Client) -> None:
    for name in ("", "x" * 201, "a\x1b[2Jb", "a\nb", "a\0b", "a\x7fb"):
        asked = {"id": AGENT, "name": name, "source_runtime": "openclaw"}
        assert client.post("/agents", json=asked).status_code == 422


NO_DOCUMENTS = (
    b"[" * 100_000,
    b'{"id":' + b"[" * 50_000,
    b"{" * 100_000,
    b"\xff\xfe",
    b"nul",
    b'"\\ud800"',
    b"1" * 100_000,
    b"[]",
)


def test_what_is_no_document_is_a_problem_of_the_sender(served: ServedApp, client: httpx.Client) -> None:
    path = f"/agents/{served.registered(client).agent_id}"
    for route in ("/agents", f"{path}/uploads", f"{path}/read", f"{path}/epoch"):
        answers = [client.post(route, content=body) for body in (b"", *NO_DOCUMENTS)]
        assert {answer.status_code for answer in answers} <= {400, 422}
        assert {answer.headers["content-type"] for answer in answers} == {"application/problem+json"}


def test_keys_that_are_no_document_are_refused(served: ServedApp, client: httpx.Client) -> None:
    path = f"/agents/{served.registered(client).agent_id}/keys"
    for body in (*NO_DOCUMENTS, b"null", b'{"a":' * 50_000, b'{"a":1e999}', b'{"a":"\\ud800"}'):
        assert client.put(path, content=body).status_code == 422
    assert client.get(path).json() is None


def test_an_accident_tells_nothing_of_this_side(
    served: ServedApp, client: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = f"{served.folder} is where the {served.token} is"

    def broken(*_: object, **__: object) -> None:
        raise ValueError(secret)

    machine = served.pushed(client)
    monkeypatch.setattr(state_bundles, "make_snapshot", broken)
    with caplog.at_level("INFO"):
        answer = client.get(f"/agents/{machine.agent_id}/snapshot", headers={"Accept": "application/zip"})
    document = answer.json()
    assert (answer.status_code, document["code"]) == (500, "accident")
    assert set(document) >= {"type", "title", "status", "detail", "code", "fix", "retryable", "request_id"}
    assert document["request_id"] in caplog.text
    for text in (answer.text, caplog.text):
        assert str(served.folder) not in text and served.token not in text and "ValueError" not in answer.text


def test_json_that_a_state_holds_is_bounded_where_it_is_named(served: ServedApp, client: httpx.Client) -> None:
    path = f"/agents/{served.pushed(client).agent_id}"
    assert client.post(f"{path}/objects/missing", json={"sha256": ["0" * 64] * 10_001}).status_code == 422
    assert client.post(f"{path}/read", json={"sequence": 0, "entries": ["x"] * 10_001}).status_code == 422
    parts = [{"sha256": "0" * 64, "size": 1}] * 5000
    assert client.post(f"{path}/uploads", json={"kind": "snapshot", "parts": parts}).status_code == 413
    large = [{"sha256": "0" * 64, "size": 2**53}]
    assert client.post(f"{path}/uploads", json={"kind": "snapshot", "parts": large}).status_code == 413


def test_a_signature_of_somebody_else_is_not_put_to_a_state(served: ServedApp, client: httpx.Client) -> None:
    machine, stranger = served.pushed(client), served.machine()
    stranger.capture()
    row = stranger.vault.sequence(0)
    path = f"/agents/{machine.agent_id}"
    before = client.get(f"{path}/sequences").json()
    asked = {"signatures": [{"sequence": 0, "signature": row.signature}]}
    answer = client.put(f"{path}/signatures", json=asked)
    assert answer.status_code == 422
    assert client.get(f"{path}/sequences").json() == before
