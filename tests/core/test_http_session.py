"""Sessions: a request lasts as long as it moves, its token goes nowhere else, and nobody is believed without reason."""

from __future__ import annotations

import io
import logging
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler

import pytest

from lifeboat_core.errors import Cancelled, DiskFull, NetworkUnreachable, NotPrivate, NotTheOne
from lifeboat_core.network import http_certificates
from lifeboat_core.network.http_session import HttpSession, TransferPace
from support.core.authorities import Authority
from support.core.skipped_silence import PACE, skip_silence
from support.talking_server import TalkingServer, status, talking_server
from support.waiting import until

TOKEN = "lb_abcdefgh_only-ada-knows"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[TalkingServer]:
    with talking_server() as made:
        skip_silence(monkeypatch, made)
        yield made


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@contextmanager
def session(server: TalkingServer, pace: TransferPace = PACE, **options: object) -> Iterator[HttpSession]:
    with closing(HttpSession(server.address, token=TOKEN, pace=pace, **options)) as made:  # type: ignore[arg-type]
        yield made


# What travels -------------------------------------------------------------------------------------------------------


def test_the_token_goes_with_every_request_and_the_answer_comes_back(server: TalkingServer) -> None:
    server.replies = [status(201, b"{}", ETag='"7"')]
    with session(server) as ada:
        reply = ada.call("POST", "/agents", query={"since": 3}, content=b"text")
    assert (reply.status, reply.body, reply.headers["etag"]) == (201, b"{}", '"7"')
    (asked,) = server.asked
    assert (asked.path, asked.body, asked.headers["Authorization"]) == ("/agents?since=3", b"text", f"Bearer {TOKEN}")


def test_a_file_is_sent_from_where_it_stands_with_its_length(server: TalkingServer) -> None:
    file = io.BytesIO(b"not this" + b"x" * 700_000)
    file.seek(8)
    with session(server) as ada:
        ada.call("PUT", "/snapshot", content=file)
    (asked,) = server.asked
    assert asked.body == b"x" * 700_000 and asked.headers["Content-Length"] == "700000"


def test_an_answer_goes_into_a_file_and_progress_is_told(server: TalkingServer) -> None:
    server.replies = [status(200, b"y" * 500_000)]
    told: list[tuple[int, int]] = []
    target = io.BytesIO()
    with session(server, progress=lambda done, total: told.append((done, total))) as ada:
        reply = ada.call("GET", "/snapshot", into=target)
    assert target.getvalue() == b"y" * 500_000 and (reply.size, reply.body) == (500_000, b"")
    assert told[-1] == (500_000, 500_000)


def test_what_is_refused_does_not_go_into_the_file(server: TalkingServer) -> None:
    server.replies = [status(404, b"no")]
    target = io.BytesIO()
    with session(server) as ada:
        assert ada.call("GET", "/snapshot", into=target).body == b"no"
    assert target.getvalue() == b""


def test_nothing_comes_compressed(server: TalkingServer) -> None:
    with session(server) as ada:
        ada.call("GET", "/agents")
    assert server.asked[0].headers["Accept-Encoding"] == "identity"


# Redirects, plain HTTP, proxies --------------------------------------------------------------------------------------


def test_a_redirect_is_not_followed(server: TalkingServer) -> None:
    with talking_server() as other, session(server) as ada:
        server.replies = [status(307, Location=f"{other.address}/agents")]
        assert ada.call("GET", "/agents").status == 307
        assert other.asked == []


@pytest.mark.parametrize("address", ["http://example.com", "http://192.0.2.7:8377", "http://localhost.example.com"])
def test_plain_http_to_another_machine_is_refused_before_anything_is_sent(address: str) -> None:
    with pytest.raises(NotPrivate):
        HttpSession(address, token=TOKEN)


