"""Find the texts of purged records in files: in the files they came from, and longer ones everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from lifeboat_alf.purging.byte_spans import Span, is_json, join_spans
from lifeboat_alf.purging.purge_terms import PurgeTerms

SHORTEST_PASSAGE = 12
"""Characters. A shorter text (`yes`, a name) is removed only from files known to hold the record."""


@dataclass(frozen=True)
class PurgedTexts:
    """Texts of purged records in all versions, by id. `kept` are texts of remaining records that contain one of them;
    nothing inside those is a match."""

    by_id: Mapping[str, frozenset[str]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.by_id)

    def spans(self, path: str, body: bytes, listed: Iterable[str] = ()) -> list[Span]:
        """Return where the texts occur in a file. `listed` are the ids of the records that it is known to hold."""
        found = self.long.spans(path, body)
        found += self._short_spans(path, body, listed)
        kept = self._kept.spans(path, body) if found and self.kept else []
        return join_spans(span for span in found if not any(_holds(other, span) for other in kept))

    def stand_in(self, partition: str, line: bytes) -> bool:
        """Return whether a record's line contains one of the longer texts."""
        return bool(self.long.spans(partition, line))

    @cached_property
    def long(self) -> PurgeTerms:
        return PurgeTerms(
            tuple(sorted({text for texts in self.by_id.values() for text in texts if _is_long(text)})), disguised=False
        )

    @cached_property
    def _kept(self) -> PurgeTerms:
        return PurgeTerms(tuple(sorted(self.kept)), disguised=False)

    @cached_property
    def _short(self) -> dict[str, frozenset[str]]:
        short = {name: frozenset(text for text in texts if not _is_long(text)) for name, texts in self.by_id.items()}
        return {name: texts for name, texts in short.items() if texts}

    def _short_spans(self, path: str, body: bytes, listed: Iterable[str]) -> Iterator[Span]:
        own = {text for record_id in listed for text in self._short.get(record_id, ())}
        if not own:
            return
        for start, end in PurgeTerms(tuple(sorted(own)), disguised=False).spans(path, body):
            if _stands_alone(body, start, end, in_json=is_json(path)):
                yield start, end


def _is_long(text: str) -> bool:
    return len(text.strip()) >= SHORTEST_PASSAGE


def _holds(outer: Span, inner: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


_WORD = re.compile(rb"[0-9A-Za-z_\x80-\xff]")


def _stands_alone(body: bytes, start: int, end: int, *, in_json: bool) -> bool:
    """Return whether a short text is a whole JSON string or, in other files, not part of a longer word."""
    before, after = body[max(start - 1, 0) : start], body[end : end + 1]
    if in_json:
        return before == after == b'"'
    starts_word, ends_word = _WORD.match(body[start : start + 1]), _WORD.match(body[end - 1 : end])
    return not (starts_word and _WORD.match(before)) and not (ends_word and _WORD.match(after))
