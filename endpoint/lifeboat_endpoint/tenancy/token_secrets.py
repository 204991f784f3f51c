"""Form of a token: `lb_<8 characters, its id>_<43 characters>`, with 256 random bits.

Only its SHA-256 is stored: random bits that cannot be guessed need no slow hash.
"""

from __future__ import annotations

import hashlib
import re
import secrets

ID_CHARACTERS = 8
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
"""32 characters that do not look alike."""
_SECRET_BYTES = 32
_FORM = re.compile(r"lb_([a-z0-9]{8})_[A-Za-z0-9_-]{43}", re.ASCII)


def new_id() -> str:
    """Return the public part of a token, which names it in lists, logs and the audit."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(ID_CHARACTERS))


def new_secret(token_id: str) -> str:
    """Return the whole token, which is shown once."""
    return f"lb_{token_id}_{secrets.token_urlsafe(_SECRET_BYTES)}"


def parse_token_id(secret: str) -> str | None:
    """Return the id that a token claims, None for a text that is not a token."""
    found = _FORM.fullmatch(secret)
    return None if found is None else found[1]


def digest_secret(secret: str) -> bytes:
    """Return the digest that is stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
