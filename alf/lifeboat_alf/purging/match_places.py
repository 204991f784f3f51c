"""Collect the places of matches, masked for display."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lifeboat_alf.purging.byte_spans import Span
from lifeboat_alf.purging.mask_match import mask_span
from lifeboat_alf.purging.purge_items import PurgeMatch
from lifeboat_alf.purging.unescaped_views import ESCAPE, decode_escape, is_binary


class MatchPlaces:
    """Places of matches; each is listed once, however many versions have it."""

    def __init__(self) -> None:
        self._found: dict[PurgeMatch, None] = {}

    def listed(self) -> list[PurgeMatch]:
        return list(self._found)

    def of_record(self, record_id: str, line: bytes, spans: Iterable[Span], wanted: Collection[Span]) -> None:
        """Add the matches in a record line. Only the spans in `wanted` are shown masked; nothing of the record's own
        text is shown."""
        for span in spans:
            self._found[PurgeMatch(record_id, None, _shown(line, span, wanted), "record")] = None

    def of_file(self, path: str, body: bytes, spans: Iterable[Span], wanted: Collection[Span]) -> None:
        """Add the matches in a file, with line numbers."""
        line, position = 1, 0
        for span in spans:
            line += body.count(b"\n", position, span[0])
            position = span[0]
            self._found[PurgeMatch(path, None if is_binary(body) else line, _shown(body, span, wanted), "file")] = None

    def of_name(self, path: str) -> None:
        """Add a path. File names are visible anyway, so nothing is masked."""
        self._found[PurgeMatch(path, None, mask_span("", (0, 0)), "name")] = None


def _shown(body: bytes, span: Span, wanted: Collection[Span]) -> str:
    """Return a match with its last two letters shown, without the escapes that spell them."""
    if span not in wanted:
        return mask_span("", (0, 0))
    text = ESCAPE.sub(lambda match: decode_escape(match[0]), body[slice(*span)]).decode(errors="replace").rstrip()
    return mask_span(text, (0, len(text)))
