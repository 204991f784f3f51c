"""What is searched for, and where it stands in bytes, however a file spells it.

A text is found as it is, without its outer white space, in either normal form of Unicode, with either line end, in
UTF-16, and escaped in JSON in every way JSON allows, also in JSON that stands in a string of JSON; also encoded,
compressed, or broken over lines (`lifeboat_alf.decoding`). Patterns see decoded text, and what is behind its escapes.
Case counts, but for texts of 16 letters and digits or more: they are found however they are broken up and capitalised.

In JSON, what lies inside an id, a time, a vector or a word of the format is no match (see `shields`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.decoding.compressed_streams import is_text
from lifeboat_alf.decoding.decoder import decode_layers
from lifeboat_alf.decoding.decoding_budget import DecodingBudget
from lifeboat_alf.decoding.sqlite_pages import page_readings, within_pages
from lifeboat_alf.decoding.squeezed_text import squeeze_text, squeezed_spans, squeezed_spellings
from lifeboat_alf.decoding.undo_escapes import joined_lines
from lifeboat_alf.errors import PurgeError
from lifeboat_alf.purging import bounded_patterns as expressions
from lifeboat_alf.purging.byte_spans import Span, join_spans
from lifeboat_alf.purging.line_widening import widen_to_lines
from lifeboat_alf.purging.multi_string_search import MultiStringSearch
from lifeboat_alf.purging.protected_spans import drop_protected_spans
from lifeboat_alf.purging.unescaped_views import UnescapedView, is_binary, iterate_views

__all__ = ["PurgeTerms", "Search", "Span"]

Search = Callable[[str, bytes], list[Span]]
"""`search(path, body)`: where something stands in the bytes of a file, in order and joined where places touch."""

_HIDING = (b"\\u", b"\\/", b"\\\\", b"\\|")
"""Escapes that JSON does not need or has not, and escaped ones: without them, the usual spelling finds every text."""


@dataclass(frozen=True)
class PurgeTerms:
    """Texts and patterns; with `whole_lines`, the lines in which they stand; `disguised`, also where they are encoded,
    compressed or broken up. Raises PurgeError for a text of nothing
    but white space, and for a pattern that may take for ever or finds the empty text."""

    texts: tuple[str, ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()
    whole_lines: bool = False
    disguised: bool = True

    def __post_init__(self) -> None:
        if any(not text.strip() for text in self.texts):
            raise PurgeError("the text to look for is empty")
        for pattern in self.patterns:
            expressions.check_pattern(pattern)

    def __bool__(self) -> bool:
        return bool(self.texts or self.patterns)

    def spans(self, path: str, body: bytes) -> list[Span]:
        """Where matches stand in the bytes of a file (for a record's line: of its partition), in order and joined where
        they touch. Vector files hold none. Raises PurgeError for a pattern that takes too long."""
        if path.startswith(archive_layout.EMBEDDINGS):
            return []
        found = within_pages(body, list(self._found(body)))
        matches = drop_protected_spans(path, body, join_spans(found)) if found else found
        return widen_to_lines(path, body, matches) if self.whole_lines and not is_binary(body) else matches

    def stands_in(self, text: str) -> bool:
        """Whether a match stands in a name."""
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
        """Places in rows of databases that are larger than a page."""
        for reading in page_readings(body, DecodingBudget.for_size(len(body))):
            found = [*self._usual.find(reading.data), *self._wide.find(reading.data), *self._matched(reading.data)]
            yield from (part for span in found for part in reading.spans(*span))

    def _disguised(self, body: bytes) -> Iterator[Span]:
        """Places of texts that another search than one for their bytes finds."""
        yield from self._broken(body)
        if (joined := joined_lines(body)) is not None:
            yield from (part for span in self._plain.find(joined.data) for part in joined.spans(*span))
        for reading in decode_layers(body):
            found = [*self._plain.find(reading.data), *self._broken(reading.data)]
            if self.patterns and is_text(reading.data):
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
        """Forms as text files and JSON files mostly spell them."""
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
    """UTF-8. Bytes of a terminal that are none stay what they were; halves of pairs are kept."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


_ESCAPES = {ord("\n"): b"\\n", ord("\r"): b"\\r", ord("\t"): b"\\t", ord("\b"): b"\\b", ord("\f"): b"\\f"}
_ESCAPED = re.compile(rb'[\x00-\x1f"\\]')


def _escaped(data: bytes) -> bytes:
    """As a writer of JSON spells it that escapes no more than it has to."""
    return _ESCAPED.sub(lambda match: _escape(match[0][0]), data)


def _escape(byte: int) -> bytes:
    if byte >= 0x20:
        return bytes((ord("\\"), byte))
    return _ESCAPES.get(byte, b"\\u%04x" % byte)


def _in_bytes(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Places in a text as places in its UTF-8. Counted on from the place before."""
    at_character = at_byte = 0
    for start, end in spans:
        if start < at_character:
            at_character = at_byte = 0
        first = at_byte + len(text[at_character:start].encode("utf-8", "surrogateescape"))
        yield first, first + len(text[start:end].encode("utf-8", "surrogateescape"))
        at_character, at_byte = start, first
