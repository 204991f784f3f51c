"""Plan the undo of one change of a memory: which bytes of which file are replaced by which. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lifeboat_adapters.errors import CutMismatch
from lifeboat_adapters.secrets import secret_cutting
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import RecordError
from lifeboat_core.memories.file_memories import MemorySpan

REPLACE, INSERT, REMOVE = "replace", "insert", "remove"
"""The operations on the live file."""


@dataclass(frozen=True, slots=True)
class CapturedNote:
    """A file with memories as one sequence has it: archive path, bytes without secrets, memories in order, the places
    of the cut secrets, and its meta."""

    path: str
    body: bytes
    spans: tuple[MemorySpan, ...]
    cuts: tuple[JsonObject, ...]
    meta: JsonObject

    def find(self, ids: Sequence[str]) -> MemorySpan | None:
        """Return the memory that has one of these ids, the ids of one chain."""
        return next((span for span in self.spans if span.record_id in ids), None)

    def holds_secret(self, start: int, end: int) -> bool:
        return any(start <= int(cut[secret_cutting.OFFSET]) < end for cut in self.cuts)


@dataclass(frozen=True, slots=True)
class MemoryUndo:
    """One planned undo.

    `start` until before `end` are the bytes of `now` that `data` replaces; `now` is None if the newest sequence has no
    such file. `present` and `former` are the texts of the memory before and after the undo, None for none. `sequence`
    is the kept sequence whose text returns. `is_exact`: the whole file becomes that of this sequence, because the
    memory is the only difference. `removes_file`: the file did not exist in that sequence, and nothing is left in it.
    """

    record_id: str
    operation: str
    path: str
    now: CapturedNote | None
    meta: JsonObject
    start: int
    end: int
    data: bytes
    present: str | None
    former: str | None
    sequence: int
    is_exact: bool = False
    removes_file: bool = False

    @property
    def target(self) -> tuple[str, str, str | None]:
        """Return what must be the same in the plan and when the file is written."""
        return self.path, self.operation, self.present

    @property
    def result(self) -> bytes:
        """Return the captured file after the undo."""
        body = b"" if self.now is None else self.now.body
        return body[: self.start] + self.data + body[self.end :]

    @property
    def expected_texts(self) -> list[list[str]]:
        """Return the words of each memory in the file after the undo."""
        spans = () if self.now is None else self.now.spans
        above = [span.text.split() for span in spans if span.end <= self.start]
        below = [span.text.split() for span in spans if span.start >= self.end]
        return [*above, (self.former or "").split(), *below]


def plan_memory_undo(
    record_id: str,
    ids: Sequence[str],
    now: CapturedNote | None,
    former: CapturedNote | None,
    sequence: int,
    winner: Callable[[str], str],
) -> MemoryUndo:
    """Plan to give a memory the text of an earlier sequence.

    `ids` are those of its chain; `winner` returns the current id of a chain. `now` is the file of the newest sequence
    that holds the memory, or held it at `sequence`; `former` is the file that held it at `sequence`. Raises
    RecordError.NO_EARLIER_TEXT if the text is the same, RecordError.HOLDS_SECRET if the earlier text contains a removed
    secret.
    """
    there = None if now is None else now.find(ids)
    before = None if former is None else former.find(ids)
    if there is not None and now is not None:
        operation, path, meta = REPLACE if before is not None else REMOVE, now.path, now.meta
        span = there.start, there.end
    elif before is not None and former is not None:
        operation, path, meta = INSERT, former.path, former.meta
        span = (0, 0) if now is None else (_insertion_point(former, before, now, winner),) * 2
    else:
        raise RecordError.NO_EARLIER_TEXT(f"no file contains the memory {record_id}, now or in sequence {sequence}")
    text = _ByteChange.make(now, former, before, span)
    if former is None or former.path == path:
        text = text.widened(now, former, ids)
    if former is not None and former.holds_secret(text.former_start, text.former_start + len(text.data)):
        raise RecordError.HOLDS_SECRET(
            f"the text of the memory {record_id} in sequence {sequence} contains a secret, which is sealed"
        )
    if now is not None and now.body[text.start : text.end] == text.data:
        raise RecordError.NO_EARLIER_TEXT(f"the memory {record_id} has the same text in sequence {sequence}")
    present, earlier = (None if each is None else each.text for each in (there, before))
    return MemoryUndo(
        record_id,
        operation,
        path,
        now,
        meta,
        text.start,
        text.end,
        text.data,
        present,
        earlier,
        sequence,
        text.is_exact,
    )


@dataclass(frozen=True, slots=True)
class _ByteChange:
    """Bytes `start` until before `end` of the present file become `data`, which stands at `former_start` in the former
    file. `is_exact`: the result is the former file."""

    start: int
    end: int
    data: bytes
    former_start: int = 0
    is_exact: bool = False

    @classmethod
    def make(
        cls, now: CapturedNote | None, former: CapturedNote | None, before: MemorySpan | None, span: tuple[int, int]
    ) -> _ByteChange:
        if former is None or before is None:
            return cls(*span, b"")
        return cls(*span, former.body[before.start : before.end], before.start)

    def widened(self, now: CapturedNote | None, former: CapturedNote | None, ids: Sequence[str]) -> _ByteChange:
        """Return the change that makes the former file, if the memory is the only difference between both files.

        What separates memories (a line with a sign, a blank line) changes with them and belongs to none of them.
        """
        place = _place_of(now, ids) or _place_of(former, ids)
        if _others(now, ids, place) != _others(former, ids, place):
            return self
        old, new = (b"" if note is None else note.body for note in (now, former))
        start = min(self.start, _common_length(old, new))
        kept = min(len(old) - self.end, _common_length(old[start:][::-1], new[start:][::-1]))
        return _ByteChange(start, len(old) - kept, new[start : len(new) - kept], start, is_exact=True)


def _common_length(one: bytes, other: bytes) -> int:
    """Return how many bytes at the beginning are equal."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


