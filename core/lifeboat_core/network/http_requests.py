"""Requests to addresses that the user named. The only module that imports httpx, and only when a request is made.

`send_request` makes one request: certificates are verified against the system's store, no redirect leads to another
scheme, and it ends in time even if the server misbehaves. `http_session` is built on `HttpConnections`.

Addresses may be all that protects a topic: they are in no error and in no log.
"""

from __future__ import annotations

import logging
import os
import queue
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urljoin, urlsplit

from lifeboat_core.errors import AnsweredWithError, NetworkUnreachable
from lifeboat_core.processes.installed_release import read_release

if TYPE_CHECKING:
    import httpx

Method = Literal["GET", "POST"]

LARGEST_ANSWER = 64 * 1024
"""Bytes that are read of an answer; the rest is ignored."""
MOST_REDIRECTS = 3
TRIES = 3
_GIVEN_UP = "the request was cancelled"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEPING_THE_BODY = frozenset({307, 308})
_WORTH_ANOTHER_TRY = frozenset({408, 425, 429, 500, 502, 503, 504})


class HttpTimeouts(NamedTuple):
    """Seconds: to connect, between two pieces of a request or an answer, and for everything together."""

    connect: float = 5.0
    piece: float = 5.0
    total: float = 10.0


class HttpResponse(NamedTuple):
    """`body` holds at most `LARGEST_ANSWER` bytes."""

    status: int
    body: bytes


def send_request(
    method: Method,
    address: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    limits: HttpTimeouts = HttpTimeouts(),  # noqa: B008
) -> HttpResponse:
    """Make one request and follow redirects. Raises NetworkUnreachable (no trustworthy answer in time) and
    AnsweredWithError (anything but 2xx)."""
    answer = _in_time(lambda client: _followed(client, method, address, headers or {}, content), limits)
    if not 200 <= answer.status < 300:
        raise AnsweredWithError(f"the server answered with HTTP status {answer.status}", status=answer.status)
    return answer


def retry_request(
    call: Callable[[], HttpResponse], *, tries: int = TRIES, wait: Callable[[float], None] = time.sleep
) -> HttpResponse:
    """Retry `call` a few times while the server does not answer or is busy, with growing random pauses. Raises what the
    last try raised."""
    for left in reversed(range(tries)):
        try:
            return call()
        except (NetworkUnreachable, AnsweredWithError) as error:
            if not left or (isinstance(error, AnsweredWithError) and error.status not in _WORTH_ANOTHER_TRY):
                raise
        wait(2.0 ** (tries - 1 - left) * random.uniform(0.5, 1.5))
    raise AssertionError("unreachable")


class StreamedHttpResponse(NamedTuple):
    """An answer whose body is still arriving.

    Names of headers are lower-case, `pieces` are the bytes as they arrive. `framed`: whether the end of the body is
    marked, so that a truncated body is noticed.
    """

    status: int
    headers: Mapping[str, str]
    pieces: Iterator[bytes]
    framed: bool


class HttpConnections:
    """Connections to one server, kept between requests. No redirect is followed, nothing is sent compressed.

    `around`: whether proxies of the environment are used. Errors are NetworkUnreachable; `tls` decides whom to trust.
    May be closed from another thread: that ends what is under way.
    """

    def __init__(self, tls: ssl.SSLContext, *, around: bool) -> None:
        import httpx

        _keep_quiet()
        self._client = httpx.Client(
            verify=tls,
            trust_env=around,
            follow_redirects=False,
            headers={"User-Agent": _program(), "Accept-Encoding": "identity"},
        )

    @contextmanager
    def answering(
        self,
        method: str,
        address: str,
        headers: Mapping[str, str],
        content: bytes | Iterable[bytes] | None,
        limits: HttpTimeouts,
    ) -> Iterator[StreamedHttpResponse]:
        """Make a request. The pieces have to be read inside the block; the caller enforces `limits.total`. Raises
        NetworkUnreachable; a certificate error of the system is its `__cause__`."""
        import httpx

        timeout = httpx.Timeout(limits.piece, connect=limits.connect)
        options = {"headers": dict(headers), "content": content, "timeout": timeout}
        try:
            with self._client.stream(method, address, **options) as answer:  # type: ignore[arg-type]
                framed = not {"content-length", "transfer-encoding"}.isdisjoint(answer.headers)
                yield StreamedHttpResponse(answer.status_code, dict(answer.headers), answer.iter_raw(), framed)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ssl.SSLError) as error:
            raise NetworkUnreachable(_cause(error)) from error
        except RuntimeError as error:  # closed meanwhile
            raise NetworkUnreachable(_GIVEN_UP) from error

    def close(self) -> None:
        self._client.close()


