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
    """Where an endpoint is reached: `url` for clients, `pin` of the endpoint's authority or ""."""

    url: str
    pin: str
    host: str
    port: int


def serve_endpoint(
    options: ServeOptions,
    listener: socket.socket,
    started: Callable[[ServedEndpoint], None],
    is_well: Callable[[], None] = lambda: None,
) -> None:
    """Serve on a socket of `open_listener` until a signal. `started` is called in a thread once all processes answer,
    `is_well` about twice a second while all of them do.

    Raises CannotServe before anything is served; SystemExit(1) when a process died.
    """
    server_log.to_standard_error()
    with listener:
        port = int(listener.getsockname()[1])
        public_url = _public_url(options, port)
        certificate = _certificate(options, public_url)
        served = ServedEndpoint(public_url, certificate.pin if certificate else "", options.host, port)
        # A single process needs no shared limits.
        limits = rate_limiting.share_limits(options.folder / RUN_FOLDER / "limits") if options.workers > 1 else None
        authority = certificate.authority if certificate else b""
        settings = ServerSettings(public_url, authority, served.pin, options.pace, limits=limits)
        server_metrics.share_metrics(options.folder / RUN_FOLDER / "metrics")
        processes = _ProcessStarter(options, settings, listener, certificate, _bounds(options), SharedFlag())
        supervisor = ProcessSupervisor(
            processes.start,
            options.workers,
            options.finish,
            lambda: _thread("started", lambda: started(served)),
            is_well,
            forget=lambda process: server_metrics.forget_process(process.pid),
        )
        watcher = _CertificateWatcher(options, public_url, certificate, supervisor)
        with _signals(supervisor, Draining(supervisor.interrupt, options.drain, processes.draining)):
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

    options: ServeOptions
    settings: ServerSettings
    listener: socket.socket
    certificate: ServedCertificate | None
    bounds: ConnectionBounds
    draining: SharedFlag

    def start(self, probe: socket.socket) -> Any:
        certificate = self.certificate
        setup = ServingSetup(
            self.listener,
            probe,
            self.bounds,
            self.options.finish,
            str(certificate.certificate) if certificate else None,
            str(certificate.key) if certificate else None,
        )
        arguments = (os.path.realpath(self.options.folder), self.settings, self.draining, setup)
        process = start_method().Process(target=_serve_in_process, args=arguments, name="answers")
        process.start()
        return process


def _serve_in_process(folder: str, settings: ServerSettings, draining: SharedFlag, setup: ServingSetup) -> None:
    """Serve, in a serving process. It holds keys and users' data, so it leaves no core dump."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    disable_core_dumps()
    raise_descriptor_limit()
    server_log.to_standard_error()
    _thread("parent", lambda: _end_with_parent(setup.finish))
    serve_until_terminated(make_app(Path(folder), settings, draining=draining), setup)


def _bounds(options: ServeOptions) -> ConnectionBounds:
    """Return the share of one process. All processes together accept no more than the configured connections, in all
    and of one address, and descriptors are left for files."""
    total, room = options.bounds.total // options.workers, descriptors_for_connections(raise_descriptor_limit())
    if total > room:
        server_log.LOGGER.warning(
            "a process accepts at most %d connections, because the system limits its file descriptors", room
        )
    asked = options.bounds.per_address
    per_address = max(asked // options.workers, min(asked, _LEAST_PER_ADDRESS))
    return replace(options.bounds, total=max(1, min(total, room)), per_address=per_address)


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


def open_listener(options: ServeOptions) -> socket.socket:
    """Return the socket on which all processes accept, after everything that can be checked without an endpoint.

    Raises CannotServe, PortTaken. Nothing has been created then.
    """
    _check_options(options)
    try:
        return _bind(options, options.port)
    except OSError as error:
        raise _not_bound(options, error) from None


def _check_options(options: ServeOptions) -> None:
    """Check that the options fit together, and that the given certificate can be used. Raises CannotServe."""
    if options.plain and not server_names.is_loopback(options.host):
        raise CannotServe(
            "--plain-http sends everything unencrypted, so the server may listen only on this "
            f"machine, not on {options.host}",
            fix="lifeboat endpoint serve --plain-http --listen 127.0.0.1:8080 --data DIR",
        )
    if options.plain and (options.certificate or options.key or options.names):
        raise CannotServe("--plain-http cannot be combined with --certificate, --key or --name")
    if (options.certificate is None) != (options.key is None):
        raise CannotServe("--certificate and --key must be given together")
    if options.workers < 1:
        raise CannotServe("--workers must be at least 1")
    if options.public_url is not None:
        server_names.check_url(options.public_url, plain=options.plain)
    if options.certificate is not None and options.key is not None:
        _given(options.certificate, options.key)


def _bind(options: ServeOptions, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.host, port))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def _not_bound(options: ServeOptions, error: OSError) -> CannotServe:
    where = f"{options.host}:{options.port}"
    if isinstance(error, PermissionError):
        return CannotServe(f"your user has no permission to listen on {where}", fix=_on_free_port(options, 8443))
    if error.errno == errno.EADDRINUSE:
        return PortTaken(f"another program already listens on {where}", fix=_on_free_port(options, options.port + 1))
    return CannotServe(f"the server cannot listen on {where}: {error.strerror or error}")


def _on_free_port(options: ServeOptions, first: int) -> str:
    """Return the command that serves on the first port from `first` on that is free now."""
    port = next((each for each in range(first, min(first + 100, 65536)) if _is_free(options, each)), 0)
    host = f"[{options.host}]" if ":" in options.host else options.host
    plain = " --plain-http" if options.plain else ""
    return f"lifeboat endpoint serve{plain} --listen {host}:{port} --data DIR"


def _is_free(options: ServeOptions, port: int) -> bool:
    try:
        _bind(options, port).close()
    except OSError:
        return False
    return True


def _public_url(options: ServeOptions, port: int) -> str:
    if options.public_url is not None:
        return server_names.check_url(options.public_url, plain=options.plain)
    host = "127.0.0.1" if options.plain and options.host == "localhost" else server_names.guess_host(options.host)
    return server_names.make_url("http" if options.plain else "https", host, port)


def _certificate(options: ServeOptions, public_url: str) -> ServedCertificate | None:
    if options.plain:
        return None
    if options.certificate is not None and options.key is not None:
        return _given(options.certificate, options.key)
    wanted_names = server_names.certificate_names(options.host, public_url, options.names)
    try:
        return _authority(options).certificate(wanted_names)
    except OSError as error:
        raise CannotServe(f"{options.folder / tls.FOLDER}: {error.strerror or error}") from None


def _authority(options: ServeOptions) -> CertificateAuthority:
    return CertificateAuthority(options.folder / tls.FOLDER, files=SystemFiles(), clock=SystemClock())


def _given(certificate: Path, key: Path) -> ServedCertificate:
    """Return the given certificate. It is checked in the first process, because a serving process could only exit.

    Raises CannotServe.
    """
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        if b"BEGIN PRIVATE KEY" not in key.read_bytes():
            raise CannotServe(
                f"{key} is not a private key in PKCS#8 format", fix=f"openssl pkcs8 -topk8 -nocrypt -in {key} -out KEY"
            )
    except ssl.SSLError as error:
        raise CannotServe(f"{certificate} and {key} are not a matching certificate and key: {error.reason}") from None
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
        self, options: ServeOptions, public_url: str, certificate: ServedCertificate | None, server: Reloadable
    ) -> None:
        self._options = options
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
        _certificate(self._options, self._public_url)
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
    "connections",
    "open_listener",
    "serve_endpoint",
    "server_names",
]