def _place_of(note: CapturedNote | None, ids: Sequence[str]) -> int:
    spans = () if note is None else note.spans
    return next((place for place, span in enumerate(spans) if span.record_id in ids), 0)


def _others(note: CapturedNote | None, ids: Sequence[str], place: int) -> list[str]:
    """Return the texts of the other memories of a file. Blank lines before the memory, which stands at `place`, are
    left out. Ids are not compared: a memory that was removed and written again may have another one."""
    spans = () if note is None else note.spans
    others = [span.text for span in spans if span.record_id not in ids]
    if 0 < place <= len(others):
        others[place - 1] = others[place - 1].rstrip()
    return others


def separate_text(note: CapturedNote, data: bytes) -> Iterator[bytes]:
    """Yield the text as it is, and then with what may separate it from the memories around it: line ends, and what
    stands behind other memories of the file."""
    behind = [note.body[span.start : span.end].partition(span.text.encode())[2] for span in note.spans]
    separators = [b"", *dict.fromkeys((b"\n", *filter(None, behind)))]
    for before in separators:
        for after in separators:
            yield before + data + after


def _insertion_point(former: CapturedNote, removed: MemorySpan, now: CapturedNote, winner: Callable[[str], str]) -> int:
    """Return where a removed memory belongs: behind the nearest memory that stood before it, otherwise before the
    nearest one that stood behind it, otherwise at the end."""
    spans = {winner(span.record_id): span for span in now.spans}
    place = former.spans.index(removed)
    for earlier in reversed(former.spans[:place]):
        if (found := spans.get(winner(earlier.record_id))) is not None:
            return found.end
    for later in former.spans[place + 1 :]:
        if (found := spans.get(winner(later.record_id))) is not None:
            return found.start
    return len(now.body)


def locate_in_live(note: CapturedNote, live: bytes, start: int, end: int) -> tuple[int, int] | None:
    """Return where the bytes `start` until before `end` of a captured file stand in the live file, which still has its
    secrets. None if the live file is another version, or if more than one place is possible."""
    if not note.cuts:
        return (start, end) if live == note.body else None
    try:
        pieces = _pieces_between_cuts(note)
    except CutMismatch:
        return None
    texts = [note.body[first:last] for first, last in pieces]
    first_fit, last_fit = _fit_from_left(texts, live), _fit_from_right(texts, live)
    if first_fit is None or first_fit != last_fit:
        return None
    found = [_move(offset, pieces, first_fit) for offset in (start, end)]
    return None if found[0] is None or found[1] is None else (found[0], found[1])


def _pieces_between_cuts(note: CapturedNote) -> list[tuple[int, int]]:
    at = 0
    found: list[tuple[int, int]] = []
    for cut in note.cuts:
        gap = secret_cutting.span_of_gap(note.body, cut)
        found.append((at, gap.start))
        at = gap.end
    return [*found, (at, len(note.body))]


def _fit_from_left(texts: Sequence[bytes], live: bytes) -> list[int] | None:
    """Return the leftmost places of these texts in order, with at least one byte (a secret) between two; the first
    begins and the last ends the file."""
    if not live.startswith(texts[0]) or not live.endswith(texts[-1]):
        return None
    found, at = [0], len(texts[0])
    for text in texts[1:-1]:
        place = live.find(text, at + 1)
        if place < 0:
            return None
        found.append(place)
        at = place + len(text)
    last = len(live) - len(texts[-1])
    return [*found, last] if last > at else None


def _fit_from_right(texts: Sequence[bytes], live: bytes) -> list[int] | None:
    turned = _fit_from_left([text[::-1] for text in reversed(texts)], live[::-1])
    if turned is None:
        return None
    return [len(live) - place - len(text) for place, text in zip(reversed(turned), texts, strict=True)]


def _move(offset: int, pieces: Sequence[tuple[int, int]], places: Sequence[int]) -> int | None:
    for (first, last), place in zip(pieces, places, strict=True):
        if first <= offset <= last:
            return place + offset - first
    return None
