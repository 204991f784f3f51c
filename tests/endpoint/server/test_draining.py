"""A server that shuts down first reports that it is not ready, and answers everything that reached it."""

from __future__ import annotations

import signal
import socket
import threading
from pathlib import Path

import httpx
import pytest

from lifeboat_endpoint.server.draining import Draining, SharedFlag
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.patience import patience
from support.waiting import until


def answered(client: httpx.Client, path: str, status: int) -> httpx.Response:
    """Return the first answer with a status."""
    return until(lambda: answer if (answer := client.get(path)).status_code == status else None, f"{status} of {path}")


def signalled(running: RunningEndpoint) -> None:
    assert running.process is not None
    running.process.send_signal(signal.SIGTERM)


def test_it_says_that_it_is_not_ready_and_answers_on_until_a_second_signal(tmp_path: Path) -> None:
    with running_endpoint(tmp_path, plain=True, workers=2, options=["--drain", "3000"]) as running:
        with running.client() as client:
            answered(client, "/readyz", 200)
            signalled(running)
            answer = answered(client, "/readyz", 503)
            assert answer.json()["detail"] == "not ready: draining"
            assert answer.headers["connection"] == "close"
            assert [client.get(path).status_code for path in ("/livez", "/token", "/agents")] == [200, 200, 200]
        assert (
            "draining: the server reports `not ready` for 3000 seconds" in running.log
            and "drained: " not in running.log
        )
        assert running.stop() == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{running.url}/livez", timeout=patience())


def test_a_request_that_began_in_the_drain_is_answered_after_it(tmp_path: Path) -> None:
    with running_endpoint(tmp_path, plain=True, options=["--drain", "1", "--finish", "3600"]) as running:
        url = httpx.URL(running.url)
        with socket.create_connection((url.host, url.port or 80), timeout=patience()) as connection:
            signalled(running)
            until(lambda: "draining: " in running.log, "the drain")
            head = f"POST /agents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {running.token}\r\n"
            body = b'{"id": "0198aaaa-aaaa-7aaa-8aaa-aaaaaaaaaaaa", "name": "ada"}'
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:10])
            until(lambda: "drained: " in running.log, "the end of the drain")
            connection.sendall(body[10:])
            assert connection.recv(100).startswith(b"HTTP/1.1 201")
        assert running.wait() == 0
        assert "draining: the server reports `not ready` for 1 seconds" in running.log and "drained: " in running.log


def test_a_connection_that_nobody_uses_keeps_no_server_from_its_end(tmp_path: Path) -> None:
    with running_endpoint(tmp_path, plain=True, options=["--finish", "3600"]) as running, running.client() as client:
        assert client.get("/livez").status_code == 200
        assert running.stop() == 0


def test_without_a_drain_the_first_signal_ends_the_server() -> None:
    ended: list[str] = []
    flag = SharedFlag()
    Draining(lambda: ended.append("ended"), 0.0, flag).signalled()
    assert (ended, flag()) == (["ended"], False)


def test_a_signal_handler_waits_for_nothing() -> None:
    ended = threading.Event()
    draining = Draining(ended.set, 3600.0, SharedFlag())
    draining.signalled(signal.SIGTERM, None)
    assert not ended.is_set()
    draining.signalled(signal.SIGTERM, None)
    assert ended.is_set()


def test_the_server_ends_when_the_drain_is_over() -> None:
    ended, flag = threading.Event(), SharedFlag()
    Draining(ended.set, 0.01, flag).signalled(signal.SIGTERM, None)
    assert ended.wait(patience()) and flag()
