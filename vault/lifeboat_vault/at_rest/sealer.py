"""Seal a vault's content in its tables and files.

A vault seals what carries content (bodies, salts, paths, names, metas) when it stores it and opens it when it reads it.
Ids, numbers, sizes, leaves and digests stay in plain text, because statements compare and sort by them. The local vault
seals nothing (`PLAIN`): the workspace beside it is just as readable.
"""

from __future__ import annotations

from typing import Protocol

VERSION = b"\x01"
KEY_ID_BYTES = 6
HEADER_BYTES = len(VERSION) + KEY_ID_BYTES
NONCE_BYTES = 24
_TAG_BYTES = 16


def key_id_of(sealed: bytes) -> str:
    """Return the id of the data key that sealed something (see `keyed_sealer`); "" for unsealed bytes."""
    if len(sealed) < HEADER_BYTES + NONCE_BYTES + _TAG_BYTES or not sealed.startswith(VERSION):
        return ""
    return sealed[len(VERSION) : HEADER_BYTES].hex()


class Sealer(Protocol):
    """Seals and opens values. Thread-safe. `key_id` names the data key, "" for none.

    Opening raises VaultDamaged for changed bytes and for those of another vault, kind or key.
    """

    @property
    def key_id(self) -> str: ...

    def seal(self, kind: str, data: bytes) -> bytes:
        """Encrypt; the result differs every time. `kind` (body, meta, salt, ...) is bound to it."""
        ...

    def open(self, kind: str, sealed: bytes) -> bytes: ...

    def token(self, kind: str, text: str) -> str:
        """Encrypt deterministically, so that equal texts can be looked up. Tokens reveal neither order nor prefixes."""
        ...

    def text(self, kind: str, token: str) -> str:
        """Return the text of a token."""
        ...


class PlainSealer:
    """Sealer that seals nothing."""

    key_id = ""

    def seal(self, kind: str, data: bytes) -> bytes:
        return data

    def open(self, kind: str, sealed: bytes) -> bytes:
        return sealed

    def token(self, kind: str, text: str) -> str:
        return text

    def text(self, kind: str, token: str) -> str:
        return token


PLAIN: Sealer = PlainSealer()
