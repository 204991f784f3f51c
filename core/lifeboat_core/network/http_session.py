"""Many requests to one server: a base address, a bearer token that is sent nowhere else, kept connections, bodies from
files and into files.

A request may take as long as it makes progress: one without progress for `TransferPace.silence` seconds is ended. No
redirect is followed. A secret is never sent over plain HTTP except to this machine.
"""

from __future__ import annotations

import io
import os
import queue
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple, Protocol
from urllib.parse import urlencode

from lifeboat_core.errors import Cancelled, NetworkUnreachable, NotPrivate, NotTheOne
from lifeboat_core.network import http_addresses, http_certificates
from lifeboat_core.network.http_requests import HttpConnections, HttpTimeouts, StreamedHttpResponse
from lifeboat_core.system_refusals import convert_system_error

Progress = Callable[[int, int], None]
"""(bytes moved, bytes in all; 0 if that is unknown)"""

LARGEST_BODY = 64 * 1024 * 1024
"""Bytes of an answer that is kept in memory."""
LARGEST_REFUSAL = 64 * 1024
_PIECE = 256 * 1024
_AFTERWARDS = 1.0
"""Seconds. An abandoned request ends this much later by itself."""
_LOOK = 0.25
"""Seconds between two looks at the progress."""


@dataclass(frozen=True, slots=True)
class TransferPace:
    """Seconds to `connect`. In `silence` seconds at least `least` bytes have to move, or the answer has to arrive."""

    connect: float = 10.0
    silence: float = 60.0
    least: int = 1024


USUAL = TransferPace()


class BytesTarget(Protocol):
    """Where the body of an answer goes: a file, or what reads it as it arrives. An error of it ends the request."""

    def write(self, data: bytes, /) -> object: ...


