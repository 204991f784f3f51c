"""Match the sections of changed files with memories, by their texts alone.

The order is: same file and bytes; same bytes in another changed file that lost them; same bytes as something deleted
recently; same text except for surrounding white space; same heading; enough words in common; else the section is new.
The position in the file does not matter, so an insertion never moves an identity.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

WORDS_IN_COMMON = 0.6
MOST_PAIRS = 200
_WORD = re.compile(r"\w+")

Heading = tuple[str, ...]


class HeldMemory(NamedTuple):
    """A memory that the head lists for a file. `gone`: the user forgot it, although its text is still in the file."""

    id: str
    content: str
    heading: Heading = ()
    gone: bool = False


class FileSection(NamedTuple):
    """A section of the file as it is now."""

    content: str
    heading: Heading = ()


class SectionMatch(NamedTuple):
    """The memory that a section is, and how it was recognised: `same`, `spaced` (only surrounding white space changed),
    `edited` or `revived`."""

    id: str
    how: str


SAME, SPACED, EDITED, REVIVED = "same", "spaced", "edited", "revived"

Revivable = Callable[[str], SectionMatch | None]
"""Finds the memory of a text that no changed file held: one deleted recently (revived), or one from elsewhere that no
file lists yet (same)."""


@dataclass(slots=True)
class ChangedFile:
    """A changed file: its old memories, its sections now, and the decisions so far (`found`, by position in `new`).

    `adopting`: the head lists no memories for the file. Its old memories only came from a file of this name, and are
    not lost if no section matches.
    """

    path: str
    old: list[HeldMemory]
    new: list[FileSection]
    adopting: bool = False
    found: dict[int, SectionMatch] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def left_old(self) -> list[HeldMemory]:
        return [old for old in self.old if old.id not in self.taken]

    def left_new(self) -> list[int]:
        return [place for place in range(len(self.new)) if place not in self.found]

    def decide(self, place: int, old_id: str, how: str) -> None:
        self.found[place] = SectionMatch(old_id, how)
        self.taken.add(old_id)


Headings = Callable[[ChangedFile], list[Heading]]
"""Returns the headings of a file's old sections, in order. Called only when needed."""


def match_sections(files: Sequence[ChangedFile], revivable: Revivable, headings: Headings) -> None:
    """Match every section of every changed file. Afterwards `left_old` are the memories that were lost, `left_new` the
    new sections."""
    for file in files:
        _same_bytes(file)
    _moved(files)
    for file in files:
        _revived(file, revivable)
    for file in files:
        _spaced(file)
        if file.left_new() and any(not old.gone for old in file.left_old()):
            _edited(file, headings(file))


def _same_bytes(file: ChangedFile) -> None:
    waiting = _by_content(file.old)
    for place, new in enumerate(file.new):
        if waiting[new.content]:
            file.decide(place, waiting[new.content].pop(0).id, SAME)


def _by_content(olds: Iterable[HeldMemory]) -> defaultdict[str, list[HeldMemory]]:
    waiting: defaultdict[str, list[HeldMemory]] = defaultdict(list)
    for old in olds:
        waiting[old.content].append(old)
    return waiting


def _moved(files: Sequence[ChangedFile]) -> None:
    lost: defaultdict[str, list[tuple[ChangedFile, HeldMemory]]] = defaultdict(list)
    for file in files:
        for old in file.left_old():
            if old.content.strip():
                lost[old.content].append((file, old))
    for file in files:
        for place in file.left_new():
            if lost[file.new[place].content]:
                source, old = lost[file.new[place].content].pop(0)
                file.decide(place, old.id, SAME)
                source.taken.add(old.id)


def _revived(file: ChangedFile, revivable: Revivable) -> None:
    for place in file.left_new():
        found = revivable(file.new[place].content)
        if found is not None:
            file.decide(place, *found)


def _spaced(file: ChangedFile) -> None:
    """Match sections that only gained or lost blank lines at their ends, as the one before an insertion does."""
    waiting = _by_content(old._replace(content=old.content.strip()) for old in file.left_old() if not old.gone)
    for place in file.left_new():
        text = file.new[place].content.strip()
        if text and waiting[text]:
            file.decide(place, waiting[text].pop(0).id, SPACED)


def _edited(file: ChangedFile, found: list[Heading]) -> None:
    headings = found if len(found) == len(file.old) else [old.heading for old in file.old]
    olds = _with_headings(file, headings)
    _same_heading(file, olds, Counter(headings), Counter(new.heading for new in file.new))
    left = [old for old in olds if old.id not in file.taken]
    places = file.left_new()
    if not left or not places:
        return
    if len(left) > MOST_PAIRS or len(places) > MOST_PAIRS:
        _by_order(file, left, places)
    else:
        _same_words(file, left, places)


def _with_headings(file: ChangedFile, headings: list[Heading]) -> list[HeldMemory]:
    pairs = zip(file.old, headings, strict=True)
    return [old._replace(heading=heading) for old, heading in pairs if old.id not in file.taken and not old.gone]


def _same_heading(file: ChangedFile, olds: list[HeldMemory], before: Counter[Heading], after: Counter[Heading]) -> None:
    """Match by headings that occur once in the old and once in the new text."""
    by_heading = {old.heading: old for old in olds if before[old.heading] == 1}
    for place in file.left_new():
        heading = file.new[place].heading
        old = by_heading.get(heading) if heading and after[heading] == 1 else None
        if old is not None:
            file.decide(place, old.id, EDITED)


def _same_words(file: ChangedFile, olds: list[HeldMemory], places: list[int]) -> None:
    """Match by words in common, the best pairs first, then those that come first in the file."""
    old_words = [_words(old.content) for old in olds]
    pairs = []
    for place in places:
        words = _words(file.new[place].content)
        for number, others in enumerate(old_words):
            share = _in_common(words, others)
            if share >= WORDS_IN_COMMON:
                pairs.append((-share, place, number))
    for _, place, number in sorted(pairs):
        if place not in file.found and olds[number].id not in file.taken:
            file.decide(place, olds[number].id, EDITED)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _in_common(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(len(one), len(other), 1)


def _by_order(file: ChangedFile, olds: list[HeldMemory], places: list[int]) -> None:
    """Match the n-th remaining section with the n-th remaining memory, when there are too many to compare."""
    for place, old in zip(places, olds, strict=False):
        file.decide(place, old.id, EDITED)
