"""The places of matches, as people may see them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lifeboat_alf.purging.items import Hit
from lifeboat_alf.purging.masking import masked
from lifeboat_alf.purging.spans import Span
from lifeboat_alf.purging.views import ESCAPE, character, is_binary


class Hits:
    """Each place once, however many versions have it."""

    def __init__(self) -> None:
        self._found: dict[Hit, None] = {}

    def listed(self) -> list[Hit]:
        return list(self._found)

    def of_record(self, record_id: str, line: bytes, spans: Iterable[Span], wanted: Collection[Span]) -> None:
        """`wanted` are those of the spans that are what a person looks for; of what a record said nothing is shown."""
        for span in spans:
            self._found[Hit(record_id, None, _shown(line, span, wanted), "record")] = None

    def of_file(self, path: str, body: bytes, spans: Iterable[Span], wanted: Collection[Span]) -> None:
        """As `of_record`, with lines."""
        line, position = 1, 0
        for span in spans:
            line += body.count(b"\n", position, span[0])
            position = span[0]
            self._found[Hit(path, None if is_binary(body) else line, _shown(body, span, wanted), "file")] = None

    def of_name(self, path: str) -> None:
        """A name is shown anyway: nothing is masked in it."""
        self._found[Hit(path, None, masked("", (0, 0)), "name")] = None


def _shown(body: bytes, span: Span, wanted: Collection[Span]) -> str:
    """Two of the letters of a match, not of the escapes that spell them."""
    if span not in wanted:
        return masked("", (0, 0))
    text = ESCAPE.sub(lambda match: character(match[0]), body[slice(*span)]).decode(errors="replace").rstrip()
    return masked(text, (0, len(text)))
