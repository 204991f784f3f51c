"""Many requests to one other side: a base address, a bearer token that goes nowhere else, connections that are kept,
bodies from files and into files.

A request may take as long as it moves: one that does not get on for `TransferPace.silence` seconds is ended. No
redirect is followed. A secret never travels over plain HTTP but to this machine itself.
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
from typing import BinaryIO, NamedTuple
from urllib.parse import urlencode

from lifeboat_core.errors import Cancelled, NetworkUnreachable, NotPrivate, NotTheOne
from lifeboat_core.network import http_addresses, http_certificates
from lifeboat_core.network.http_requests import HttpConnections, HttpTimeouts, StreamedHttpResponse
from lifeboat_core.system_refusals import convert_system_error

Progress = Callable[[int, int], None]
"""(bytes moved, bytes in all; 0 where nobody knows yet)"""

LARGEST_BODY = 64 * 1024 * 1024
"""Bytes of an answer that is kept in memory."""
LARGEST_REFUSAL = 64 * 1024
_PIECE = 256 * 1024
_AFTERWARDS = 1.0
"""Seconds. By itself a request that nobody waits for any more ends a little later."""
_LOOK = 0.25
"""Seconds between two looks at how far it is."""


@dataclass(frozen=True, slots=True)
class TransferPace:
    """Seconds to `connect`. `silence`: in so many seconds at least `least` bytes have to move, or the answer come."""

    connect: float = 10.0
    silence: float = 60.0
    least: int = 1024


USUAL = TransferPace()


class SessionReply(NamedTuple):
    """Names of headers are small. `body` is empty where it went into a file; `size` counts its bytes."""

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
    """One request on its way, between who does it and who waits."""

    moved: int = 0
    total: int = 0
    abandoned: bool = False
    done: queue.SimpleQueue[SessionReply | Exception | None] = field(default_factory=queue.SimpleQueue)
    """What it came to; None when somebody stops it."""


class HttpSession:
    """Requests below one address. `tls` None: what the system trusts. `progress` is told how far a body is, in the
    thread that waits for it."""

    def __init__(
        self,
        base: str,
        *,
        token: str | None = None,
        tls: ssl.SSLContext | None = None,
        pace: TransferPace = USUAL,
        progress: Progress | None = None,
    ) -> None:
        """Raises NotPrivate. Nobody is spoken to."""
        host = http_addresses.parse_host(base)
        if http_addresses.is_plain_http(base) and not http_addresses.is_loopback(host):
            raise NotPrivate("plain HTTP is for this machine only")
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
        into: BinaryIO | None = None,
        most: int = LARGEST_BODY,
        patience: float = 0.0,
    ) -> SessionReply:
        """One request. `content` is sent from where a file stands to its end. The body of an answer that says yes goes
        `into` a file where one is given; one of more than `most` bytes is refused. `patience`: seconds that the other
        side may take beyond the pace.

        Raises Unreachable (whether it arrived is not known), NotTheOne, Cancelled, DiskFull, SystemRefused.
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
        work = (self._opened(), request, into, most, job)
        threading.Thread(target=_run, args=work, name="request", daemon=True).start()
        try:
            found = self._awaited(job, silence)
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

    def _awaited(self, job: _TransferJob, silence: float) -> SessionReply | Exception:
        """What the request came to. Raises Unreachable when it does not get on, and Cancelled."""
        marked, since = 0, time.monotonic()
        while True:
            try:
                found = job.done.get(timeout=min(_LOOK, silence))
            except queue.Empty:
                self._tell(job)
            else:
                if found is None:
                    raise Cancelled("somebody stopped it")
                self._tell(job)
                return found
            if job.moved - marked >= self._pace.least:
                marked, since = job.moved, time.monotonic()
            elif time.monotonic() - since >= silence:
                raise NetworkUnreachable(f"nothing moved for {silence:g} seconds")

    def _tell(self, job: _TransferJob) -> None:
        if self.progress is not None and job.moved:
            self.progress(job.moved, job.total)


# In the thread of a request -------------------------------------------------------------------------------------


def _run(
    connections: HttpConnections, request: _SessionRequest, into: BinaryIO | None, most: int, job: _TransferJob
) -> None:
    try:
        with connections.answering(*request) as answer:
            job.done.put(_received(answer, into, most, job, bodiless=request.method == "HEAD"))
    except NetworkUnreachable as error:
        job.done.put(_explained(error))
    except OSError as error:  # of a file: what the network raises is Unreachable
        job.done.put(convert_system_error(error))
    except Exception as error:  # whoever waits has to hear of it, whatever it is
        job.done.put(error)


def _explained(error: NetworkUnreachable) -> Exception:
    """The same, said better where a certificate or TLS is the trouble: nothing was sent then."""
    why = http_certificates.explain_tls_failure(error.__cause__)
    return error if why is None else NotTheOne(why or "nobody whom this machine believes vouches for its certificate")


def _received(
    answer: StreamedHttpResponse, into: BinaryIO | None, most: int, job: _TransferJob, *, bodiless: bool
) -> SessionReply:
    """Raises Unreachable for a body that is too long, or of which nobody can tell whether it is whole."""
    if not 200 <= answer.status < 300:
        return SessionReply(answer.status, answer.headers, _beginning(answer.pieces), 0)
    if answer.status != 204 and not answer.framed and not bodiless:
        raise NetworkUnreachable("nobody can tell where its answer ends")
    memory = io.BytesIO()
    target = memory if into is None else into
    if into is not None:
        job.total = job.moved + int(answer.headers.get("content-length") or 0)
    size = 0
    for piece in answer.pieces:
        size += len(piece)
        if size > most:
            raise NetworkUnreachable(f"its answer is longer than {most} bytes")
        if job.abandoned:
            raise NetworkUnreachable("nobody waits for the answer any more")
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
    """What is sent, and how many bytes that is. Progress counts what was taken to be sent."""
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
            raise OSError("the file became shorter while it was sent")
        size -= len(piece)
        yield piece
        job.moved += len(piece)
