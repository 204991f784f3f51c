"""The dead-man's ping: an address (`send_ping.url`) that is called while all is well. Who listens there raises the
alarm when the calls stop, whatever they stopped for: a full disk, a thief, or this program.

Called plainly while all is well and with `/fail` when something needs the user, as Healthchecks and its like read it.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.home.context import Context
from lifeboat_core.network import http_requests

SETTING = "ping.url"


def send_ping(context: Context, *, is_well: bool, wait: Callable[[float], None] | None = None) -> str | None:
    """Call the address, if there is one; None when it was called (or there is none), else why not. A machine without a
    network is no error here: to be noticed is what the ping is for. Raises ConfigError."""
    address = str(context.setting(SETTING))
    if not address:
        return None
    target = address if is_well else make_failure_address(address)
    try:
        call = lambda: http_requests.send_request("GET", target)  # noqa: E731
        http_requests.retry_request(call) if wait is None else http_requests.retry_request(call, wait=wait)
    except LifeboatError as error:
        return error.message
    return None


def make_failure_address(address: str) -> str:
    """The address to call when something needs the user: `/fail` behind the path, before a query."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/fail"))
