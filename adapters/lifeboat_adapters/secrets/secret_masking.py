"""Mask secrets in text of other programs before it is stored: known secrets, and text that may be one by its name or
look, become `[secret]`.

Nothing is restored from this text, so masking too much is acceptable and masking too little is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from lifeboat_adapters.secrets import secret_names, secret_patterns
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf
from lifeboat_adapters.secrets.secret_finder import KnownSecretMatch, KnownSecretSearch
from lifeboat_alf.decoding.decoder import decode_layers

MASK = b"[secret]"
_LEAST = 4
"""Characters of a value that can be told from ordinary words."""

Find = Callable[[bytes], Iterable[KnownSecretMatch]]
"""A function that finds known values in bytes."""

_NAMED = re.compile(
    rb"(?P<name>[A-Za-z][A-Za-z0-9_.-]{0,63})[\"'\\]{0,2}[ \t]{0,8}[:=][ \t]{0,8}"
    rb"(?=(?P<value>\\?\"(?:[^\"\\\n]|\\.)*|'[^'\n]*|[^\s{\[][^\n]*))"
)
_ADDRESS = re.compile(rb"(?P<before>[A-Za-z][A-Za-z0-9+.-]{0,31}://[^\s/:@]{0,256}:)(?P<password>[^\s/@]{1,4096})@")


def mask_secrets_in_text(text: str, values: Iterable[str] = (), find: Find | None = None) -> str:
    """Return a text without secrets: without the `values`, the matches of `find`, values under names for secrets, and
    text that looks like a secret."""
    data = text.encode("utf-8", "surrogateescape")
    return mask_spans(data, _spans(data, list(values), find or _nothing)).decode("utf-8", "surrogateescape")


def mask_spans(data: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """Return bytes with `[secret]` in the place of every span. Spans may touch and overlap."""
    pieces: list[bytes] = []
    at = 0
    for start, end in sorted(spans):
        if start >= at:
            pieces += [data[at:start], MASK]
        at = max(at, end)
    return b"".join([*pieces, data[at:]])


def find_known_spans(data: bytes, find: Find) -> Iterator[tuple[int, int]]:
    """Yield where `find` matches, also within decoded parts of the text."""
    yield from ((found.start, found.end) for found in find(data))
    for reading in decode_layers(data):
        for found in find(reading.data):
            yield from reading.spans(found.start, found.end)


def _nothing(data: bytes) -> Iterable[KnownSecretMatch]:
    return ()


def _spans(data: bytes, values: list[str], find: Find) -> Iterator[tuple[int, int]]:
    yield from find_known_spans(data, KnownSecretSearch(values).spans)
    yield from find_known_spans(data, find)
    yield from _short(data, values)
    yield from _named(data)
    yield from (hit.span("password") for hit in _ADDRESS.finditer(data))
    yield from ((look.start, look.end) for look in secret_patterns.find_secret_matches(data))


def _short(data: bytes, values: list[str]) -> Iterator[tuple[int, int]]:
    """Find known values that are too short to be searched anywhere but in a program's output, as separate words."""
    for value in values:
        if len(value) >= _LEAST:
            spelled = re.escape(value.encode("utf-8", "surrogateescape"))
            for hit in re.finditer(rb"(?<![A-Za-z0-9])" + spelled + rb"(?![A-Za-z0-9])", data):
                yield hit.span()


def _named(data: bytes) -> Iterator[tuple[int, int]]:
    """Find values under names for secrets: `token: ...`, `API_KEY=...`, `"password": "..."`. Without quotes a value
    extends to the end of the line."""
    for hit in _NAMED.finditer(data):
        value = hit["value"].lstrip(b"\\").lstrip(b"\"'")
        leaf = ParsedLeaf((hit["name"].decode("ascii"),), value.decode("utf-8", "replace"), 0, 0)
        if secret_names.credential_type_of_leaf(leaf) is not None:
            yield hit.end("value") - len(value), hit.end("value")