# One request ----------------------------------------------------------------------------------------------------


def _in_time(work: Callable[[httpx.Client], HttpResponse], limits: HttpTimeouts) -> HttpResponse:
    """Work in a separate thread, which is abandoned when the time is over: neither a name look-up nor an answer that
    arrives byte by byte has a time limit. Closing the client ends what the thread waits for."""
    client = _client(limits)
    done: queue.SimpleQueue[HttpResponse | Exception] = queue.SimpleQueue()
    threading.Thread(target=_run, args=(work, client, done), name="request", daemon=True).start()
    try:
        found = done.get(timeout=limits.total)
    except queue.Empty:
        raise NetworkUnreachable(f"no complete answer arrived within {limits.total:g} seconds") from None
    finally:
        client.close()
    if isinstance(found, Exception):
        raise found
    return found


def _run(
    work: Callable[[httpx.Client], HttpResponse],
    client: httpx.Client,
    done: queue.SimpleQueue[HttpResponse | Exception],
) -> None:
    import httpx

    try:
        done.put(work(client))
    except (NetworkUnreachable, AnsweredWithError) as error:
        done.put(error)
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError) as error:
        done.put(NetworkUnreachable(_cause(error)))
    except RuntimeError:  # the client was closed because no caller waits any more
        done.put(NetworkUnreachable(_GIVEN_UP))


def _cause(error: Exception) -> str:
    """Return the reason without the address, which httpx and the system like to put into theirs."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return "the server did not answer in time"
    if _is_about_a_certificate(error):
        return "this system does not trust the server's certificate"
    if isinstance(error, httpx.ProxyError):
        return "the proxy refused the connection"
    if isinstance(error, httpx.ConnectError):
        return "the host name of the server cannot be resolved" if _is_about_a_name(error) else "the connection failed"
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | ValueError):
        return "the address of the server is invalid"
    return f"the connection was lost ({type(error).__name__})"


def _is_about_a_name(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, socket.gaierror):
            return True
        error = error.__cause__ or error.__context__
    return False


def _is_about_a_certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _client(limits: HttpTimeouts) -> httpx.Client:
    import httpx

    _keep_quiet()
    return httpx.Client(
        verify=load_system_certificates(),
        timeout=httpx.Timeout(limits.piece, connect=limits.connect),
        follow_redirects=False,
        headers={"User-Agent": _program()},
    )


def _keep_quiet() -> None:
    """Keep the libraries from logging addresses."""
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _program() -> str:
    return f"agent-lifeboat/{read_release()}"


def load_system_certificates() -> ssl.SSLContext:
    """Return the system's store; that of `certifi` if Python was built without access to it."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if os.name != "nt" and paths.cafile is None and paths.capath is None:
        import certifi

        context.load_verify_locations(certifi.where())
    return context


def _followed(
    client: httpx.Client, method: Method, address: str, headers: Mapping[str, str], content: bytes | None
) -> HttpResponse:
    for _ in range(MOST_REDIRECTS + 1):
        with client.stream(method, address, headers=dict(headers), content=content) as answer:
            if answer.status_code not in _REDIRECTS:
                return HttpResponse(answer.status_code, _beginning(answer))
            if method != "GET" and answer.status_code not in _KEEPING_THE_BODY:
                raise AnsweredWithError(
                    "the server redirects the request in a way that would drop the sent data", status=answer.status_code
                )
            target = _leads_to(address, answer.headers.get("location"), answer.status_code)
        if urlsplit(target).netloc != urlsplit(address).netloc:
            headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
        address = target
    raise AnsweredWithError(
        f"the server redirected the request more than {MOST_REDIRECTS} times", status=answer.status_code
    )


def _leads_to(address: str, location: str | None, status: int) -> str:
    """Return where a redirect leads. Raises AnsweredWithError for an invalid target, and for another scheme."""
    target = urljoin(address, location) if location else ""
    if urlsplit(target).scheme != urlsplit(address).scheme:
        raise AnsweredWithError("the server redirects from https to http, or to another scheme", status=status)
    return target


def _beginning(answer: httpx.Response) -> bytes:
    found = bytearray()
    for piece in answer.iter_bytes():
        found += piece
        if len(found) >= LARGEST_ANSWER:
            break
    return bytes(found[:LARGEST_ANSWER])
