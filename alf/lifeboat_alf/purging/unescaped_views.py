"""View a file's bytes without their escapes. JSON spells one text in many ways, and session logs hold JSON inside JSON
strings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from lifeboat_alf.purging.byte_spans import Span

LEVELS = 4
"""Maximum depth of escapes inside escapes."""

PAIR = rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
ESCAPE = re.compile(PAIR + rb"|\\u[0-9a-fA-F]{4}|\\[\"\\/|bfnrt]")
"""One escaped character of a JSON string, or of a table row with bars between its cells."""

_SHORT = {ord("b"): b"\b", ord("f"): b"\f", ord("n"): b"\n", ord("r"): b"\r", ord("t"): b"\t"}
_WIDE = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class UnescapedView:
    """UTF-8 text of one level of a body. `span` maps places in it to places in the body."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def span(self, start: int, end: int) -> Span:
        """Return where a part of `data` lies in the body."""
        return start, end


class _Utf16View(UnescapedView):
    """A body in UTF-16 with a byte order mark."""

    def __init__(self, body: bytes) -> None:
        self._encoding = _WIDE[body[:2]]
        super().__init__(body[2:].decode(self._encoding, "replace").encode("utf-8", "replace"))

    def span(self, start: int, end: int) -> Span:
        return self._place(start), self._place(end)

    def _place(self, position: int) -> int:
        return 2 + len(self.data[:position].decode(errors="ignore").encode(self._encoding))


class _InnerView(UnescapedView):
    """Another view with its escapes undone. A part of an escaped character maps to all of it."""

    def __init__(self, outer: UnescapedView) -> None:
        self._outer = outer
        super().__init__(ESCAPE.sub(lambda match: decode_escape(match[0]), outer.data))
        self._escapes: list[tuple[int, int, int, int]] | None = None

    def span(self, start: int, end: int) -> Span:
        return self._outer.span(self._place(start, is_end=False), self._place(end, is_end=True))

    def _place(self, position: int, *, is_end: bool) -> int:
        known = self._known_escapes()
        found = bisect_right(known, position, key=lambda escape: escape[0]) - 1
        if found < 0:
            return position
        start, end, old_start, old_end = known[found]
        if position >= end:
            return old_end + position - end
        return old_end if is_end and position > start else old_start

    def _known_escapes(self) -> list[tuple[int, int, int, int]]:
        """Return (start, end) of every escape in this view and in the outer one, in order."""
        if self._escapes is None:
            old = [
                (match.start(), match.end(), len(decode_escape(match[0])))
                for match in ESCAPE.finditer(self._outer.data)
            ]
            shifts = accumulate((start - end + length for start, end, length in old), initial=0)
            self._escapes = [
                (start + shift, start + shift + length, start, end)
                for (start, end, length), shift in zip(old, shifts, strict=False)
            ]
        return self._escapes


def decode_escape(escape: bytes) -> bytes:
    """Return the character of an escape in UTF-8. Half of a surrogate pair is encoded like a surrogate."""
    if escape[1] != ord("u"):
        return _SHORT.get(escape[1], escape[1:])
    number = int(escape[2:6], 16)
    if len(escape) > 6:
        number = 0x10000 + ((number - 0xD800) << 10) + int(escape[8:], 16) - 0xDC00
    return chr(number).encode("utf-8", "surrogatepass")


def iterate_views(body: bytes) -> Iterator[UnescapedView]:
    """Yield the body itself, then the result of undoing its escapes, level by level."""
    view = _Utf16View(body) if is_wide(body) else UnescapedView(body)
    yield view
    for _ in range(LEVELS):
        if b"\\" not in view.data:
            return
        inner = _InnerView(view)
        if inner.data == view.data:
            return
        view = inner
        yield view


def is_wide(body: bytes) -> bool:
    """Return whether a body is UTF-16 text with a byte order mark."""
    return body[:2] in _WIDE


def is_binary(body: bytes) -> bool:
    """Return whether a body is not text, so that nothing can be cut out of it."""
    return b"\0" in body and not is_wide(body)
