"""Keyed prints of secrets: a value is known again without being kept. The key never leaves this machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lifeboat_adapters.secrets.finder import Known
from lifeboat_keys.home_keys import HomeKeys

_WORD = re.compile(rb"[A-Za-z0-9_-]{16,4096}")
_END = re.compile(rb"(?:(?![A-Za-z0-9_-])|(?<=[^A-Za-z0-9_-]))")
_TOKENS = (
    re.compile(rb"[^\s\"'`<>()\[\]{},;|]{16,4096}"),
    re.compile(rb"[A-Za-z0-9_.+/=:~@-]{16,4096}"),
    _WORD,
)
"""What may be a value of its own in a text."""
_RUN = re.compile(rb"[^\s\"'`<>()\[\]{},;|]{16,}")


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

    def known_in(self, data: bytes, known: Mapping[str, int | None]) -> Iterator[Known]:
        """Values with one of the known prints that stand in a text as a word of their own. Beside a print stands what
        `length_to_keep` gave: every part of the text, or of its runs, that is so long is looked at."""
        words = {hit.span() for pattern in _TOKENS for hit in pattern.finditer(data)}
        lengths = {length for length in known.values() if length is not None}
        for span in words.union(*(_candidates(data, length) for length in lengths)):
            value = data[slice(*span)]
            if self.of(value) in known:
                yield Known(*span, value.decode("utf-8", "surrogateescape"))


def length_to_keep(value: bytes) -> int | None:
    """The length in bytes of a value that is more than one word: without it, nobody would find it again. Negative for
    one without white space and quotes: of most texts, hardly anything has to be looked at to find that."""
    if _WORD.fullmatch(value):
        return None
    return -len(value) if _RUN.fullmatch(value) else len(value)


def lengths_in(values: Mapping[str, Sequence[Any]]) -> dict[str, int | None]:
    """The lengths that are kept beside prints, by print; None where there is none."""
    return {mark: int(kept[3]) if len(kept) > 3 else None for mark, kept in values.items()}


def _candidates(data: bytes, length: int) -> set[tuple[int, int]]:
    if length > 0:
        return _parts(data, length)
    runs = (hit for hit in _RUN.finditer(data) if hit.end() - hit.start() >= -length)
    return {(hit.start() + start, hit.start() + end) for hit in runs for start, end in _parts(hit[0], -length)}


def _parts(data: bytes, length: int) -> set[tuple[int, int]]:
    """Every part of a length that begins and ends where words do."""
    begins = re.compile(rb"(?:(?<![A-Za-z0-9_-])|(?=[^A-Za-z0-9_-]))(?=.{%d})" % length, re.DOTALL)
    ends = {hit.start() for hit in _END.finditer(data)}
    starts = (hit.start() for hit in begins.finditer(data))
    return {(start, start + length) for start in starts if start + length in ends}
