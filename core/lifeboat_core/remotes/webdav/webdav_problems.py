"""Why a WebDAV server cannot be used, and the command that helps. Texts of the server are in no message."""

from __future__ import annotations

from typing import NamedTuple

from lifeboat_core.errors import NetworkError, NotPrivate, NotTheOne
from lifeboat_core.network.http_session import SessionReply
from lifeboat_core.network.retry_after import parse_retry_after
from lifeboat_vault import errors

RENAMING = "renaming"
_HELP = "lifeboat remote add --help"


class WebdavCommands(NamedTuple):
    """Commands for this remote: `add` adds it or changes its address, `access` gives it other credentials."""

    add: str
    access: str


def explain_network_error(error: NetworkError, place: str) -> errors.RemoteError:
    """Return the error for a request without an answer."""
    if isinstance(error, NotTheOne):
        return errors.RemoteUntrusted(f"{place}: {error.message}")
    if isinstance(error, NotPrivate):
        return errors.RemoteRefused(f"{place}: {error.message}", fix=error.fix)
    return errors.RemoteUnreachable(f"{place}: {error.message}")


def explain_answer(reply: SessionReply, place: str, doing: str, commands: WebdavCommands) -> errors.RemoteError:
    """Return the error for an answer to `doing`, such as "writing"."""
    status, said = reply.status, f"{place}, {doing}: the server answered {reply.status}"
    if status in (401, 403):
        return _explain_denial(reply, place, doing, commands)
    if 300 <= status < 400:
        return errors.RemoteRefused(
            f"{said}, a redirect, which Lifeboat does not follow; give the address to which it leads", fix=commands.add
        )
    if status == 404:
        return errors.RemoteUnreachable(f"{said}: there is no such folder", fix=commands.add)
    if status in (405, 501):
        return errors.RemoteRefused(f"{said}: this address is not a folder that WebDAV may change", fix=_HELP)
    if status == 407:
        return errors.RemoteUnreachable(f"{said}: the proxy requires authentication")
    if status == 409:
        return errors.RemoteRefused(f"{said}: the folder above does not exist; create it first", fix=commands.add)
    if status == 412:
        return errors.RemoteRefused(f"{said}: another program changed the file at the same time")
    if status == 413:
        return errors.RemoteTooLarge(f"{said}: the file is larger than the server accepts")
    if status == 423:
        return _explain_busy(reply, f"{said}: another program locked the file")
    if status == 429:
        return _explain_busy(reply, f"{said}: it received too many requests")
    if status == 503:
        return _explain_busy(reply, f"{said}: it is overloaded or in maintenance")
    if status == 507:
        return errors.RemoteFull(f"{said}: no space or quota is left")
    if status == 502 and doing == RENAMING:
        return errors.RemoteUnreachable(
            f"{said}: a proxy in front of the server may have to adapt the header Destination", fix=commands.add
        )
    if status in (408, 425) or status >= 500:
        return errors.RemoteUnreachable(said)
    return errors.RemoteRefused(said)


def _explain_busy(reply: SessionReply, message: str) -> errors.RemoteBusy:
    return errors.RemoteBusy(message, retry_after=parse_retry_after(reply.headers))


def _explain_denial(reply: SessionReply, place: str, doing: str, commands: WebdavCommands) -> errors.RemoteError:
    if reply.status == 403:
        return errors.RemoteDenied(
            f"{place}, {doing}: the server answered 403. The user may lack the permission to read, write, list or "
            "delete in this folder",
            fix=commands.access,
        )
    offered = reply.headers.get("www-authenticate", "").lower()
    if offered and "basic" not in offered:
        return errors.RemoteDenied(
            f"{place}: the server answered 401 and does not offer Basic authentication, the only one that Lifeboat "
            "supports; enable it on the server",
            fix=commands.add,
        )
    return errors.RemoteDenied(
        f"{place}: the server answered 401: user name or password are wrong, or the app password was revoked",
        fix=commands.access,
    )
