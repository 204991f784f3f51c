"""Serving an endpoint on a port: granian's processes around the application, TLS 1.3, and their end.

The first process binds, watches the certificate and answers nothing itself; `workers` processes answer. On SIGTERM or
SIGINT they say for `drain` seconds that they are not ready, then take nothing new, finish what they have begun
(`finish` seconds at most) and end; a second signal ends the first wait. On SIGHUP, and when the certificate is renewed,
new ones take their place first.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from granian import Granian
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels

from lifeboat_alf.seams.clock import SystemClock
from lifeboat_alf.seams.files import SystemFiles
from lifeboat_endpoint.errors import CannotServe, PortTaken
from lifeboat_endpoint.server import limiting, logs, metrics, names, tls
from lifeboat_endpoint.server.app import make_app
from lifeboat_endpoint.server.draining import Draining, Flag
from lifeboat_endpoint.server.settings import Pace, ServerSettings
from lifeboat_endpoint.server.tls import Authority, Certificate
from lifeboat_keys.hardening import no_core_dumps

RUN_FOLDER = "run"
_LOOKS = 3600.0
"""Seconds between two looks at the certificate."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How an endpoint is to be served. `host` and `port` to listen on, 0 for any port. `certificate` and `key` are
    files in PEM; without them, and without `plain`, the endpoint's own authority signs one for all `names`. `drain` and
    `finish` in seconds."""

    folder: Path
    host: str = "0.0.0.0"
    port: int = 8443
    plain: bool = False
    public_url: str | None = None
    workers: int = 1
    certificate: Path | None = None
    key: Path | None = None
    names: tuple[str, ...] = ()
    drain: float = 0.0
    finish: int = 10
    pace: Pace = field(default_factory=Pace)


@dataclass(frozen=True, slots=True)
class Served:
    """Where an endpoint answers: `url` for clients, `pin` of its own authority or ""."""

    url: str
    pin: str
    host: str
    port: int


def serve(wanted: Wanted, started: Callable[[Served], None]) -> None:
    """Serve until a signal says stop. `started` is called once it answers, in a thread of its own.

    Raises CannotServe, PortTaken before anything is served; SystemExit(1) when a process of it died.
    """
    logs.to_standard_error()
    check(wanted)
    port = _free_port(wanted)
    public_url = _public_url(wanted, port)
    certificate = _certificate(wanted, public_url)
    served = Served(public_url, certificate.pin if certificate else "", wanted.host, port)
    limits = limiting.share(wanted.folder / RUN_FOLDER / "limits") if wanted.workers > 1 else None
    authority = certificate.authority if certificate else b""
    settings = ServerSettings(public_url, authority, served.pin, wanted.pace, limits=limits)
    metrics.share(wanted.folder / RUN_FOLDER / "metrics")
    server, draining = _server(wanted, port, certificate), Flag()
    server.signal_handler_interrupt = Draining(server.signal_handler_interrupt, wanted.drain, draining).signalled
    watcher = _Watcher(wanted, public_url, certificate, server)
    server.on_startup(lambda: _thread("started", lambda: _say_when_it_answers(served, started)))
    server.on_startup(watcher.start)
    load = partial(_load, os.path.realpath(wanted.folder), settings, draining, wanted.finish)
    try:
        server.serve(target_loader=load, wrap_loader=False)
    finally:
        watcher.stop()


def _server(wanted: Wanted, port: int, certificate: Certificate | None) -> Any:
    """An application is made in each process that answers; a name that leads to none stands in for it here."""
    return Granian(
        "lifeboat",
        address=wanted.host,
        port=port,
        interface=Interfaces.ASGI,
        workers=wanted.workers,
        http=HTTPModes.auto,
        websockets=False,
        backlog=1024,
        log_level=LogLevels.error,
        workers_kill_timeout=wanted.finish,
        ssl_cert=certificate.certificate if certificate else None,
        ssl_key=certificate.key if certificate else None,
    )


def _load(folder: str, settings: ServerSettings, draining: Flag, finish: int) -> Any:
    """In a process that answers. It holds keys and what people wrote, so it leaves no core dump."""
    no_core_dumps()
    logs.to_standard_error()
    _thread("parent", partial(_end_with_parent, finish))
    return make_app(Path(folder), settings, draining=draining)


def _end_with_parent(finish: int) -> None:
    """Whoever answers for nobody ends: a port that is held would keep the next start from it. A process that is just
    being made does not hear a signal yet."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    parent.join()
    for _ in range(5 * finish):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)
    os._exit(1)


# Where and as what ----------------------------------------------------------------------------------------------------


