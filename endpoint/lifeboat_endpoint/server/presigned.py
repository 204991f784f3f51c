"""Signed addresses: a permission to send or fetch one thing, without the token, for some minutes.

The address holds what is permitted in clear and an HMAC-SHA256 over it; whoever has it may do that and nothing else.
What is permitted once is counted by the tenant's data, so it is once for all processes. Addresses are secrets: the log
shows the route only.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from datetime import datetime, timedelta

import msgspec

from lifeboat_vault.errors import UnknownAtRemote

KEY_BYTES = 32
_CONTEXT = b"lifeboat transfer 1\0"
_LONGEST = 4096


class Permission(msgspec.Struct, frozen=True, array_like=True):
    """`method` GET or PUT, `object` what (a kind and its numbers or id, see `routes.transfers`), `limit` the most bytes
    of it, `expires` in seconds since 1970, `use` random: what is permitted once is known by it. `token` is the id
    of the token that asked for it: when that counts no more, neither does the address."""

    method: str
    object: str
    limit: int
    tenant: str
    agent: str
    expires: int
    use: str
    token: str = ""


def sign_permission(
    key: bytes,
    method: str,
    what: str,
    *,
    limit: int,
    tenant: str,
    agent: str,
    now: datetime,
    seconds: int,
    token: str = "",
) -> str:
    """The part of an address that permits it."""
    expires = int((now + timedelta(seconds=seconds)).timestamp())
    permission = Permission(method, what, limit, tenant, agent, expires, secrets.token_hex(16), token)
    payload = msgspec.json.encode(permission)
    return f"{_text(payload)}.{_text(_mac(key, payload))}"


def check_permission(key: bytes, token: str, method: str, now: datetime) -> Permission:
    """What a signed address permits. Raises UnknownThere, whatever is wrong with it."""
    payload, mac = _parts(token)
    if not hmac.compare_digest(mac, _mac(key, payload)):
        raise _unknown()
    permission = msgspec.json.decode(payload, type=Permission)
    if permission.method != method or permission.expires <= now.timestamp():
        raise _unknown()
    return permission


def agent_of(token: str) -> str:
    """Whose agent an address says it is for, before that is believed; "" where it says nothing."""
    try:
        return msgspec.json.decode(_parts(token)[0], type=Permission).agent
    except (UnknownAtRemote, msgspec.DecodeError, UnicodeDecodeError):
        return ""


def _parts(token: str) -> tuple[bytes, bytes]:
    payload, dot, mac = token.partition(".")
    if not dot or len(token) > _LONGEST:
        raise _unknown()
    try:
        return _bytes(payload), _bytes(mac)
    except (binascii.Error, ValueError):
        raise _unknown() from None


def _mac(key: bytes, payload: bytes) -> bytes:
    return hmac.digest(key, _CONTEXT + payload, "sha256")


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _unknown() -> UnknownAtRemote:
    return UnknownAtRemote("this address permits nothing: it ended, was used, or was never given")