class SessionReply(NamedTuple):
    """Names of headers are lower-case. `body` is empty if it went into a file; `size` counts its bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    size: int


class _SessionRequest(NamedTuple):
    method: str
    address: str
    headers: Mapping[str, str]
    content: bytes | Iterator[bytes] | None
    limits: HttpTimeouts


@dataclass(slots=True)
class _TransferJob:
    """One request under way, shared by the thread that makes it and the one that waits."""

    moved: int = 0
    total: int = 0
    abandoned: bool = False
    done: queue.SimpleQueue[SessionReply | Exception | None] = field(default_factory=queue.SimpleQueue)
    """The result; None when the request was cancelled."""


class HttpSession:
    """Requests below one address. `tls` None: the authorities of the system. `progress` is called in the waiting
    thread."""

    def __init__(
        self,
        base: str,
        *,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
        pace: TransferPace = USUAL,
        progress: Progress | None = None,
    ) -> None:
        """Raises NotPrivate. Nothing is sent."""
        host = http_addresses.parse_host(base)
        if http_addresses.is_plain_http(base) and not http_addresses.is_loopback(host):
            raise NotPrivate("plain HTTP is allowed only for a server on this machine")
        self._base = base.rstrip("/")
        self._token = token
        self._tls = tls
        self._around = not http_addresses.is_loopback(host)
        self._pace = pace
        self._connections: HttpConnections | None = None
        self._job: _TransferJob | None = None
        self.progress = progress

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes | BinaryIO | None = None,
        into: BytesTarget | None = None,
        most: int = LARGEST_BODY,
        patience: float = 0.0,
        within: float | None = None,
        needs_body: bool = True,
    ) -> SessionReply:
        """Make one request.

        `content` is sent from the current position of a file to its end. The body of a successful answer goes `into` a
        file if one is given; a body of more than `most` bytes is refused. `patience`: seconds that the server may take
        in addition to the pace; `within`: seconds for all of it. Without `needs_body`, an answer may end with the
        connection.

        Raises NetworkUnreachable (whether it arrived is unknown), NotTheOne, Cancelled, DiskFull, SystemRefused.
        """
        assert path.startswith("/")
        address = f"{self._base}{path}{'?' + urlencode(query) if query else ''}"
        job = self._job = _TransferJob()
        sent = {**self._authorization(), **(headers or {})}
        pieces, size = _from(content, job)
        if size is not None:
            sent["Content-Length"] = str(size)
            job.total = size
        silence = self._pace.silence + patience
        request = _SessionRequest(
            method, address, sent, pieces, HttpTimeouts(self._pace.connect, silence + _AFTERWARDS)
        )
        work = (self._opened(), request, into, most, needs_body, job)
        threading.Thread(target=_run, args=work, name="request", daemon=True).start()
        try:
            found = self._awaited(job, silence, within)
        except BaseException:
            job.abandoned = True
            self.close()
            raise
        finally:
            self._job = None
        if isinstance(found, Exception):
            raise found
        return found

    def cancel(self) -> None:
        """End what is under way with Cancelled; from any thread."""
        job = self._job
        if job is not None:
            job.done.put(None)

    def close(self) -> None:
        connections, self._connections = self._connections, None
        if connections is not None:
            connections.close()

    def _authorization(self) -> dict[str, str]:
        return {} if self._token is None else {"Authorization": f"Bearer {self._token}"}

    def _opened(self) -> HttpConnections:
        if self._connections is None:
            self._connections = HttpConnections(self._believed(), around=self._around)
        return self._connections

    def _believed(self) -> ssl.SSLContext:
        if http_addresses.is_plain_http(self._base):
            return http_certificates.disable_tls()
        if self._tls is None:
            self._tls = http_certificates.trust_system()
        return self._tls

    def _awaited(self, job: _TransferJob, silence: float, within: float | None) -> SessionReply | Exception:
        """Return the result of a request. Raises NetworkUnreachable without progress or in time, and Cancelled."""
        begun = time.monotonic()
        marked, since = 0, begun
        while True:
            try:
                found = job.done.get(timeout=min(_LOOK, silence))
            except queue.Empty:
                self._tell(job)
            else:
                if found is None:
                    raise Cancelled("the request was cancelled")
                self._tell(job)
                return found
            if within is not None and time.monotonic() - begun >= within:
                raise NetworkUnreachable(f"the request did not end within {within:.0f} seconds")
            if job.moved - marked >= self._pace.least:
                marked, since = job.moved, time.monotonic()
            elif time.monotonic() - since >= silence:
                raise NetworkUnreachable(f"no data was transferred for {silence:g} seconds")

    def _tell(self, job: _TransferJob) -> None:
        if self.progress is not None and job.moved:
            self.progress(job.moved, job.total)


# In the thread of a request -------------------------------------------------------------------------------------


def _run(
    connections: HttpConnections,
    request: _SessionRequest,
    into: BytesTarget | None,
    most: int,
    needs_body: bool,
    job: _TransferJob,
) -> None:
    try:
        with connections.answering(*request) as answer:
            job.done.put(_received(answer, into, most, job, bodiless=not needs_body or request.method == "HEAD"))
    except NetworkUnreachable as error:
        job.done.put(_explained(error))
    except OSError as error:  # an error of a file: what the network raises is NetworkUnreachable
        job.done.put(convert_system_error(error))
    except Exception as error:  # the waiting thread has to learn of it, whatever it is
        job.done.put(error)


def _explained(error: NetworkUnreachable) -> Exception:
    """Return a better error if a certificate or TLS is the problem: nothing was sent then."""
    why = http_certificates.explain_tls_failure(error.__cause__)
    return (
        error
        if why is None
        else NotTheOne(
            why or "the server's certificate was not signed by a certificate authority that this machine trusts"
        )
    )


def _received(
    answer: StreamedHttpResponse, into: BytesTarget | None, most: int, job: _TransferJob, *, bodiless: bool
) -> SessionReply:
    """Raises NetworkUnreachable for a body that is too long, or that may be truncated."""
    if not 200 <= answer.status < 300:
        return SessionReply(answer.status, answer.headers, _beginning(answer.pieces), 0)
    if answer.status != 204 and not answer.framed and not bodiless:
        raise NetworkUnreachable("the server's response does not state its length")
    memory = io.BytesIO()
    target: BytesTarget = memory if into is None else into
    if into is not None:
        job.total = job.moved + int(answer.headers.get("content-length") or 0)
    size = 0
    for piece in answer.pieces:
        size += len(piece)
        if size > most:
            raise NetworkUnreachable(f"the server's response is longer than the limit of {most} bytes")
        if job.abandoned:
            raise NetworkUnreachable("the request was cancelled")
        target.write(piece)
        job.moved += len(piece)
    return SessionReply(answer.status, answer.headers, memory.getvalue(), size)


def _beginning(pieces: Iterator[bytes]) -> bytes:
    found = bytearray()
    for piece in pieces:
        found += piece
        if len(found) > LARGEST_REFUSAL:
            break
    return bytes(found[:LARGEST_REFUSAL])


def _from(content: bytes | BinaryIO | None, job: _TransferJob) -> tuple[bytes | Iterator[bytes] | None, int | None]:
    """Return what is sent, and how many bytes that is. Progress counts what was handed over for sending."""
    if content is None or isinstance(content, bytes):
        return content, None
    start = content.tell()
    size = content.seek(0, os.SEEK_END) - start
    content.seek(start)
    return _pieces(content, size, job), size


def _pieces(file: BinaryIO, size: int, job: _TransferJob) -> Iterator[bytes]:
    while size > 0:
        piece = file.read(min(_PIECE, size))
        if not piece:
            raise OSError("the file was truncated while it was sent")
        size -= len(piece)
        yield piece
        job.moved += len(piece)
