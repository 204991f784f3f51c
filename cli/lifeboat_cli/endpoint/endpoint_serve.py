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
from lifeboat_cli.endpoint.endpoint_join_line import save_server_address
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
class _NewToken:
    """A token that was created for this start, and whether the endpoint was created too."""

    tenant: str
    secret: str
    made_endpoint: bool


@click.command(
    short_help="Serve the endpoint in DIR until Ctrl-C.",
    epilog=format_examples(
        "lifeboat endpoint serve --data /srv/lifeboat",
        "lifeboat endpoint serve --join home --data /srv/lifeboat",
        "lifeboat endpoint serve --public-url https://lifeboat.example.com --data /srv/lifeboat",
        "lifeboat endpoint serve --plain-http --listen 127.0.0.1:8080 --data /srv/lifeboat",
    ),
)
@click.option("--listen", metavar="HOST:PORT", help=f"Else {_LISTEN}, or {_LISTEN_PLAIN} with --plain-http.")
@click.option("--plain-http", is_flag=True, help="Without TLS, for programs of this machine only.")
@click.option("--public-url", metavar="URL", help="How clients reach it, where this machine cannot know.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="The certificate is for this one too. Repeatable.")
@click.option("--certificate", type=FILE, metavar="FILE", help="A certificate of yours (PEM), with its chain.")
@click.option("--key", type=FILE, metavar="FILE", help="The key of that certificate (PEM, PKCS#8).")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="How many processes answer.")
@click.option(
    "--drain",
    type=click.FloatRange(0, 3600),
    default=0.0,
    metavar="SECONDS",
    help="On SIGTERM say for so long that it is not ready, before it takes nothing new.  [default: 0]",
)
@click.option(
    "--finish",
    type=click.IntRange(1, 3600),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="How long requests that were begun may then take.",
)
@click.option(
    "--max-connections",
    type=click.IntRange(16, 60_000),
    default=DEFAULT_TOTAL,
    show_default=True,
    metavar="N",
    help="Open connections at most, in all processes.",
)
@click.option(
    "--max-connections-per-address",
    type=click.IntRange(1, 60_000),
    default=DEFAULT_PER_ADDRESS,
    show_default=True,
    metavar="N",
    help="Open connections of one client address at most, in all processes.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Address or network of a load balancer, without a limit per address. Repeatable.",
)
@click.option("--join", metavar="TENANT", help="Make a new token of the tenant, and show its join line.")
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
    """Serve the endpoint in DIR until Ctrl-C. Where DIR holds nothing, the endpoint is made, with a tenant `home`, and
    the line is shown with which a machine joins it: lifeboat remote add NAME 'LINE'.

    Without --certificate the endpoint has an authority of its own, which machines know by the pin in that line.
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
    serving.check_options(wanted)
    new = _token(session, join)
    serving.serve_endpoint(wanted, lambda served: _say(session, served, new), _ServerWatchdog().feed)


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
            raise ServerMissing(f"{error.name} is not installed") from None
        raise


def _token(session: EndpointSession, join: str | None) -> _NewToken | None:
    from lifeboat_endpoint.endpoint import Endpoint
    from lifeboat_endpoint.tenancy.callers import DEVICE_SCOPES
    from lifeboat_vault.errors import NoEndpoint, VaultBusy

    try:
        endpoint, is_new = Endpoint.open(session.data, role="api" if join is None else "worker"), False
    except NoEndpoint:
        endpoint, is_new = Endpoint.create(session.data), True
    with endpoint:
        if join is None and endpoint.engine.shared:
            with contextlib.suppress(VaultBusy):  # The endpoint is served once the database answers.
                endpoint.engine.control()
                endpoint.check_key()
            return None  # The role of a server may not create tokens there.
        named = _tenant(endpoint, join)
        if named is None:
            return None
        token_name = FIRST_TOKEN if not endpoint.control.tokens() else "joined"
        _, secret = endpoint.control.add_token(endpoint.control.tenant(named).id, token_name, DEVICE_SCOPES)
        return _NewToken(named, secret, is_new)


def _tenant(endpoint: Endpoint, join: str | None) -> str | None:
    """Return the tenant that gets a token: the named one, or a first one if there is none yet."""
    if join is not None and join != FIRST_TENANT:
        return endpoint.control.tenant(join).name
    if endpoint.control.tenants():
        return None if join is None else endpoint.control.tenant(join).name
    return endpoint.add_tenant(FIRST_TENANT).name


def _say(session: EndpointSession, served: ServedEndpoint, new: _NewToken | None) -> None:
    """Print the address, in a thread of its own, once the server answers. If the database is unreachable now, the
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


def describe_server(served: ServedEndpoint, new: _NewToken | None) -> JsonObject:
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


def _print(session: EndpointSession, served: ServedEndpoint, new: _NewToken | None, joined: str | None) -> None:
    output = session.output
    if new is not None and new.made_endpoint:
        output.line(f"There is an endpoint in {session.data} now, with the tenant {new.tenant}.")
    output.line(f"The endpoint answers at {served.url}.", style="bold")
    if served.pin:
        output.line(f"Its pin: {served.pin}")
    if joined is not None:
        output.line("To keep a second copy here, on the machine of your agents; the line is not shown again:")
        output.verbatim(f"  lifeboat remote add endpoint '{joined}'")
    else:
        output.verbatim(f"A line to join with: {session.command('token add TENANT')}")
