"""Keyed prints of secrets, by which a value is recognised without being stored. The key never leaves this machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lifeboat_adapters.secrets.entropy import is_guessable
from lifeboat_adapters.secrets.secret_finder import KnownSecretMatch
from lifeboat_keys.home.home_keys import HomeKeys

_WORD = re.compile(rb"[A-Za-z0-9_-]{16,4096}")
_END = re.compile(rb"(?:(?![A-Za-z0-9_-])|(?<=[^A-Za-z0-9_-]))")
_TOKENS = (
    re.compile(rb"[^\s\"'`<>()\[\]{},;|]{16,4096}"),
    re.compile(rb"[A-Za-z0-9_.+/=:~@-]{16,4096}"),
    _WORD,
)
"""Parts of a text that may be a value."""
_RUN = re.compile(rb"[^\s\"'`<>()\[\]{},;|]{16,}")


_BEGINNINGS = tuple(size << power for power in range(8) for size in (16, 24))
"""Sizes in bytes of the beginnings that get prints. Searching for each length on its own would cost the number of
lengths times the text."""


class PrintShape(NamedTuple):
    """What is stored beside the print of a value: the length from `length_to_keep`, and the size and print of a
    beginning that cannot be guessed (0 when there is none, as in earlier releases)."""

    length: int | None = None
    begin: int = 0
    begin_print: str = ""

    @property
    def is_in_run(self) -> bool:
        return self.length is not None and self.length < 0

    def to_json(self) -> list[int | str]:
        if self.length is None:
            return []
        return [self.length, self.begin, self.begin_print] if self.begin else [self.length]


class SecretPrints:
    """The prints of one agent's secrets."""

    def __init__(self, keys: HomeKeys, agent_id: str) -> None:
        self._keys = keys
        self._subject = f"prints of {agent_id}".encode()
        self._key = b""

    def of(self, value: bytes) -> str:
        """Return the print of a value in hex."""
        if not self._key:
            self._key = bytes.fromhex(self._keys.fingerprint(self._subject))
        return hashlib.blake2b(value, key=self._key, digest_size=24).hexdigest()

    def shape_of(self, value: bytes) -> PrintShape:
        """Return what is stored beside the print of a value. A beginning that could be guessed gets no print: finding
        it would leave only the rest to guess."""
        length = length_to_keep(value)
        sizes = (size for size in _BEGINNINGS if size < len(value)) if length is not None else ()
        for size in sizes:
            if not is_guessable(value[:size].decode("latin-1")):
                return PrintShape(length, size, self.of(value[:size]))
        return PrintShape(length)

    def known_in(self, data: bytes, known: Mapping[str, PrintShape]) -> Iterator[KnownSecretMatch]:
        """Yield the values with a known print that stand in a text as words of their own. Every part of the text, or of
        its runs, that starts like one of them is compared; without a stored beginning, every part of that length."""
        words = {hit.span() for pattern in _TOKENS for hit in pattern.finditer(data)}
        lengths = {shape.length for shape in known.values() if shape.length is not None and not shape.begin}
        begun = [shape for shape in known.values() if shape.begin]
        spans = words.union(*(_candidates(data, length) for length in lengths))
        spans.update(self._begun(data, begun))
        for span in spans:
            value = data[slice(*span)]
            if self.of(value) in known:
                yield KnownSecretMatch(*span, value.decode("utf-8", "surrogateescape"))

    def _begun(self, data: bytes, shapes: list[PrintShape]) -> Iterator[tuple[int, int]]:
        """Yield the parts of a text that start like values of these shapes and end with a word."""
        by_kind = dict[tuple[bool, int], dict[str, set[int]]]()
        for shape in shapes:
            lengths = by_kind.setdefault((shape.is_in_run, shape.begin), {})
            lengths.setdefault(shape.begin_print, set()).add(abs(shape.length or 0))
        ends = {hit.start() for hit in _END.finditer(data)} if by_kind else set()
        for (is_in_run, size), wanted in by_kind.items():
            for start in _starts(data, size, is_in_run=is_in_run):
                for length in wanted.get(self.of(data[start : start + size]), ()):
                    if start + length in ends:
                        yield start, start + length


def _starts(data: bytes, size: int, *, is_in_run: bool) -> Iterator[int]:
    """Return the offsets where a value longer than `size` may start."""
    begins = _begins(size)
    if not is_in_run:
        return (hit.start() for hit in begins.finditer(data))
    runs = (hit for hit in _RUN.finditer(data) if hit.end() - hit.start() > size)
    return (run.start() + hit.start() for run in runs for hit in begins.finditer(run[0]))


def length_to_keep(value: bytes) -> int | None:
    """Return the length in bytes of a value of more than one word, which is needed to find it again. It is negative for
    a value without white space and quotes, so that only the runs of a text have to be searched."""
    if _WORD.fullmatch(value):
        return None
    return -len(value) if _RUN.fullmatch(value) else len(value)


def shapes_in(values: Mapping[str, Sequence[Any]]) -> dict[str, PrintShape]:
    """Return the shapes stored beside prints, by print."""
    return {mark: PrintShape(*kept[3:6]) for mark, kept in values.items()}


def _candidates(data: bytes, length: int) -> set[tuple[int, int]]:
    if length > 0:
        return _parts(data, length)
    runs = (hit for hit in _RUN.finditer(data) if hit.end() - hit.start() >= -length)
    return {(hit.start() + start, hit.start() + end) for hit in runs for start, end in _parts(hit[0], -length)}


def _parts(data: bytes, length: int) -> set[tuple[int, int]]:
    """Return every part of this length that starts and ends at a word boundary."""
    begins = _begins(length)
    ends = {hit.start() for hit in _END.finditer(data)}
    starts = (hit.start() for hit in begins.finditer(data))
    return {(start, start + length) for start in starts if start + length in ends}


def _begins(length: int) -> re.Pattern[bytes]:
    """Return a pattern for the starts of words that have this many bytes after them."""
    return re.compile(rb"(?:(?<![A-Za-z0-9_-])|(?=[^A-Za-z0-9_-]))(?=.{%d})" % length, re.DOTALL)
