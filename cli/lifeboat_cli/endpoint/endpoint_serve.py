"""`lifeboat endpoint serve`: the server itself."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.endpoint.endpoint_join_line import print_join_line, save_server_address
from lifeboat_cli.endpoint.endpoint_session import EndpointSession, endpoint_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_daemon.units import systemd_notify

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint import Endpoint
    from lifeboat_endpoint.server.serving import ServedEndpoint

FIRST_TENANT, FIRST_TOKEN = "home", "first"
_LISTEN = "0.0.0.0:8443"
_LISTEN_PLAIN = "127.0.0.1:8080"
_EXTRA = ("httptools", "prometheus_client", "starlette", "uvicorn", "uvloop")
_FED_EVERY = 5.0
"""Seconds between two notifications of the service manager's watchdog."""
DEFAULT_TOTAL, DEFAULT_PER_ADDRESS = 1000, 100
FILE = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class _JoinToken:
    """A token whose join line this start prints. `is_repeated`: it is the first token, which is still unused."""

    tenant: str
    secret: str
    made_endpoint: bool = False
    is_repeated: bool = False


@click.command(
    short_help="Serve the endpoint in DIR until Ctrl-C.",
    epilog=format_examples(
        "lifeboat endpoint serve --data /srv/lifeboat",
        "lifeboat endpoint serve --join home --data /srv/lifeboat",
        "lifeboat endpoint serve --public-url https://lifeboat.example.com --data /srv/lifeboat",
        "lifeboat endpoint serve --plain-http --listen 127.0.0.1:8080 --data /srv/lifeboat",
    ),
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help=f"Listen on this address. [default: {_LISTEN}, with --plain-http {_LISTEN_PLAIN}]",
)
@click.option("--plain-http", is_flag=True, help="Serve without TLS. Only programs on this machine can then connect.")
@click.option("--public-url", metavar="URL", help="Public URL of this endpoint, if it differs from --listen.")
@click.option(
    "--name", "names", multiple=True, metavar="HOST", help="Additional host name for the certificate (repeatable)."
)
@click.option(
    "--certificate",
    type=FILE,
    metavar="FILE",
    help="TLS certificate with its chain (PEM). [default: signed by the endpoint itself]",
)
@click.option(
    "--key", type=FILE, metavar="FILE", help="Private key of the certificate given with --certificate (PEM, PKCS#8)."
)
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Number of server processes.")
@click.option(
    "--drain",
    type=click.FloatRange(0, 3600),
    default=0.0,
    metavar="SECONDS",
    help="After SIGTERM, answer health checks with `not ready` for this long, then refuse new requests. [default: 0]",
)
@click.option(
    "--finish",
    type=click.IntRange(1, 3600),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="Time that running requests have to finish after SIGTERM.",
)
@click.option(
    "--max-connections",
    type=click.IntRange(16, 60_000),
    default=DEFAULT_TOTAL,
    show_default=True,
    metavar="N",
    help="Maximum number of open connections in all server processes together.",
)
@click.option(
    "--max-connections-per-address",
    type=click.IntRange(1, 60_000),
    default=DEFAULT_PER_ADDRESS,
    show_default=True,
    metavar="N",
    help="Maximum number of open connections per client address, in all server processes together.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Address or network of a load balancer, for which --max-connections-per-address does not apply (repeatable).",
)
@click.option("--join", metavar="TENANT", help="Create a token for this tenant and print its join line.")
@endpoint_command
def serve(
    session: EndpointSession,
    listen: str | None,
    plain_http: bool,
    public_url: str | None,
    names: tuple[str, ...],
    certificate: Path | None,
    key: Path | None,
    workers: int,
    drain: float,
    finish: int,
    max_connections: int,
    max_connections_per_address: int,
    proxies: tuple[str, ...],
    join: str | None,
) -> None:
    """Serve the endpoint in DIR until Ctrl-C. If DIR is empty, create an endpoint with the tenant `home`, and print
    the join line that `lifeboat remote add NAME` asks for. Until the tenant is used for the first time, each start
    prints that line again.

    Without --certificate the endpoint signs its own certificate. Clients recognise it by the pin in the join line.
    """
    with _server_required():
        from lifeboat_endpoint.server import connections, server_names, serving
    host, port = server_names.parse_listen(listen or (_LISTEN_PLAIN if plain_http else _LISTEN))
    wanted = serving.ServeOptions(
        session.data,
        host,
        port,
        plain_http,
        public_url,
        workers,
        certificate,
        key,
        tuple(names),
        drain=drain,
        finish=finish,
        bounds=connections.ConnectionBounds(
            max_connections, max_connections_per_address, connections.parse_proxies(proxies)
        ),
    )
    # Bind first: a start that fails because the port is taken must leave no endpoint behind.
    with serving.open_listener(wanted) as listener:
        new = _token(session, join)
        serving.serve_endpoint(wanted, listener, lambda served: _say(session, served, new), _ServerWatchdog().feed)


