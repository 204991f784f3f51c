"""Search everything that is kept, also what an agent does not know any more.

Memories are searched line by line of their records, other files version by version, the newest first. A file that is
divided into memories is found through these, so that no file of notes is read for each of its versions.
"""

from __future__ import annotations

import time
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_shapes import as_list, as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_core.memories import memory_search
from lifeboat_core.memories.memory_search import NO_FILTERS, MemoryFilters
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.texts.human_text import file_name, snippet_text
from lifeboat_vault.vault import Vault

MEMORY, FILE = "memory", "file"
MOST_BYTES = 512 * 1024 * 1024
"""Bytes of versions of files that one search reads."""
SECONDS = 5.0
"""The time limit for reading them."""
LARGEST_FILE = 4 * 1024 * 1024
_AROUND = 70
_LISTS_MEMORIES = f'"{entry_metas.RECORDS}":["'


@dataclass(frozen=True, slots=True)
class HistoryHit:
    """A text that stands or stood in a memory or in one line of a file, from the kept sequence `first` to `last`.

    `present`: it stands there now. `id` and `memory_type` belong to a memory, `path` and `line` to a file.
    """

    kind: str
    id: str | None
    path: str | None
    line: int | None
    snippet: str
    origin_file: str
    memory_type: str | None
    first: int
    last: int
    present: bool

    def to_json(self) -> JsonObject:
        return {**asdict(self), "sequence": self.last}


@dataclass(slots=True)
class _TextOccurrence:
    """A text and where it stood, from the kept sequence `first` to `last`."""

    text: str
    first: int
    last: int
    present: bool
    record: JsonObject | None = None
    path: str = ""
    line: int | None = None

    def add(self, other: _TextOccurrence) -> None:
        """Extend by the same memory at another time."""
        if other.last >= self.last:
            self.record = other.record
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.present = self.present or other.present


def search_history(
    context: Context, agent: Agent, words: str, filters: MemoryFilters = NO_FILTERS, *, limit: int = 20
) -> JsonObject:
    """Return everything that contains all words, the newest first: what `search --history` writes.

    Filters are about memories: with one no file is searched. Raises RecordError.UNKNOWN_KIND, and what opening the
    vault raises.
    """
    with context.vault(agent.id) as vault, StateDb.open(context.home.state_file(agent.id), vault.id) as db:
        memory_search.update_index(db, vault)
        memory_search.check_type(db, filters.memory_type)
        sought = _SoughtWords(words)
        kept = [row.number for row in vault.sequences()] if sought.words else []
        found = _in_memories(vault, db, kept, sought, filters)
        in_files, unread = ([], 0) if filters != NO_FILTERS or not kept else _in_files(vault, kept, sought)
    ordered = sorted([*found, *in_files], key=lambda each: (-each.last, -each.first, each.path, each.line or 0))
    return {
        "agent": agent.id,
        "history": True,
        "total": len(ordered),
        "truncated": len(ordered) > limit or unread > 0,
        "unread": unread,
        "hits": [_hit(each, sought).to_json() for each in ordered[:limit]],
    }


def _hit(found: _TextOccurrence, sought: _SoughtWords) -> HistoryHit:
    snippet, record = sought.snippet(found.text), found.record
    span = (found.first, found.last, found.present)
    if record is None:
        return HistoryHit(FILE, None, found.path, found.line, snippet, found.path, None, *span)
    memory_type = str(record.get("memory_type", "semantic"))
    return HistoryHit(
        MEMORY, str(record["id"]), None, None, snippet, memory_records.origin_file(record), memory_type, *span
    )


def _kept_within(kept: list[int], first: int, end: int | None) -> tuple[int, int] | None:
    """Return the first and the last kept sequence from one until before another."""
    low = bisect_left(kept, first)
    high = len(kept) if end is None else bisect_left(kept, end)
    return (kept[low], kept[high - 1]) if low < high else None


# Memories -----------------------------------------------------------------------------------------------------------


def _in_memories(
    vault: Vault, db: StateDb, kept: list[int], sought: _SoughtWords, filters: MemoryFilters
) -> Iterable[_TextOccurrence]:
    superseded: dict[str, int] = {}
    fitting = []
    for record_id, line, first, last in vault.stays_of_records() if kept else ():
        if b'"supersedes"' in line:
            before = str(memory_records.parse_record(line).get("supersedes"))
            superseded[before] = min(first, superseded.get(before, first))
        if sought.may_be_in(line):
            fitting.append((record_id, line, first, last))
    found: dict[tuple[str, str], _TextOccurrence] = {}
    for record_id, line, first, last in fitting:
        record = memory_records.parse_record(line)
        text = str(record.get("content", ""))
        if memory_records.is_deleted(record) or not _fits(record, filters) or not sought.is_in(text):
            continue
        end = min((each for each in (last, superseded.get(record_id)) if each is not None), default=None)
        if (span := _kept_within(kept, first, end)) is not None:
            # A chain repeats its text when a user pins or restores the memory.
            one = _TextOccurrence(text, *span, present=end is None, record=record)
            key = (db.winner(record_id), text)
            found.setdefault(key, one).add(one)
    return found.values()


