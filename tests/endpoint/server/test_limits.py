"""Limits of size, duration, rate and memory of requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from lifeboat_endpoint.server import request_bodies
from lifeboat_endpoint.server.lanes import Lanes
from lifeboat_endpoint.server.problems import HttpRefusal
from lifeboat_endpoint.server.rates.token_buckets import Buckets
from lifeboat_endpoint.server.server_settings import ServerPace
from lifeboat_vault.errors import RemoteBusy, RemoteTooLarge
from support.endpoint.served_apps import ServedApp, bearer, client, codes, served

__all__ = ["client", "served"]
Receive = Callable[[], Awaitable[dict[str, Any]]]


def body(*parts: bytes) -> Receive:
    """Return what a server would receive."""
    left = list(parts)

    async def receive() -> dict[str, Any]:
        part = left.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(left)}

    return receive


def read(receive: Receive, *, limit: int = 100, most: int = 1000, headers: tuple[Any, ...] = (), **pace: Any) -> bytes:
    async def reading() -> bytes:
        with request_bodies.MemoryBudget(most).taking() as taken:
            return await request_bodies.read_body(
                {"headers": headers}, receive, limit, ServerPace(**pace), taken, "home"
            )  # type: ignore[arg-type]

    return asyncio.run(reading())


def test_a_body_comes_whole() -> None:
    assert read(body(b"one ", b"", b"two")) == b"one two"


def test_a_body_over_the_limit_is_refused_before_it_is_read() -> None:
    with pytest.raises(RemoteTooLarge):
        read(body(), headers=((b"content-length", b"101"),))


def test_a_body_that_announces_nothing_is_refused_where_it_goes_over() -> None:
    with pytest.raises(RemoteTooLarge):
        read(body(b"x" * 60, b"x" * 60, b"never received"))


def test_a_body_that_does_not_go_on_is_given_up() -> None:
    async def silent() -> dict[str, Any]:
        await asyncio.sleep(60)
        raise AssertionError

    with pytest.raises(HttpRefusal) as caught:
        read(silent, pause_seconds=0.01)
    assert caught.value.status == 408


def test_bodies_that_are_too_much_together_wait() -> None:
    with pytest.raises(RemoteBusy):
        read(body(b"x" * 60, b"x" * 60), limit=200, most=100)


def test_older_clients_may_send_six_million_bytes_at_once(served: ServedApp, client: httpx.Client) -> None:
    path = f"/agents/{served.registered(client).agent_id}/snapshot"
    assert client.put(path, content=bytes(6_000_000)).status_code == 422


def test_a_larger_body_than_the_endpoint_takes_is_413(served: ServedApp, client: httpx.Client) -> None:
    answer = client.put(f"/agents/{served.registered(client).agent_id}/keys", content=bytes(16 * 1024 * 1024 + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "remote_too_large")


def test_a_body_counts_for_nothing_before_its_sender_is_let_in(served: ServedApp, client: httpx.Client) -> None:
    path = f"/agents/{served.registered(client).agent_id}/objects/missing"
    assert client.post(path, json={"sha256": 1}, headers={"Authorization": ""}).status_code == 401


def test_a_bucket_fills_again() -> None:
    buckets = Buckets(rate=2.0, burst=2.0)
    assert [buckets.take("a", 10.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert buckets.take("b", 10.0) == 0.0
    assert buckets.take("a", 10.5) == 0.0


def test_buckets_that_are_full_again_are_forgotten() -> None:
    buckets = Buckets(rate=1.0, burst=5.0)
    for number in range(30_000):
        buckets.take(str(number), number * 1.0)
    assert len(buckets._levels) <= 10_001


@pytest.mark.parametrize("served", [{"token_rate": 0.001, "token_burst": 3}], indirect=True)
def test_a_token_that_asks_too_often_waits(served: ServedApp, client: httpx.Client) -> None:
    answers = [client.get("/token") for _ in range(4)]
    assert codes(answers) == [200, 200, 200, 429]
    assert int(answers[-1].headers["retry-after"]) > 0
    assert client.get("/token", headers=bearer(served.new_token())).status_code == 200


@pytest.mark.parametrize("served", [{"failure_rate": 0.001, "failure_burst": 2}], indirect=True)
def test_who_fails_too_often_waits_and_does_not_fill_the_audit(served: ServedApp, client: httpx.Client) -> None:
    answers = [client.get("/token", headers=bearer("lb_aaaaaaaa_" + "x" * 43)) for _ in range(4)]
    assert codes(answers) == [401, 401, 429, 429]
    assert client.get("/token").status_code == 200
    denied = [row for row in served.server.endpoint.control.audit_rows() if row.kind == "denied"]
    assert sum(row.details.get("count", 1) for row in denied) == 2


def test_an_agent_always_has_the_same_thread() -> None:
    async def threads() -> set[str]:
        lanes = Lanes("test", 4, 100)
        found = {await lanes.of("agent").run(lambda: threading.current_thread().name) for _ in range(5)}
        lanes.close(lambda: None)
        return found

    assert len(asyncio.run(threads())) == 1


def test_a_lane_that_is_full_asks_to_wait() -> None:
    async def full() -> None:
        lanes = Lanes("test", 1, 1)
        blocked = threading.Event()
        first = asyncio.create_task(lanes.of("a").run(blocked.wait))
        await asyncio.sleep(0)
        try:
            with pytest.raises(RemoteBusy):
                await lanes.of("a").run(lambda: None)
        finally:
            blocked.set()
            await first
            lanes.close(lambda: None)

    asyncio.run(full())


def test_work_that_nobody_waits_for_any_more_goes_on_to_its_end() -> None:
    async def gone() -> list[str]:
        lanes, done, begun = Lanes("test", 1, 10), list[str](), threading.Event()

        def work() -> None:
            begun.set()
            done.append("done")

        task = asyncio.create_task(lanes.of("a").run(work))
        await asyncio.sleep(0)
        task.cancel()
        lanes.close(lambda: None)
        return done

    assert asyncio.run(gone()) == ["done"]
