"""Changes parts of a text and leaves the rest byte for byte, and finds the values of a JSON text for that."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

_BLANK = re.compile(r"[ \t\r\n]*")
_decoder = json.JSONDecoder()


def replace_spans(text: str, edits: Iterable[tuple[int, int, str]], start: int = 0, end: int | None = None) -> str:
    """Return `text[start:end]` with other texts in place of some spans, which do not overlap."""
    pieces, at = [], start
    for begin, finish, new in sorted(edits):
        pieces += [text[at:begin], new]
        at = finish
    return "".join([*pieces, text[at:end]])


class PositionedValue(NamedTuple):
    """A value of a JSON text: `text[start:end]`. `key` is the member's name, or the name of the list whose element it
    is."""

    value: Any
    start: int
    end: int
    key: str = ""
    is_element: bool = False


class MalformedJson(ValueError):
    """The text is not JSON from some position on."""


def skip_blanks(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def decode_value(text: str, at: int) -> tuple[Any, int]:
    """Return the value that begins at an offset, and the offset where it ends. Raises MalformedJson."""
    try:
        return _decoder.raw_decode(text, at)
    except (ValueError, RecursionError):
        raise MalformedJson from None


def collect_values(text: str, at: int, lists: Collection[str], found: list[PositionedValue], key: str = "") -> int:
    """Append the members of the object, or the elements of the list, that begins at an offset. Return the offset where
    it ends. Of members named in `lists` the elements are appended instead.

    Raises MalformedJson; `found` then holds what stands before the error.
    """
    closing, name = "}" if text[at] == "{" else "]", key
    at = skip_blanks(text, at + 1)
    while text[at : at + 1] != closing:
        if closing == "}":
            name, at = _member_name(text, at)
        # Lists inside of a list are ordinary values, so this recurses once at most.
        if closing == "}" and name in lists and text[at : at + 1] == "[":
            at = collect_values(text, at, (), found, name)
        else:
            value, end = decode_value(text, at)
            found.append(PositionedValue(value, at, end, name, closing == "]"))
            at = end
        at = skip_blanks(text, at)
        if text[at : at + 1] == ",":
            at = skip_blanks(text, at + 1)
        elif text[at : at + 1] != closing:
            raise MalformedJson
    return at + 1


def _member_name(text: str, at: int) -> tuple[str, int]:
    """Return the name of the member that begins at an offset, and the offset of its value."""
    name, at = decode_value(text, at)
    at = skip_blanks(text, at)
    if not isinstance(name, str) or text[at : at + 1] != ":":
        raise MalformedJson
    return name, skip_blanks(text, at + 1)