def _fits(record: JsonObject, filters: MemoryFilters) -> bool:
    pairs = (
        (filters.memory_type, record.get("memory_type", "semantic")),
        (filters.namespace, record.get("namespace", "default")),
        (filters.identity_version, as_object(record.get("source")).get("identity_version")),
    )
    tagged = filters.tag is None or filters.tag in as_list(record.get("tags"))
    return tagged and all(wanted is None or wanted == has for wanted, has in pairs)


# Files --------------------------------------------------------------------------------------------------------------


def _in_files(vault: Vault, kept: list[int], sought: _SoughtWords) -> tuple[list[_TextOccurrence], int]:
    """Return lines of files that are not divided into memories, and how many versions were too much to read."""
    stays = [stay for stay in vault.stays_of_entries(_LISTS_MEMORIES) if _is_text(stay.path) and not stay.is_marked]
    stays.sort(key=lambda stay: (stay.last is not None, -(stay.last or 0), -stay.first))
    found: dict[tuple[str, str], _TextOccurrence] = {}
    left, over, unread = MOST_BYTES, time.monotonic() + SECONDS, 0
    for stay in stays:
        span = _kept_within(kept, stay.first, stay.last)
        if span is None or stay.size > LARGEST_FILE:
            continue
        left -= stay.size
        if left < 0 or time.monotonic() > over:
            unread += 1
            continue
        path = file_name(stay.path)
        for number, line in _lines(vault, stay.object, sought):
            known = found.get((path, line))
            if known is None:
                found[path, line] = _TextOccurrence(line, *span, present=stay.last is None, path=path, line=number)
            else:  # everything in newer versions was read before
                known.first = min(known.first, span[0])
    return list(found.values()), unread


def _is_text(path: str) -> bool:
    return path.startswith((archive_layout.RAW, archive_layout.ARTIFACTS))


def _lines(vault: Vault, number: int, sought: _SoughtWords) -> Iterator[tuple[int, str]]:
    """Yield the lines of a body that contain all words, counted from 1; nothing for a body that is no text."""
    try:
        body = vault.read_object(number)
    except BodyAbsent:
        return
    if b"\0" in body or not sought.may_be_in(body):
        return
    text = body.decode("utf-8", "replace")
    lines = _lines_with(text, max(sought.words, key=len)) if text.isascii() else enumerate(text.split("\n"), 1)
    for place, line in lines:
        if sought.is_in(line):
            yield place, line.rstrip("\r")


def _lines_with(text: str, word: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a plain text that contain a word, counted from 1, without reading the others."""
    lowered, number, counted = text.lower(), 1, 0
    at = lowered.find(word)
    while at >= 0:
        begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        number, counted = number + text.count("\n", counted, begin), begin
        yield number, text[begin : None if end < 0 else end]
        at = -1 if end < 0 else lowered.find(word, end)


# Words --------------------------------------------------------------------------------------------------------------


class _SoughtWords:
    """Words that all have to occur, regardless of case and accents; each may be part of a longer word."""

    def __init__(self, words: str) -> None:
        self.words = [folded for word in words.split() if (folded := fold_text(word))]
        self._plain = [data for word in self.words if (data := word.encode()).isalnum()]

    def may_be_in(self, data: bytes) -> bool:
        """Return whether the words may occur. The quick check has false positives only: JSON escapes some
        characters."""
        if not data.isascii() or b"\\u" in data:
            return True
        lowered = data.lower()
        return all(word in lowered for word in self._plain)

    def is_in(self, text: str) -> bool:
        folded = fold_text(text)
        return all(word in folded for word in self.words)

    def snippet(self, text: str) -> str:
        """Return the surroundings of the first word in one line, every word in brackets."""
        flat = snippet_text(text, width=len(text) + 1)
        folded = [fold_text(sign) for sign in flat]
        whole = "".join(folded)
        places: list[int] = [place for place, signs in enumerate(folded) for _ in signs]
        marks = sorted(self._marks(whole, places))
        first = marks[0][0] if marks else 0
        begin, end = max(0, first - _AROUND), min(len(flat), first + 2 * _AROUND)
        made, at = "..." if begin else "", begin
        for start, stop in marks:
            if at <= start and stop <= end:
                made += f"{flat[at:start]}[{flat[start:stop]}]"
                at = stop
        return made + flat[at:end] + ("..." if end < len(flat) else "")

    def _marks(self, whole: str, places: list[int]) -> Iterator[tuple[int, int]]:
        """Return where words begin and end in the text before folding."""
        for word in self.words:
            at = whole.find(word)
            while at >= 0:
                yield places[at], places[at + len(word) - 1] + 1
                at = whole.find(word, at + len(word))


def fold_text(text: str) -> str:
    """Return a text without case and accents."""
    if text.isascii():
        return text.lower()
    return "".join(sign for sign in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(sign))
