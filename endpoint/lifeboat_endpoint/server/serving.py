"""Serving an endpoint on a port.

The first process binds the port and watches the certificate and the processes; `workers` processes serve requests. On
SIGTERM or SIGINT they report for `drain` seconds that they are not ready, then accept nothing new, finish running
requests (`finish` seconds at most) and end. A second signal ends the first wait. On SIGHUP, and when the certificate is
renewed, new processes replace the old ones.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_endpoint.server import connections, server_log, server_metrics, server_names, tls
from lifeboat_endpoint.server.asgi_app import make_app
from lifeboat_endpoint.server.connections import ConnectionBounds
from lifeboat_endpoint.server.descriptor_limit import descriptors_for_connections, raise_descriptor_limit
from lifeboat_endpoint.server.draining import Draining, SharedFlag
from lifeboat_endpoint.server.http_server import ServingSetup, serve_until_terminated
from lifeboat_endpoint.server.process_supervisor import ProcessSupervisor, start_method
from lifeboat_endpoint.server.rates import rate_limiting
from lifeboat_endpoint.server.server_settings import ServerPace, ServerSettings
from lifeboat_endpoint.server.tls import CertificateAuthority, ServedCertificate
from lifeboat_keys.hardening import disable_core_dumps
from lifeboat_vault.errors import CannotServe, PortTaken

RUN_FOLDER = "run"
_LOOKS = 3600.0
"""Seconds between two checks of the certificate."""
_LEAST_PER_ADDRESS = 4
"""Connections of one address that each process accepts at least. A client opens several at once, and the system may
give all of them to one process."""
_BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How to serve an endpoint.

    `host` and `port` to listen on, 0 for any port. `certificate` and `key` are files in PEM; without them, and without
    `plain`, the endpoint's own authority signs a certificate for all `names`. `drain` and `finish` in seconds.
    """

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
    pace: ServerPace = field(default_factory=ServerPace)
    bounds: ConnectionBounds = field(default_factory=ConnectionBounds)


@dataclass(frozen=True, slots=True)
class ServedEndpoint:
    """Where an endpoint is reached: `url` for clients, `pin` of its own authority or ""."""

    url: str
    pin: str
    host: str
    port: int


def serve_endpoint(
    wanted: ServeOptions, started: Callable[[ServedEndpoint], None], is_well: Callable[[], None] = lambda: None
) -> None:
    """Serve until a signal. `started` is called in a thread once all processes answer, `is_well` about twice a second
    while all of them do.

    Raises CannotServe, PortTaken before anything is served; SystemExit(1) when a process died.
    """
    server_log.to_standard_error()
    check_options(wanted)
    with _listener(wanted) as listener:
        port = int(listener.getsockname()[1])
        public_url = _public_url(wanted, port)
        certificate = _certificate(wanted, public_url)
        served = ServedEndpoint(public_url, certificate.pin if certificate else "", wanted.host, port)
        # A single process needs no shared limits.
        limits = rate_limiting.share_limits(wanted.folder / RUN_FOLDER / "limits") if wanted.workers > 1 else None
        authority = certificate.authority if certificate else b""
        settings = ServerSettings(public_url, authority, served.pin, wanted.pace, limits=limits)
        server_metrics.share_metrics(wanted.folder / RUN_FOLDER / "metrics")
        processes = _ProcessStarter(wanted, settings, listener, certificate, _bounds(wanted), SharedFlag())
        supervisor = ProcessSupervisor(
            processes.start,
            wanted.workers,
            wanted.finish,
            lambda: _thread("started", lambda: started(served)),
            is_well,
            forget=lambda process: server_metrics.forget_process(process.pid),
        )
        watcher = _CertificateWatcher(wanted, public_url, certificate, supervisor)
        with _signals(supervisor, Draining(supervisor.interrupt, wanted.drain, processes.draining)):
            watcher.start()
            try:
                whole = supervisor.run()
            finally:
                watcher.stop()
    if not whole:
        raise SystemExit(1)


@dataclass(frozen=True, slots=True)
class _ProcessStarter:
    """Starts serving processes."""

    wanted: ServeOptions
    settings: ServerSettings
    listener: socket.socket
    certificate: ServedCertificate | None
    bounds: ConnectionBounds
    draining: SharedFlag

    def start(self, probe: socket.socket) -> Any:
        certificate = self.certificate
        answering = ServingSetup(
            self.listener,
            probe,
            self.bounds,
            self.wanted.finish,
            str(certificate.certificate) if certificate else None,
            str(certificate.key) if certificate else None,
        )
        arguments = (os.path.realpath(self.wanted.folder), self.settings, self.draining, answering)
        process = start_method().Process(target=_answer, args=arguments, name="answers")
        process.start()
        return process


