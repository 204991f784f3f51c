"""Find texts whose type names a format, UUID or URI. msgspec checks types and ranges but not formats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")

Step = str | None
"""The name of a field, or None for every item of a list."""


class FormattedText(NamedTuple):
    """A text at `name` (fields joined by dots) that must have the format `uuid` or `uri`."""

    format: str
    name: str
    value: str


def formatted_texts(document: Any, kind: type[msgspec.Struct]) -> Iterator[FormattedText]:
    """Yield every text with a format in a document that has the shape of `kind`."""
    for wanted, path in _paths(kind):
        for value in _values(document, path):
            yield FormattedText(wanted, ".".join(step for step in path if step is not None), value)


def is_uri(text: str) -> bool:
    """Return whether a text has a scheme and something after it (RFC 3986 §3)."""
    return _URI.fullmatch(text) is not None


@cache
def _paths(kind: type[msgspec.Struct]) -> tuple[tuple[str, tuple[Step, ...]], ...]:
    return tuple(_walk(inspect.type_info(kind), ()))


def _walk(found: inspect.Type, path: tuple[Step, ...]) -> Iterator[tuple[str, tuple[Step, ...]]]:
    match found:
        case inspect.Metadata():
            if found.extra is not None:
                yield found.extra["format"], path
            yield from _walk(found.type, path)
        case inspect.StructType():
            for field in found.fields:
                yield from _walk(field.type, (*path, field.encode_name))
        case inspect.ListType():
            yield from _walk(found.item_type, (*path, None))
        case inspect.UnionType():
            for each in found.types:
                yield from _walk(each, path)


def _values(document: Any, path: tuple[Step, ...]) -> Iterator[str]:
    if not path:
        if isinstance(document, str):
            yield document
    elif path[0] is None:
        for item in document if isinstance(document, list) else ():
            yield from _values(item, path[1:])
    elif isinstance(document, dict) and path[0] in document:
        yield from _values(document[path[0]], path[1:])
