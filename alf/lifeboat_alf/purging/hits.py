"""The places of matches, as people may see them."""

from __future__ import annotations

from collections.abc import Iterable

from lifeboat_alf.passages import Span
from lifeboat_alf.purging.items import Hit
from lifeboat_alf.purging.masking import masked
from lifeboat_alf.purging.views import ESCAPE, character, is_binary


class Hits:
    """Each place once, however many versions have it."""

    def __init__(self) -> None:
        self._found: dict[Hit, None] = {}

    def listed(self) -> list[Hit]:
        return list(self._found)

    def of_record(self, record_id: str, line: bytes, spans: Iterable[Span]) -> None:
        for span in spans:
            self._found[Hit(record_id, None, _shown(line, span), "record")] = None

    def of_file(self, path: str, body: bytes, spans: Iterable[Span]) -> None:
        line, position = 1, 0
        for span in spans:
            line += body.count(b"\n", position, span[0])
            position = span[0]
            self._found[Hit(path, None if is_binary(body) else line, _shown(body, span), "file")] = None

    def of_name(self, path: str) -> None:
        """A name is shown anyway: nothing is masked in it."""
        self._found[Hit(path, None, masked("", (0, 0)), "name")] = None


def _shown(body: bytes, span: Span) -> str:
    """Two of the letters of a match, not of the escapes that spell them."""
    text = ESCAPE.sub(lambda match: character(match[0]), body[slice(*span)]).decode(errors="replace").rstrip()
    return masked(text, (0, len(text)))
