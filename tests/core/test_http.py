"""Requests: they have an end, they go nowhere else, and they say no address."""

from __future__ import annotations

import logging
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.errors import AnsweredWithError, NetworkError, NetworkUnreachable
from lifeboat_core.network import http_requests
from lifeboat_core.network.http_requests import HttpTimeouts
from support.packages import PACKAGES
from support.paths import ROOT
from support.talking_server import TalkingServer, status, talking_server

TOPIC = "topic-only-ada-knows"
SHORT = HttpTimeouts(connect=600.0, piece=600.0, total=0.3)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[TalkingServer]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with talking_server() as made:
        yield made


def test_what_is_sent_arrives_and_the_answer_comes_back(server: TalkingServer) -> None:
    server.replies = [status(201, b"done")]
    answer = http_requests.send_request("POST", f"{server.address}/{TOPIC}", headers={"Title": "ada"}, content=b"text")
    assert answer == (201, b"done")
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.body, asked.headers["Title"]) == ("POST", f"/{TOPIC}", b"text", "ada")
    assert asked.headers["User-Agent"].startswith("agent-lifeboat/")


@pytest.mark.parametrize("code", [400, 404, 500, 304])
def test_anything_but_success_is_an_error_with_its_status(server: TalkingServer, code: int) -> None:
    server.replies = [status(code)]
    with pytest.raises(AnsweredWithError) as caught:
        http_requests.send_request("GET", f"{server.address}/{TOPIC}")
    assert caught.value.status == code


@pytest.mark.parametrize("manner", ["byte_by_byte", "header_by_header", "silent"])
def test_an_answer_without_an_end_ends_all_the_same(server: TalkingServer, manner: str) -> None:
    server.replies = [getattr(server, manner)]
    with pytest.raises(NetworkUnreachable, match="within"):
        http_requests.send_request("GET", f"{server.address}/{TOPIC}", limits=SHORT)


def test_silence_ends_with_the_time_for_one_piece(server: TalkingServer) -> None:
    server.replies = [server.silent]
    with pytest.raises(NetworkUnreachable, match="in time"):
        http_requests.send_request("GET", f"{server.address}/{TOPIC}", limits=HttpTimeouts(600.0, 0.1, 600.0))


def test_of_a_long_answer_only_the_beginning_is_read(server: TalkingServer) -> None:
    server.replies = [status(200, b"x" * (http_requests.LARGEST_ANSWER + 5))]
    assert len(http_requests.send_request("GET", f"{server.address}/").body) == http_requests.LARGEST_ANSWER


# Redirects ------------------------------------------------------------------------------------------------------


def test_a_redirect_on_the_same_scheme_is_followed(server: TalkingServer) -> None:
    server.replies = [status(302, Location="/there"), status(200)]
    assert http_requests.send_request("GET", f"{server.address}/{TOPIC}").status == 200
    assert server.paths == [f"/{TOPIC}", "/there"]


@pytest.mark.parametrize("target", ["https://127.0.0.1/x", "file:///etc/passwd", "ftp://127.0.0.1/x", ""])
def test_no_redirect_leads_to_another_scheme(server: TalkingServer, target: str) -> None:
    server.replies = [status(302, Location=target), status(200)]
    with pytest.raises(AnsweredWithError):
        http_requests.send_request("GET", f"{server.address}/{TOPIC}")
    assert len(server.asked) == 1


def test_what_is_posted_is_not_dropped_on_the_way(server: TalkingServer) -> None:
    server.replies = [status(302, Location="/there"), status(200)]
    with pytest.raises(AnsweredWithError):
        http_requests.send_request("POST", f"{server.address}/", content=b"text")
    server.replies = [status(308, Location="/there"), status(200)]
    http_requests.send_request("POST", f"{server.address}/", content=b"text")
    assert (server.asked[-1].path, server.asked[-1].body) == ("/there", b"text")


