"""Search for texts and patterns in bytes, however a file spells them.

A text is found without its outer white space, in either Unicode normal form, with either line end, in UTF-16, and in
every JSON escaping, also of JSON inside a JSON string. It is also found encoded, compressed, or broken over lines
(`lifeboat_alf.decoding`). Patterns see decoded and unescaped text. The search is case-sensitive, except for texts of 16
or more letters and digits, which are found however they are broken up and capitalised.

In JSON, what lies inside an id, a time, a vector or a word of the format does not match (see `protected_spans`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.decoding.compressed_streams import is_plain_utf8
from lifeboat_alf.decoding.decoder import decode_layers
from lifeboat_alf.decoding.decoding_budget import DecodingBudget
from lifeboat_alf.decoding.sqlite_pages import page_readings, within_pages
from lifeboat_alf.decoding.squeezed_text import squeeze_text, squeezed_spans, squeezed_spellings
from lifeboat_alf.decoding.undo_escapes import join_broken_lines
from lifeboat_alf.errors import PurgeError
from lifeboat_alf.purging import bounded_patterns as expressions
from lifeboat_alf.purging.byte_spans import Span, join_spans
from lifeboat_alf.purging.line_widening import widen_to_lines
from lifeboat_alf.purging.multi_string_search import MultiStringSearch
from lifeboat_alf.purging.protected_spans import drop_protected_spans
from lifeboat_alf.purging.unescaped_views import UnescapedView, is_binary, iterate_views

__all__ = ["PurgeTerms", "Search", "Span"]

Search = Callable[[str, bytes], list[Span]]
"""`search(path, body)` returns the matching spans of a file, in order, with touching ones joined."""

_HIDING = (b"\\u", b"\\/", b"\\\\", b"\\|")
"""Escapes that JSON does not need or does not have, and escaped escapes. Without them, the usual spellings find every
text."""


@dataclass(frozen=True)
class PurgeTerms:
    """Texts and patterns to search for. `whole_lines` widens matches to their lines; `disguised` also searches encoded,
    compressed and broken-up data.

    Raises PurgeError for a text of only white space, and for a pattern that may not terminate or matches the empty
    text.
    """

    texts: tuple[str, ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()
    whole_lines: bool = False
    disguised: bool = True

    def __post_init__(self) -> None:
        if any(not text.strip() for text in self.texts):
            raise PurgeError("the text to purge is empty")
        for pattern in self.patterns:
            expressions.check_pattern(pattern)

    def __bool__(self) -> bool:
        return bool(self.texts or self.patterns)

    def spans(self, path: str, body: bytes) -> list[Span]:
        """Return the matching spans of a file's bytes (for a record's line, the path is its partition), in order and
        joined. Vector files have none. Raises PurgeError for a pattern that takes too long."""
        if path.startswith(archive_layout.EMBEDDINGS):
            return []
        found = within_pages(body, list(self._found(body)))
        matches = drop_protected_spans(path, body, join_spans(found)) if found else found
        return widen_to_lines(path, body, matches) if self.whole_lines and not is_binary(body) else matches

    def stands_in(self, text: str) -> bool:
        """Return whether a name contains a match."""
        return bool(self.spans("", text.encode("utf-8", "surrogatepass")))

    def _found(self, body: bytes) -> Iterator[Span]:
        yield from self._usual.find(body)
        if is_binary(body):
            yield from self._wide.find(body)
        if self.patterns or _may_hide(body):
            for view in iterate_views(body):
                yield from (view.span(start, end) for start, end in self._seen(view))
                if is_binary(body):
                    break
        yield from self._across_pages(body)
        if self.disguised:
            yield from self._disguised(body)

    def _across_pages(self, body: bytes) -> Iterator[Span]:
        """Yield matches in database rows that are larger than a page."""
        for reading in page_readings(body, DecodingBudget.for_size(len(body))):
            found = [*self._usual.find(reading.data), *self._wide.find(reading.data), *self._matched(reading.data)]
            yield from (part for span in found for part in reading.spans(*span))

    def _disguised(self, body: bytes) -> Iterator[Span]:
        """Yield matches that a plain byte search cannot find."""
        yield from self._broken(body)
        if (joined := join_broken_lines(body)) is not None:
            yield from (part for span in self._plain.find(joined.data) for part in joined.spans(*span))
        for reading in decode_layers(body):
            found = [*self._plain.find(reading.data), *self._broken(reading.data)]
            if self.patterns and is_plain_utf8(reading.data):
                found += self._matched(reading.data)
            yield from (part for span in found for part in reading.spans(*span))

    def _broken(self, data: bytes) -> Iterator[Span]:
        if self._squeezed:
            squeezed = squeeze_text(data)
            for spelling in self._squeezed:
                yield from squeezed_spans(data, squeezed, spelling)

    def _seen(self, view: UnescapedView) -> Iterator[Span]:
        yield from self._plain.find(view.data)
        yield from self._matched(view.data)

    def _matched(self, data: bytes) -> Iterator[Span]:
        text = data.decode("utf-8", "surrogateescape") if self.patterns else ""
        for pattern in self.patterns:
            yield from _in_bytes(text, expressions.find_matches(pattern, text))

    @cached_property
    def _squeezed(self) -> frozenset[bytes]:
        return frozenset(spelled for text in self.texts for spelled in squeezed_spellings(_encoded(text)))

    @cached_property
    def _plain(self) -> MultiStringSearch:
        return MultiStringSearch(_encoded(form) for form in self._forms)

    @cached_property
    def _usual(self) -> MultiStringSearch:
        """Search for the spellings that text files and JSON files usually have."""
        return MultiStringSearch(
            spelled for form in self._forms for spelled in (_encoded(form), _escaped(_encoded(form)))
        )

    @cached_property
    def _wide(self) -> MultiStringSearch:
        return MultiStringSearch(
            form.encode(wide, "surrogatepass") for form in self._forms for wide in ("utf-16-le", "utf-16-be")
        )

    @cached_property
    def _forms(self) -> frozenset[str]:
        lined = {form for text in self.texts for form in (text, text.strip())}
        lined |= {form.replace("\r\n", "\n").replace("\n", "\r\n") for form in lined}
        return frozenset(unicodedata.normalize(name, form) for form in lined for name in ("NFC", "NFD")) | lined


def _may_hide(body: bytes) -> bool:
    return body[:2] in (b"\xff\xfe", b"\xfe\xff") or (b"\\" in body and any(escape in body for escape in _HIDING))


def _encoded(text: str) -> bytes:
    """Return UTF-8. Undecodable terminal bytes and halves of surrogate pairs are kept."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


_ESCAPES = {ord("\n"): b"\\n", ord("\r"): b"\\r", ord("\t"): b"\\t", ord("\b"): b"\\b", ord("\f"): b"\\f"}
_ESCAPED = re.compile(rb'[\x00-\x1f"\\]')


def _escaped(data: bytes) -> bytes:
    """Return the spelling of a JSON writer that escapes only what it must."""
    return _ESCAPED.sub(lambda match: _escape(match[0][0]), data)


def _escape(byte: int) -> bytes:
    if byte >= 0x20:
        return bytes((ord("\\"), byte))
    return _ESCAPES.get(byte, b"\\u%04x" % byte)


def _in_bytes(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Map spans of a text to spans of its UTF-8, counting on from the previous one."""
    at_character = at_byte = 0
    for start, end in spans:
        if start < at_character:
            at_character = at_byte = 0
        first = at_byte + len(text[at_character:start].encode("utf-8", "surrogateescape"))
        yield first, first + len(text[start:end].encode("utf-8", "surrogateescape"))
        at_character, at_byte = start, first
