"""How a token looks: `lb_<8 characters, its id>_<43 characters>`, 256 random bits. Kept is its SHA-256 only: bits that
nobody can guess need no slow hash."""

from __future__ import annotations

import hashlib
import re
import secrets

ID_CHARACTERS = 8
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
"""Without what looks alike; 32 of them."""
_SECRET_BYTES = 32
_FORM = re.compile(r"lb_([a-z0-9]{8})_[A-Za-z0-9_-]{43}", re.ASCII)


def new_id() -> str:
    """The public part of a token: it names the token in lists, logs and the audit."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(ID_CHARACTERS))


def new_secret(token_id: str) -> str:
    """The whole token, which is shown once."""
    return f"lb_{token_id}_{secrets.token_urlsafe(_SECRET_BYTES)}"


def id_of(secret: str) -> str | None:
    """Which token a text claims to be; None for what is no token of an endpoint."""
    found = _FORM.fullmatch(secret)
    return None if found is None else found[1]


def digest_secret(secret: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
