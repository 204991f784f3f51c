"""Translate refusals of an endpoint to the errors that were raised there: by the `code` of the problem document (RFC
9457), otherwise by status."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from lifeboat_core.network.http_session import SessionReply
from lifeboat_core.network.retry_after import LONGEST_WAIT as _LONGEST_WAIT
from lifeboat_core.network.retry_after import parse_retry_after
from lifeboat_core.remotes.endpoint.endpoint_shapes import LARGEST, strip_control
from lifeboat_vault.errors import (
    AgentErased,
    KeyRevoked,
    NotAnEndpoint,
    RemoteBusy,
    RemoteDenied,
    RemoteError,
    RemoteFull,
    RemoteRefused,
    RemoteTooLarge,
    RemoteUnreachable,
    StaleBase,
)

LATEST = "x-latest-sequence"
_LONGEST = 600
"""Characters of a text from the server."""
_BY_STATUS: dict[int, tuple[type[RemoteError], str]] = {
    400: (RemoteRefused, "the server does not understand the request"),
    401: (RemoteDenied, "the token is unknown, revoked or expired"),
    403: (RemoteDenied, "the token does not allow the request"),
    404: (NotAnEndpoint, "the server has no endpoint at this address"),
    407: (RemoteUnreachable, "the proxy requires authentication"),
    408: (RemoteBusy, "the server timed out while it received the request"),
    409: (StaleBase, "another machine wrote a sequence to the remote first"),
    410: (AgentErased, "the agent was purged on the remote"),
    411: (RemoteRefused, "the server does not understand the request"),
    412: (StaleBase, "another machine wrote a sequence to the remote first"),
    413: (RemoteTooLarge, "the request is larger than the server accepts"),
    422: (RemoteRefused, "the server refused the data"),
    425: (RemoteBusy, "the server is too busy to answer now"),
    429: (RemoteBusy, "the server is too busy to answer now"),
    502: (RemoteBusy, "a proxy cannot reach the server"),
    503: (RemoteBusy, "the server is too busy to answer now"),
    504: (RemoteBusy, "a proxy cannot reach the server"),
    507: (RemoteFull, "no space is left on the remote"),
}


def make_remote_error(reply: SessionReply, *, secret: str | None = None) -> RemoteError:
    """Return the error for an answer. `secret` is in no message, even if the server writes it."""
    document = _document(reply)
    kind = _KINDS.get(str(document.get("code")))
    message = _text(document.get("detail") or document.get("title"), secret)
    if kind is None:
        kind, words = _by_status(reply.status)
        message = message or words
    error = _made(kind, message or kind.title, _details(kind, document, reply))
    if document.get("code") == KeyRevoked.code:
        error.fix = _KEY_IS_AWAY
    return error


def _kinds(root: type[RemoteError]) -> dict[str, type[RemoteError]]:
    found = {root.code: root} if "code" in vars(root) else {}
    for kind in root.__subclasses__():
        found |= _kinds(kind)
    return found


_KEY_IS_AWAY = "on the machine of the endpoint: lifeboat endpoint verify"
"""What helps while the key of a tenant is away: no other token opens anything there."""
_KINDS: dict[str, type[RemoteError]] = {**_kinds(RemoteError), KeyRevoked.code: RemoteDenied}
"""Every error of a remote by its code. A revoked key of a tenant is a denied access from here."""


def _by_status(status: int) -> tuple[type[RemoteError], str]:
    if 300 <= status < 400:
        return (
            RemoteRefused,
            (
                f"the server redirects to another address (HTTP status {status}); add the remote "
                "again with its current address"
            ),
        )
    if status in _BY_STATUS:
        kind, words = _BY_STATUS[status]
        return kind, f"{words} ({status})"
    if status >= 500:
        return RemoteUnreachable, f"the server failed to process the request (HTTP status {status})"
    return RemoteRefused, f"the server refused the request (HTTP status {status})"


def _document(reply: SessionReply) -> Mapping[str, Any]:
    """Return the problem document of an answer, empty if it has none."""
    if "json" not in reply.headers.get("content-type", ""):
        return {}
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _details(kind: type[RemoteError], document: Mapping[str, Any], reply: SessionReply) -> dict[str, Any]:
    """Return the arguments of the error, as far as the answer has them in the right shape."""
    wanted = {name for name in inspect.signature(kind.__init__).parameters if name not in ("self", "message", "fix")}
    found = {name: document[name] for name in wanted & set(document) if _is_plain(document[name])}
    if "redaction" in wanted:
        redaction = document.get("redaction")
        found["redaction"] = redaction if isinstance(redaction, dict) else None
    latest = reply.headers.get(LATEST, "")
    if "sequence" in wanted and "sequence" not in found and latest.isdecimal():
        found["sequence"] = int(latest[:20])
    if "retry_after" in wanted:
        asked = parse_retry_after(reply.headers)
        told = found.pop("retry_after", None)
        found["retry_after"] = _seconds(asked if asked is not None else told)
    return {name: value for name, value in found.items() if _fits(name, value)}


def _seconds(value: object) -> float | None:
    """Return a time between now and some days; None for what is no time to wait."""
    if not isinstance(value, int | float) or not value >= 0:
        return None
    return float(min(value, _LONGEST_WAIT))


def _is_plain(value: object) -> bool:
    return value is None or (isinstance(value, int | float | str) and not isinstance(value, bool))


def _fits(name: str, value: object) -> bool:
    """Return whether a value has the type of its field."""
    if name in ("sequence", "epoch"):
        return (value is None and name == "sequence") or (isinstance(value, int) and 0 <= value <= LARGEST)
    return True


def _text(value: object, secret: str | None) -> str:
    """Return one line of a text from the server, without the token in case it repeats it."""
    if not isinstance(value, str):
        return ""
    line = " ".join(strip_control(value).split())
    return (line.replace(secret, "(token)") if secret else line)[:_LONGEST]


def _made(kind: type[RemoteError], message: str, details: Mapping[str, Any]) -> RemoteError:
    return kind(message, **details)