class _ServerWatchdog:
    """Notifies systemd that the server is well, as often as its watchdog requires."""

    def __init__(self) -> None:
        self._fed_at = float("-inf")

    def feed(self) -> None:
        now = time.monotonic()
        if now - self._fed_at >= _FED_EVERY:
            self._fed_at = now
            systemd_notify.notify_watchdog()


@contextlib.contextmanager
def _server_required() -> Iterator[None]:
    """Raise ServerMissing where the extra of the server is not installed."""
    from lifeboat_vault.errors import ServerMissing

    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _EXTRA:
            raise ServerMissing(f"the Python package {error.name} is not installed") from None
        raise


def _token(session: EndpointSession, join: str | None) -> _JoinToken | None:
    from lifeboat_endpoint.endpoint import Endpoint
    from lifeboat_endpoint.tenancy import first_token
    from lifeboat_endpoint.tenancy.callers import DEVICE_SCOPES
    from lifeboat_vault.errors import NoEndpoint, UnknownTenant, VaultBusy

    try:
        endpoint, is_new = Endpoint.open(session.data, role="api" if join is None else "worker"), False
    except NoEndpoint:
        if join not in (None, FIRST_TENANT):
            raise UnknownTenant(
                f"{session.data} contains no endpoint yet. To create one, start the server with --join {FIRST_TENANT}"
            ) from None
        endpoint, is_new = Endpoint.create(session.data), True
    with endpoint:
        if join is None and endpoint.engine.shared:
            with contextlib.suppress(VaultBusy):  # The endpoint is served once the database answers.
                endpoint.engine.control()
                endpoint.check_key()
            return None  # The role of a server may not create tokens there.
        named = _tenant(endpoint, join)
        if named is None:
            unused = first_token.load_unused_first_token(endpoint)
            return None if unused is None else _JoinToken(unused.tenant, unused.secret, is_repeated=True)
        is_first = not endpoint.control.tokens()
        token_name = FIRST_TOKEN if is_first else "joined"
        _, secret = endpoint.control.add_token(endpoint.control.tenant(named).id, token_name, DEVICE_SCOPES)
        if is_first and not endpoint.engine.shared:
            first_token.save_first_token(endpoint, secret)
        return _JoinToken(named, secret, is_new, is_repeated=is_first)


def _tenant(endpoint: Endpoint, join: str | None) -> str | None:
    """Return the tenant that gets a token: the named one, or the first one while it has none."""
    if join is not None and join != FIRST_TENANT:
        return endpoint.control.tenant(join).name
    tenants = endpoint.control.tenants()
    if not tenants:
        return endpoint.add_tenant(FIRST_TENANT).name
    if join is not None:
        return endpoint.control.tenant(join).name
    is_unfinished = [one.name for one in tenants] == [FIRST_TENANT] and not endpoint.control.tokens()
    return FIRST_TENANT if is_unfinished else None


def _say(session: EndpointSession, served: ServedEndpoint, new: _JoinToken | None) -> None:
    """Print the address, in a separate thread, once the server answers. If the database is unreachable now, the
    address is stored at the next start."""
    from lifeboat_endpoint.endpoint import Endpoint
    from lifeboat_vault.errors import VaultBusy

    with contextlib.suppress(VaultBusy), Endpoint.open(session.data, role="api") as endpoint:
        save_server_address(endpoint, served.url, served.pin)
    systemd_notify.notify_ready(f"answers at {served.url}")
    told = describe_server(served, new)
    if session.output.as_json:
        session.output.json_line(told)
    else:
        _print(session, served, new, told["join"])


def describe_server(served: ServedEndpoint, new: _JoinToken | None) -> JsonObject:
    """Return the document for scripts once the server answers."""
    from lifeboat_vault.remote.join_lines import JoinLine, format_join_line

    return {
        "url": served.url,
        "pin": served.pin or None,
        "listen": f"{served.host}:{served.port}",
        "tenant": None if new is None else new.tenant,
        "token": None if new is None else new.secret,
        "join": None if new is None else format_join_line(JoinLine(served.url, new.secret, served.pin)),
        "made_endpoint": new is not None and new.made_endpoint,
    }


def _print(session: EndpointSession, served: ServedEndpoint, new: _JoinToken | None, joined: str | None) -> None:
    output = session.output
    if new is not None and new.made_endpoint:
        output.line(f"Created an endpoint in {session.data} with the tenant {new.tenant}.")
    output.line(f"The endpoint is reachable at {served.url}.", style="bold")
    if served.pin:
        output.line(f"Pin of the endpoint: {served.pin}")
    if new is None:
        output.verbatim(f"To create a token for another machine: {session.command('token add TENANT')}")
    else:
        print_join_line(session, joined, until_used=new.is_repeated)