def test_a_ring_of_redirects_ends(server: TalkingServer) -> None:
    server.replies = [status(302, Location="/again")]
    with pytest.raises(AnsweredWithError):
        http_requests.send_request("GET", f"{server.address}/")
    assert len(server.asked) == http_requests.MOST_REDIRECTS + 1


def test_a_token_is_for_the_host_it_was_given_for(server: TalkingServer) -> None:
    with talking_server() as other:
        server.replies = [status(302, Location=f"{other.address}/there")]
        http_requests.send_request("GET", f"{server.address}/", headers={"Authorization": "Bearer t", "Title": "ada"})
        assert server.asked[0].headers["Authorization"] == "Bearer t"
        assert (other.asked[0].headers["Authorization"], other.asked[0].headers["Title"]) == (None, "ada")


# Nobody there ---------------------------------------------------------------------------------------------------


def unused_address() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize(
    "address",
    ["unused", "http://nobody.invalid", "http://[", "nonsense://x", "http://127.0.0.1:99999", "https://"],
)
def test_nobody_there_and_no_address_at_all_is_one_calm_error(address: str, server: TalkingServer) -> None:
    where = unused_address() if address == "unused" else address
    with pytest.raises(NetworkUnreachable) as caught:
        http_requests.send_request("GET", f"{where}/{TOPIC}")
    assert caught.value.retryable


def test_who_speaks_no_tls_is_not_reached_over_it(server: TalkingServer) -> None:
    with pytest.raises(NetworkUnreachable):
        http_requests.send_request("GET", server.address.replace("http:", "https:"))


def test_no_error_and_no_log_says_an_address(server: TalkingServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said = []
    server.replies = [status(500), status(302, Location=f"ftp://127.0.0.1/{TOPIC}"), server.silent]
    for address in (server.address, server.address, server.address, unused_address(), "http://127.0.0.1:99999"):
        with pytest.raises(NetworkError) as caught:
            http_requests.send_request("GET", f"{address}/{TOPIC}", limits=SHORT)
        error: BaseException | None = caught.value
        while error is not None and not error.__suppress_context__:
            said.append(f"{error!r}")
            error = error.__cause__ or error.__context__
        said.append(f"{caught.value.message}{caught.value!r}")
    assert not [each for each in [*said, caplog.text] if TOPIC in each or "127.0.0.1" in each]


# Patience -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codes", "outcome", "times"), [([503, 200], 200, 2), ([503, 503, 503], 503, 3), ([404, 200], 404, 1)]
)
def test_who_is_busy_is_asked_again_and_who_refuses_is_not(
    server: TalkingServer, codes: list[int], outcome: int, times: int
) -> None:
    server.replies = [status(code) for code in codes]
    pauses: list[float] = []
    try:
        found = http_requests.retry_request(
            lambda: http_requests.send_request("GET", server.address), wait=pauses.append
        ).status
    except AnsweredWithError as error:
        found = error.status
    assert (found, len(server.asked), len(pauses)) == (outcome, times, times - 1)
    assert all(0 < pause < 5 for pause in pauses)


def test_the_pauses_grow_and_are_never_the_same() -> None:
    pauses: list[float] = []

    def nobody() -> http_requests.HttpResponse:
        raise NetworkUnreachable("nobody")

    for _ in range(20):
        with pytest.raises(NetworkUnreachable):
            http_requests.retry_request(nobody, wait=pauses.append)
    assert len(set(pauses)) == len(pauses) == 40
    assert sum(pauses[1::2]) > sum(pauses[::2])


def test_no_other_module_imports_httpx() -> None:
    importing = re.compile(r"^\s*(import|from) httpx\b", re.MULTILINE)
    modules = (path for folder, name in PACKAGES.items() for path in (ROOT / folder / name).rglob("*.py"))
    assert [path for path in modules if importing.search(path.read_text())] == [Path(http_requests.__file__)]


def test_importing_it_does_not_import_httpx() -> None:
    program = "import sys, lifeboat_core.network.http_requests; print('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.split() == ["False"]
