"""Signed addresses: permissions to send or fetch one thing for some minutes, without the token.

An address contains the permission in plain text and an HMAC-SHA256 of it. Uses of one-time permissions are counted in
the
tenant's data, for all processes together. Addresses are secrets, so the log shows only the route.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from datetime import datetime
from functools import partial

import msgspec

from lifeboat_vault.errors import UnknownAtRemote

KEY_BYTES = 32
_CONTEXT = b"lifeboat transfer 1\0"
_LONGEST = 4096


class Permission(msgspec.Struct, frozen=True, array_like=True):
    """A permission for one transfer.

    `method` is GET or PUT. `object` is a kind and its numbers or id (see `routes.transfer_routes`). `limit` is the most
    bytes. `expires` is in seconds since 1970. `use` is random and identifies a one-time permission. `token` is the id
    of the token that requested it: revoking that token ends the permission.
    """

    method: str
    object: str
    limit: int
    tenant: str
    agent: str
    expires: int
    use: str = msgspec.field(default_factory=partial(secrets.token_hex, 16))
    token: str = ""


def sign_permission(key: bytes, permission: Permission) -> str:
    """Return the part of an address that contains the permission."""
    payload = msgspec.json.encode(permission)
    return f"{_text(payload)}.{_text(_mac(key, payload))}"


def check_permission(key: bytes, token: str, method: str, now: datetime) -> Permission:
    """Return the permission of a signed address. Raises UnknownAtRemote for any fault in it."""
    payload, mac = _parts(token)
    # The comparison takes the same time for every wrong signature.
    if not hmac.compare_digest(mac, _mac(key, payload)):
        raise _unknown()
    permission = msgspec.json.decode(payload, type=Permission)
    if permission.method != method or permission.expires <= now.timestamp():
        raise _unknown()
    return permission


def find_presigned_agent(token: str) -> str:
    """Return the agent that an address names, before its signature is checked; "" if it names none."""
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
    return UnknownAtRemote("this signed URL is not valid: it has expired, was used before, or never existed")
