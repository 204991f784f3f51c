"""Requests over a socket that are malformed, slow or incomplete."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
from collections.abc import Iterator

import httpx
import psutil
import pytest

from lifeboat_endpoint.server.connections import ConnectionBounds
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.endpoint.protocols import spoken
from support.patience import patience
from support.waiting import until

HEAD = "GET /token HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    options = ["--max-connections", "16", "--max-connections-per-address", "8", "--proxy", "127.0.0.77"]
    with running_endpoint(tmp_path_factory.mktemp("endpoint"), plain=True, options=options) as running:
        yield running


def connected(endpoint: RunningEndpoint, source: str = "127.0.0.1") -> socket.socket:
    url = httpx.URL(endpoint.url)
    return socket.create_connection((url.host, url.port or 80), timeout=patience(), source_address=(source, 0))


def asked(endpoint: RunningEndpoint, request: str) -> int:
    """Return the status of the response to these bytes."""
    with connected(endpoint) as connection:
        connection.sendall(request.replace("TOKEN", f"Bearer {endpoint.token}").encode())
        found = re.match(rb"HTTP/1.1 (\d+) ", connection.recv(1000))
        assert found is not None
        return int(found[1])


@pytest.mark.parametrize(
    ("status", "request_text"),
    [
        (200, f"{HEAD}Authorization: TOKEN\r\n\r\n"),
        (400, f"{HEAD}Authorization: Bearer lb_x\r\nAuthorization: TOKEN\r\n\r\n"),
        (400, f"{HEAD}Authorization: TOKEN\r\nauthorization: TOKEN\r\n\r\n"),
        (400, f"{HEAD}Host: y\r\nAuthorization: TOKEN\r\n\r\n"),
        (400, "GET /token HTTP/1.1\nHost: x\nAuthorization: TOKEN\n\n"),
        (400, "GET /token HTTP/1.1\r\nHost: x\nAuthorization: TOKEN\r\n\r\n"),
        (400, f"{HEAD}Authorization: TOKEN\r\n\n"),
        (400, f"\n{HEAD}Authorization: TOKEN\r\n\r\n"),
        (400, f"{HEAD}Authorization: TOKEN\r\nX-A: b\r\n c\r\n\r\n"),
        (400, f"{HEAD}Authorization: TOKEN\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
        (400, f"{HEAD}Authorization: TOKEN\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n"),
        (400, f"{HEAD}Authorization : TOKEN\r\n\r\n"),
    ],
)
def test_a_request_that_can_be_read_in_two_ways_is_refused(
    endpoint: RunningEndpoint, status: int, request_text: str
) -> None:
    assert asked(endpoint, request_text) == status


def test_idle_connections_keep_no_token_holder_out(endpoint: RunningEndpoint) -> None:
    """With far more idle connections than the limit, of one address and of many, a request is answered and the limit
    holds."""
    assert endpoint.process is not None
    with contextlib.ExitStack() as held, endpoint.client() as early:
        assert early.get("/token").status_code == 200
        for number in range(60):
            held.enter_context(connected(endpoint, f"127.0.0.{1 + number % 5}"))
        with endpoint.client() as late:
            assert late.get("/token").status_code == 200
        assert early.get("/token").status_code == 200, "its connection was not closed for others"
        (child,) = psutil.Process(endpoint.process.pid).children()
        until(lambda: len(child.net_connections("tcp")) <= 16 + 1, "the bound, and the socket that listens")


def test_a_named_proxy_may_have_more_connections_than_an_address(endpoint: RunningEndpoint) -> None:
    def still_open(source: str) -> int:
        with contextlib.ExitStack() as held:
            found = [held.enter_context(connected(endpoint, source)) for _ in range(10)]
            with endpoint.client() as client:  # all of them were accepted before this one
                assert client.get("/livez").status_code == 200
            for each in found:
                each.setblocking(False)
            return sum(1 for each in found if is_open(each))

    assert (still_open("127.0.0.77"), still_open("127.0.0.78")) == (10, 8)


def is_open(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


# One connection, with short limits ---------------------------------------------------------------------------------


def test_a_head_that_never_ends_is_cut_off() -> None:
    bounds = ConnectionBounds(head=0.05)
    assert spoken(b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ", bounds) == b""
    assert spoken(b"", bounds) == b""


def test_the_second_request_of_a_connection_has_a_limit_too() -> None:
    found = spoken(b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT", ConnectionBounds(head=0.05))
    assert found.count(b"HTTP/1.1 200") == 1


def test_a_connection_that_is_idle_after_its_answer_ends() -> None:
    assert spoken(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", ConnectionBounds(idle=0.05)).startswith(b"HTTP/1.1 200")


def test_a_body_that_goes_on_after_its_answer_is_cut_off() -> None:
    request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc"
    assert spoken(request, ConnectionBounds(closing=0.05)).startswith(b"HTTP/1.1 200")


def test_a_head_without_end_is_refused_by_its_size() -> None:
    """The response may be lost, because the client still sends."""
    pieces = [b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ", *[b"a" * 8000] * 12]
    assert spoken(pieces, ConnectionBounds(head=3600.0))[:12] in (b"", b"HTTP/1.1 400")


def test_a_handshake_that_does_not_come_ends() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    assert spoken(b"", ConnectionBounds(handshake=0.05), tls=context) == b""
