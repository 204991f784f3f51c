"""Find parts of JSON that are no memory: ids, times, vectors and sealed payloads, in which six digits occur by chance,
and the vocabulary of the format's own documents."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import Any

from lifeboat_alf import schemas
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.purging.byte_spans import Span, is_json

_MACHINES = (
    rb'"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\d{4}-\d\d-\d\d[T ][0-9:.,]+(?:Z|[+-]\d\d:?\d\d)?)"'
    rb'|"vector"\s*:\s*\[([^\]"]*)\]|"(?:encrypted_payload|nonce)"\s*:\s*"([^"\\]*)"'
)
_RUNTIME = rb'|"(?:runtime|runtime_version|source_runtime|source_runtime_version|origin)"\s*:\s*"(?P<value>[^"\\]*)"'
_ANYWHERE = re.compile(_MACHINES)
_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_PLACEHOLDER_BEGINS = b"{{lifeboat:credential:"
_PLACEHOLDER = re.compile(rb"[\"'`]?\{\{lifeboat:credential:[^{}]{1,64}\}\}[\"'`]?")
"""A placeholder of a secret, with the quotes around it."""
_OF_THE_FORMAT = (archive_layout.PARTITIONS, archive_layout.HISTORY)
_DOCUMENTS = frozenset(
    {archive_layout.MANIFEST, archive_layout.IDENTITY, archive_layout.PRINCIPALS, archive_layout.CREDENTIALS}
)


def drop_protected_spans(path: str, body: bytes, spans: list[Span]) -> list[Span]:
    """Drop the spans inside protected parts. A whole id may be searched for; a word of the format may not."""
    spans = _beside_placeholders(body, spans)
    if not spans or not is_json(path):
        return spans
    own = is_of_the_format(path)
    if path in _DOCUMENTS or path.startswith(archive_layout.HISTORY):
        spans = list(_said(body, spans))
    shields = [_shield(match) for match in (_words() if own else _ANYWHERE).finditer(body)]
    return [span for span in spans if not _lies_in_one(span, shields)]


def _beside_placeholders(body: bytes, spans: list[Span]) -> list[Span]:
    """Drop the spans inside a secret's placeholder, whose digits mean nothing. A span that covers more removes the
    whole placeholder."""
    if not spans or _PLACEHOLDER_BEGINS not in body:
        return spans
    marks = [found.span() for found in _PLACEHOLDER.finditer(body)]
    clipped = (_clipped(span, marks) for span in spans)
    return [(start, end) for start, end in clipped if start < end]


def _clipped(span: Span, marks: list[Span]) -> Span:
    start, end = span
    for first, last in marks:
        if first <= start < last:
            start = last
        if first < end < last:
            end = first
    return start, end


def _said(body: bytes, spans: list[Span]) -> Iterator[Span]:
    """Yield the parts of spans inside strings. The rest of a format document is its structure and version."""
    strings = [found.span(1) for found in _STRING.finditer(body)]
    for start, end in spans:
        at = max(0, bisect_right(strings, (start,)) - 1)
        while at < len(strings) and strings[at][0] < end:
            first, last = max(start, strings[at][0]), min(end, strings[at][1])
            if first < last:
                yield first, last
            at += 1


def is_of_the_format(path: str) -> bool:
    """Return whether this format defines a document, so that its field names are not user data."""
    return path in _DOCUMENTS or path.startswith(_OF_THE_FORMAT)


Shield = tuple[int, int, bool]
"""Start, end, and whether a match of exactly this range is dropped too."""


def _shield(match: re.Match[bytes]) -> Shield:
    start, end = match.span(match.lastindex or 0)
    return start, end, match.lastgroup in ("word", "value")


def _lies_in_one(span: Span, shields: list[Shield]) -> bool:
    """Return whether a span lies in one of the shields, which are sorted and disjoint."""
    before = bisect_right(shields, span[0], key=lambda shield: shield[0]) - 1
    if before < 0:
        return False
    start, end, is_whole = shields[before]
    return span[1] <= end and (is_whole or span[1] - span[0] < end - start)


@cache
def _words() -> re.Pattern[bytes]:
    """Return a pattern of `_MACHINES` and every name and value in the schemas, each as a whole string."""
    known = {word for name in schemas.DOCUMENTS for word in _words_of(schemas.load_schema(name))}
    listed = b"|".join(sorted((re.escape(word.encode()) for word in known), reverse=True))
    return re.compile(_MACHINES + _RUNTIME + rb'|"(?P<word>' + listed + rb')"')


def _words_of(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for part in schema:
            yield from _words_of(part)
    elif isinstance(schema, dict):
        yield from schema.get("properties", {})
        yield from (value for value in schema.get("enum", []) if isinstance(value, str))
        for part in schema.values():
            yield from _words_of(part)
