"""Keyed prints of secrets: a value is known again without being kept. The key never leaves this machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterator

from lifeboat_adapters.secrets.finder import Known
from lifeboat_keys.home_keys import HomeKeys

_TOKENS = (
    re.compile(rb"[^\s\"'`<>()\[\]{},;|]{16,4096}"),
    re.compile(rb"[A-Za-z0-9_.+/=:~@-]{16,4096}"),
    re.compile(rb"[A-Za-z0-9_-]{16,4096}"),
)
"""What may be a value of its own in a text."""


class Prints:
    """The prints of one agent's secrets."""

    def __init__(self, keys: HomeKeys, agent_id: str) -> None:
        self._keys = keys
        self._subject = f"prints of {agent_id}".encode()
        self._key = b""

    def of(self, value: bytes) -> str:
        """The print of a value, hexadecimal."""
        if not self._key:
            self._key = bytes.fromhex(self._keys.fingerprint(self._subject))
        return hashlib.blake2b(value, key=self._key, digest_size=24).hexdigest()

    def known_in(self, data: bytes, known: Container[str]) -> Iterator[Known]:
        """Values with one of the known prints that stand in a text as a word of their own."""
        for token in {hit.span() for pattern in _TOKENS for hit in pattern.finditer(data)}:
            value = data[slice(*token)]
            if self.of(value) in known:
                yield Known(*token, value.decode("utf-8", "surrogateescape"))
