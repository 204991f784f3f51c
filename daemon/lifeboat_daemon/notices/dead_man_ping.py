"""Call the dead-man's switch: an address (`ping.url`) that is called while all is well.

The monitor there raises the alarm when the calls stop, for any reason: a full disk, theft, or a crash of this program.
The address is called unchanged while all is well and with `/fail` when something needs the user, as Healthchecks and
similar services expect.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.home.context import Context
from lifeboat_core.network import http_requests

SETTING = "ping.url"


def send_ping(context: Context, *, is_well: bool, wait: Callable[[float], None] | None = None) -> str | None:
    """Call the address if one is set. Return None after success or without an address, otherwise the reason of the
    failure. A missing network is not an error here, because the monitor will notice the missing call. Raises
    ConfigError."""
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
    """Return the address to call when something needs the user: `/fail` after the path, before a query."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/fail"))