def test_no_proxy_stands_between_this_machine_and_itself(
    server: TalkingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with session(server) as ada:
        assert ada.call("GET", "/version").status == 200


def test_a_proxy_of_the_environment_is_used_for_other_machines(
    server: TalkingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", server.address)
    monkeypatch.setenv("https_proxy", server.address)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    asked: list[str] = []

    def connect(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.requestline)
        handler.send_error(403)

    monkeypatch.setattr(BaseHTTPRequestHandler, "do_CONNECT", lambda handler: connect(handler), raising=False)
    with (
        closing(HttpSession("https://boat.example.com", token=TOKEN, pace=PACE)) as ada,
        pytest.raises(NetworkUnreachable),
    ):
        ada.call("GET", "/version")
    assert asked == ["CONNECT boat.example.com:443 HTTP/1.1"] and TOKEN not in str(asked)


# Ends ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("manner", ["header_by_header", "silent"])
def test_what_does_not_move_is_ended(server: TalkingServer, manner: str) -> None:
    server.replies = [getattr(server, manner)]
    with session(server) as ada, pytest.raises(NetworkUnreachable, match="no data was transferred"):
        ada.call("GET", "/agents")


def test_byte_by_byte_is_not_moving(server: TalkingServer) -> None:
    def trickling(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        while not server.over.wait(0.02):
            server.while_stalling()
            handler.wfile.write(b".")

    server.replies = [trickling]
    with session(server) as ada, pytest.raises(NetworkUnreachable, match="no data was transferred"):
        ada.call("GET", "/agents")


def test_what_moves_slowly_but_moves_is_not_ended(server: TalkingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, arrived = skip_silence(monkeypatch), [0]

    def slowly(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for number in range(10):
            clock.skip(0.7 * PACE.silence)
            handler.wfile.write(b"z" * 100)
            handler.wfile.flush()
            until(lambda number=number: arrived[0] >= 100 * (number + 1) or number == 9, "a piece to arrive")

    def progress(moved: int, total: int | None) -> None:
        arrived[0] = moved

    server.replies = [slowly]
    with session(server, progress=progress) as ada:
        assert len(ada.call("GET", "/snapshot").body) == 1000


def test_who_works_through_what_it_got_is_given_time(server: TalkingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = skip_silence(monkeypatch)

    def thinking(handler: BaseHTTPRequestHandler) -> None:
        server.over.wait(0.3)
        clock.skip(2 * PACE.silence)
        server.over.wait(0.3)
        status(201)(handler)

    server.replies = [thinking]
    with session(server) as ada:
        assert ada.call("POST", "/commit", patience=5 * PACE.silence).status == 201


def test_somebody_may_stop_it(server: TalkingServer) -> None:
    server.while_stalling = lambda: None
    server.replies = [server.silent]
    with session(server) as ada:
        threading.Timer(0.1, ada.cancel).start()
        with pytest.raises(Cancelled):
            ada.call("GET", "/agents")


def test_after_an_end_the_next_request_works(server: TalkingServer) -> None:
    server.replies = [server.silent, status(200, b"here")]
    with session(server) as ada:
        with pytest.raises(NetworkUnreachable):
            ada.call("GET", "/agents")
        assert ada.call("GET", "/agents").body == b"here"


def test_an_answer_that_is_cut_off_is_none(server: TalkingServer) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"half")
        handler.close_connection = True

    server.replies = [cut]
    target = io.BytesIO()
    with session(server) as ada, pytest.raises(NetworkUnreachable):
        ada.call("GET", "/snapshot", into=target)


def test_an_answer_that_does_not_say_where_it_ends_is_none(server: TalkingServer) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b"all or not all")
        handler.close_connection = True

    server.replies = [endless]
    with (
        session(server) as ada,
        pytest.raises(NetworkUnreachable, match="the server's response does not state its length"),
    ):
        ada.call("GET", "/snapshot")


def test_an_answer_that_is_too_long_is_not_read_to_its_end(server: TalkingServer) -> None:
    server.replies = [status(200, b"x" * 5000)]
    with session(server) as ada, pytest.raises(NetworkUnreachable, match="longer than the limit of 4000"):
        ada.call("GET", "/agents", most=4000)


def test_a_full_disk_is_said_to_be_that(server: TalkingServer) -> None:
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

    server.replies = [status(200, b"data")]
    with session(server) as ada, pytest.raises(DiskFull):
        ada.call("GET", "/snapshot", into=Full())


def test_neither_errors_nor_logs_hold_the_token_or_the_address(
    server: TalkingServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.replies = [server.silent]
    with session(server) as ada, pytest.raises(NetworkUnreachable) as caught:
        ada.call("GET", "/agents/secret-place")
    said = str(caught.value) + caplog.text
    assert TOKEN not in said and "secret-place" not in said and "127.0.0.1" not in said


# Certificates -------------------------------------------------------------------------------------------------------


def refused(tls: ssl.SSLContext, believed: ssl.SSLContext | None) -> str:
    """What is said of a server; nothing may have reached it."""
    with talking_server(tls) as server, session(server, tls=believed) as ada:
        with pytest.raises(NotTheOne) as caught:
            ada.call("GET", "/agents")
        assert server.asked == []
    return str(caught.value)


def test_a_leaf_of_the_pinned_authority_is_believed(authority: Authority) -> None:
    believed = http_certificates.trust_only(authority.pem.decode())
    with talking_server(authority.serving()) as server, session(server, tls=believed) as ada:
        assert ada.call("GET", "/agents").status == 200


def test_a_leaf_of_another_authority_is_not_believed(authority: Authority) -> None:
    refused(Authority().serving(), http_certificates.trust_only(authority.pem.decode()))


def test_a_leaf_for_another_host_is_not_believed(authority: Authority) -> None:
    said = refused(authority.serving("boat.example.com"), http_certificates.trust_only(authority.pem.decode()))
    assert "another host name" in said


def test_a_leaf_that_ended_is_not_believed(authority: Authority) -> None:
    said = refused(authority.serving(expired=True), http_certificates.trust_only(authority.pem.decode()))
    assert "clock" in said


def test_an_own_authority_without_a_pin_is_not_believed(authority: Authority) -> None:
    refused(authority.serving(), None)


def test_less_than_tls_1_3_is_not_spoken(authority: Authority) -> None:
    tls = authority.serving(least=ssl.TLSVersion.TLSv1_2)
    assert "TLS 1.3" in refused(tls, http_certificates.trust_only(authority.pem.decode()))


def test_the_pinned_certificate_is_chosen_from_what_is_told(authority: Authority) -> None:
    chosen = http_certificates.choose_pinned(Authority().pem + authority.pem, authority.pin)
    assert http_certificates.compute_pin(chosen.encode()) == authority.pin


@pytest.mark.parametrize("told", [b"", b"no certificate", Authority().pem])
def test_another_certificate_is_not_chosen(authority: Authority, told: bytes) -> None:
    with pytest.raises(NotTheOne):
        http_certificates.choose_pinned(told, authority.pin)
