"""What in JSON is no memory, whatever it spells: ids, times, vectors and sealed payloads, where six digits stand by
chance, and in documents of the format its own words."""

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
"""With the quotes around it, which are its own."""
_OF_THE_FORMAT = (archive_layout.PARTITIONS, archive_layout.HISTORY)
_DOCUMENTS = frozenset(
    {archive_layout.MANIFEST, archive_layout.IDENTITY, archive_layout.PRINCIPALS, archive_layout.CREDENTIALS}
)


def drop_protected_spans(path: str, body: bytes, spans: list[Span]) -> list[Span]:
    """The spans without those that are a part of what is no memory. The whole of an id may be looked for; a word of the
    format may not."""
    spans = _beside_placeholders(body, spans)
    if not spans or not is_json(path):
        return spans
    own = is_of_the_format(path)
    if path in _DOCUMENTS or path.startswith(archive_layout.HISTORY):
        spans = list(_said(body, spans))
    shields = [_shield(match) for match in (_words() if own else _ANYWHERE).finditer(body)]
    return [span for span in spans if not _lies_in_one(span, shields)]


def _beside_placeholders(body: bytes, spans: list[Span]) -> list[Span]:
    """Without what is a part of what stands for a secret: the digits of its id are nobody's. What covers more than
    that takes it along."""
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
    """What of the spans lies in strings: the rest of a document of the format is its form, and its version."""
    strings = [found.span(1) for found in _STRING.finditer(body)]
    for start, end in spans:
        at = max(0, bisect_right(strings, (start,)) - 1)
        while at < len(strings) and strings[at][0] < end:
            first, last = max(start, strings[at][0]), min(end, strings[at][1])
            if first < last:
                yield first, last
            at += 1


def is_of_the_format(path: str) -> bool:
    """Whether a document is made by this format, and its names are not somebody's words."""
    return path in _DOCUMENTS or path.startswith(_OF_THE_FORMAT)


Shield = tuple[int, int, bool]
"""From where to where, and whether a match of just that is none either."""


def _shield(match: re.Match[bytes]) -> Shield:
    start, end = match.span(match.lastindex or 0)
    return start, end, match.lastgroup in ("word", "value")


def _lies_in_one(span: Span, shields: list[Shield]) -> bool:
    """The shields are in order and lie apart."""
    before = bisect_right(shields, span[0], key=lambda shield: shield[0]) - 1
    if before < 0:
        return False
    start, end, is_whole = shields[before]
    return span[1] <= end and (is_whole or span[1] - span[0] < end - start)


@cache
def _words() -> re.Pattern[bytes]:
    """`_MACHINES`, and every name and value that the schemas know, as the whole of a string."""
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