def _answer(folder: str, settings: ServerSettings, draining: SharedFlag, answering: ServingSetup) -> None:
    """Serve, in a serving process. It holds keys and users' data, so it leaves no core dump."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    disable_core_dumps()
    raise_descriptor_limit()
    server_log.to_standard_error()
    _thread("parent", lambda: _end_with_parent(answering.finish))
    serve_until_terminated(make_app(Path(folder), settings, draining=draining), answering)


def _bounds(wanted: ServeOptions) -> ConnectionBounds:
    """Return the share of one process. All processes together accept no more than the configured connections, in all
    and of one address, and descriptors are left for files."""
    total, room = wanted.bounds.total // wanted.workers, descriptors_for_connections(raise_descriptor_limit())
    if total > room:
        server_log.LOGGER.warning("%d connections at most in a process: more descriptors are not allowed to it", room)
    asked = wanted.bounds.per_address
    per_address = max(asked // wanted.workers, min(asked, _LEAST_PER_ADDRESS))
    return replace(wanted.bounds, total=max(1, min(total, room)), per_address=per_address)


@contextlib.contextmanager
def _signals(supervisor: ProcessSupervisor, draining: Draining) -> Iterator[None]:
    """End the server on SIGTERM and SIGINT, and replace its processes on SIGHUP."""
    handlers: dict[int, Any] = {signal.SIGTERM: draining.signalled, signal.SIGINT: draining.signalled}
    if hasattr(signal, "SIGHUP"):
        handlers[signal.SIGHUP] = lambda *_: supervisor.reload()
    former = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _end_with_parent(finish: float) -> None:
    """End this process when the first one has died: an occupied port would prevent the next start.

    A process that is still starting does not receive a signal yet, so it is repeated.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    parent.join()
    for _ in range(int(5 * finish)):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)
    os._exit(1)


# Address and certificate ----------------------------------------------------------------------------------------------


def check_options(wanted: ServeOptions) -> None:
    """Check that the options fit together. Raises CannotServe."""
    if wanted.plain and not server_names.is_loopback(wanted.host):
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


def _listener(wanted: ServeOptions) -> socket.socket:
    """Return the socket on which all processes accept. Raises CannotServe, PortTaken."""
    family = socket.AF_INET6 if ":" in wanted.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((wanted.host, wanted.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _not_bound(wanted, error) from None
    return listener


def _not_bound(wanted: ServeOptions, error: OSError) -> CannotServe:
    where = f"{wanted.host}:{wanted.port}"
    if isinstance(error, PermissionError):
        return CannotServe(f"this user may not listen on {where}", fix="choose a port above 1023")
    if error.errno == errno.EADDRINUSE:
        return PortTaken(f"another program listens on {where}", fix="--listen with another port, or end that program")
    return CannotServe(f"it cannot listen on {where}: {error.strerror or error}")


def _public_url(wanted: ServeOptions, port: int) -> str:
    if wanted.public_url is not None:
        return server_names.check_url(wanted.public_url, plain=wanted.plain)
    host = "127.0.0.1" if wanted.plain and wanted.host == "localhost" else server_names.guess_host(wanted.host)
    return server_names.make_url("http" if wanted.plain else "https", host, port)


def _certificate(wanted: ServeOptions, public_url: str) -> ServedCertificate | None:
    if wanted.plain:
        return None
    if wanted.certificate is not None and wanted.key is not None:
        return _given(wanted.certificate, wanted.key)
    wanted_names = server_names.certificate_names(wanted.host, public_url, wanted.names)
    try:
        return _authority(wanted).certificate(wanted_names)
    except OSError as error:
        raise CannotServe(f"{wanted.folder / tls.FOLDER}: {error.strerror or error}") from None


def _authority(wanted: ServeOptions) -> CertificateAuthority:
    return CertificateAuthority(wanted.folder / tls.FOLDER, files=SystemFiles(), clock=SystemClock())


def _given(certificate: Path, key: Path) -> ServedCertificate:
    """Return the given certificate. It is checked in the first process, because a serving process could only exit.

    Raises CannotServe.
    """
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        if b"BEGIN PRIVATE KEY" not in key.read_bytes():
            raise CannotServe(f"{key} is no PKCS#8 key", fix=f"openssl pkcs8 -topk8 -nocrypt -in {key} -out KEY")
    except ssl.SSLError as error:
        raise CannotServe(f"{certificate} and {key} are no certificate and its key: {error.reason}") from None
    except OSError as error:
        raise CannotServe(f"{error.filename or certificate}: {error.strerror or error}") from None
    return ServedCertificate(certificate, key)


# Renewal --------------------------------------------------------------------------------------------------------------


class Reloadable(Protocol):
    """A server that uses another certificate after `reload`."""

    def reload(self) -> None: ...


class _CertificateWatcher:
    """Renews the endpoint's own certificate in time, and reloads the server when a certificate changed, also a given
    one."""

    def __init__(
        self, wanted: ServeOptions, public_url: str, certificate: ServedCertificate | None, server: Reloadable
    ) -> None:
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
        """Reload the server if the certificate has changed."""
        _certificate(self._wanted, self._public_url)
        found = self._digest()
        if found != self._seen:
            self._seen = found
            self._server.reload()

    def _digest(self) -> bytes:
        if self._certificate is None:
            return b""
        data = self._certificate.certificate.read_bytes() + self._certificate.key.read_bytes()
        return hashlib.sha256(data).digest()


def _thread(name: str, work: Callable[[], None]) -> None:
    threading.Thread(target=work, name=name, daemon=True).start()


__all__ = [
    "ConnectionBounds",
    "ServeOptions",
    "ServedEndpoint",
    "check_options",
    "connections",
    "serve_endpoint",
    "server_names",
]
