"""How a vault's content stands in its tables and files.

A vault seals what says something (bodies, salts, paths, names, metas) on its way into the store and opens it on its way
out; ids, numbers, sizes, leaves and digests stay in clear, and are what statements compare and order by. The local
vault keeps things as they are (`PLAIN`): it is as readable as the workspace beside it.
"""

from __future__ import annotations

from typing import Protocol

VERSION = b"\x01"
KEY_ID_BYTES = 6
HEADER_BYTES = len(VERSION) + KEY_ID_BYTES
NONCE_BYTES = 24
_TAG_BYTES = 16


def key_id_of(sealed: bytes) -> str:
    """The id of the data key that something was sealed under (see `keyed`); "" for what is not sealed."""
    if len(sealed) < HEADER_BYTES + NONCE_BYTES + _TAG_BYTES or not sealed.startswith(VERSION):
        return ""
    return sealed[len(VERSION) : HEADER_BYTES].hex()


class Sealer(Protocol):
    """`key_id` names the data key, "" for none. Whoever opens what was changed, or sealed for another vault, kind or
    key, gets VaultDamaged. May be used by several threads."""

    @property
    def key_id(self) -> str: ...

    def seal(self, kind: str, data: bytes) -> bytes:
        """Encrypted, different every time. `kind` (body, meta, salt, ...) is bound to it."""
        ...

    def open(self, kind: str, sealed: bytes) -> bytes: ...

    def token(self, kind: str, text: str) -> str:
        """Encrypted, the same for the same text, so that it can be looked up; says nothing about order or beginning."""
        ...

    def text(self, kind: str, token: str) -> str:
        """The text of a token."""
        ...


class PlainSealer:
    """Nothing is sealed."""

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