def check(wanted: Wanted) -> None:
    """Whether the options go together. Raises CannotServe."""
    if wanted.plain and not names.is_loopback(wanted.host):
        raise CannotServe(
            f"without TLS it listens on this machine only, not on {wanted.host}",
            fix="lifeboat endpoint serve --plain-http --listen 127.0.0.1:8080 --data DIR",
        )
    if wanted.plain and (wanted.certificate or wanted.key or wanted.names):
        raise CannotServe("--plain-http goes with neither --certificate, --key nor --name")
    if (wanted.certificate is None) != (wanted.key is None):
        raise CannotServe("--certificate and --key belong together")
    if wanted.workers < 1:
        raise CannotServe("at least one process answers")


def _free_port(wanted: Wanted) -> int:
    """The port, or a free one for 0. Found out by binding it alone: servers that share a port share its requests."""
    family = socket.AF_INET6 if ":" in wanted.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((wanted.host, wanted.port))
        except OSError as error:
            raise _not_bound(wanted, error) from None
        return int(probe.getsockname()[1])


def _not_bound(wanted: Wanted, error: OSError) -> CannotServe:
    where = f"{wanted.host}:{wanted.port}"
    if isinstance(error, PermissionError):
        return CannotServe(f"this user may not listen on {where}", fix="choose a port above 1023")
    if error.errno == errno.EADDRINUSE:
        return PortTaken(f"another program listens on {where}", fix="--listen with another port, or end that program")
    return CannotServe(f"it cannot listen on {where}: {error.strerror or error}")


def _public_url(wanted: Wanted, port: int) -> str:
    if wanted.public_url is not None:
        return names.checked_url(wanted.public_url, plain=wanted.plain)
    host = "127.0.0.1" if wanted.plain and wanted.host == "localhost" else names.guessed_host(wanted.host)
    return names.url("http" if wanted.plain else "https", host, port)


def _certificate(wanted: Wanted, public_url: str) -> Certificate | None:
    if wanted.plain:
        return None
    if wanted.certificate is not None and wanted.key is not None:
        return _given(wanted.certificate, wanted.key)
    wanted_names = names.certificate_names(wanted.host, public_url, wanted.names)
    try:
        return _authority(wanted).certificate(wanted_names)
    except OSError as error:
        raise CannotServe(f"{wanted.folder / tls.FOLDER}: {error.strerror or error}") from None


def _authority(wanted: Wanted) -> Authority:
    return Authority(wanted.folder / tls.FOLDER, files=SystemFiles(), clock=SystemClock())


def _given(certificate: Path, key: Path) -> Certificate:
    """Checked here: a process that answers could only die of it. Raises CannotServe."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        if b"BEGIN PRIVATE KEY" not in key.read_bytes():
            raise CannotServe(f"{key} is no PKCS#8 key", fix=f"openssl pkcs8 -topk8 -nocrypt -in {key} -out KEY")
    except ssl.SSLError as error:
        raise CannotServe(f"{certificate} and {key} are no certificate and its key: {error.reason}") from None
    except OSError as error:
        raise CannotServe(f"{error.filename or certificate}: {error.strerror or error}") from None
    return Certificate(certificate, key)


# While it runs --------------------------------------------------------------------------------------------------------


class _Watcher:
    """Renews the own certificate before it ends, and has a new one, also a given one, served."""

    def __init__(self, wanted: Wanted, public_url: str, certificate: Certificate | None, server: Any) -> None:
        self._wanted = wanted
        self._public_url = public_url
        self._certificate = certificate
        self._server = server
        self._stopped = threading.Event()
        self._seen = self._digest()

    def start(self) -> None:
        if self._certificate is not None:
            _thread("certificate", self._run)

    def stop(self) -> None:
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(_LOOKS):
            with contextlib.suppress(OSError, CannotServe):
                self.look()

    def look(self) -> None:
        """Serve what lies there now, if it is another one than before."""
        _certificate(self._wanted, self._public_url)
        found = self._digest()
        if found != self._seen:
            self._seen = found
            self._server.signal_handler_reload()

    def _digest(self) -> bytes:
        if self._certificate is None:
            return b""
        data = self._certificate.certificate.read_bytes() + self._certificate.key.read_bytes()
        return hashlib.sha256(data).digest()


def _say_when_it_answers(served: Served, started: Callable[[Served], None]) -> None:
    """Connections are taken once a process has made its application."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(served.host, served.host)
    while True:
        with contextlib.suppress(OSError), socket.create_connection((host, served.port), timeout=1.0):
            break
        time.sleep(0.02)
    started(served)


def _thread(name: str, work: Callable[[], None]) -> None:
    threading.Thread(target=work, name=name, daemon=True).start()


__all__ = ["Served", "Wanted", "check", "names", "serve"]
