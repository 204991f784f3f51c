"""Divide a note into memories as the older client does, and join them again. Pure."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lifeboat_vault.legacy.line_ends import WrittenLine, match_lines, written_lines

_WHOLE = "active-context"
"""A file with this in its path is a single memory, byte for byte."""
_MOST_BLANK = 100_000
"""Maximum lines before the first section, because a client may claim any number."""


class NoteSection(NamedTuple):
    """One memory of a note. `line` is its first line, counted from 1."""

    line: int
    content: str


def split_sections(path: str, text: str) -> list[NoteSection]:
    """Split a text at every line that begins with `## `. Blank sections are no memories. Line ends are not included."""
    if _WHOLE in path.lower():
        return [NoteSection(1, text)] if text.strip() else []
    found: list[tuple[int, list[str]]] = [(1, [])]
    for number, line in enumerate(_lines(text), 1):
        if line.startswith("## "):
            found.append((number, []))
        found[-1][1].append(line)
    sections = (NoteSection(number, "\n".join(lines)) for number, lines in found)
    return [section for section in sections if section.content.strip()]


def join_sections(path: str, sections: Iterable[NoteSection], like: str = "\n") -> str:
    """Join sections in line order into a note. `like` is its earlier content.

    Memories do not record line ends, nor whether the last line had one. So each line keeps its earlier end, and an
    added line gets the most common one.
    """
    ordered = sorted(sections, key=lambda section: section.line)
    if _WHOLE in path.lower():
        return "".join(section.content for section in ordered)
    if not ordered:
        return ""
    old = written_lines(like)
    usual = "\r\n" if 2 * like.count("\r\n") > like.count("\n") else "\n"
    before = min(ordered[0].line - 1, _MOST_BLANK)
    blank = _blank_beginning(old)[:before]
    blank += [WrittenLine("", usual)] * (before - len(blank))
    lines = [line.text for line in blank] + [line for section in ordered for line in section.content.split("\n")]
    ends = [old[place].end if place is not None else "" for place in _places(old, lines, ordered, len(blank))]
    made = [line + _ended(end, usual) for line, end in zip(lines[:-1], ends[:-1], strict=True)]
    return "".join([*made, _last(lines[-1], ends[-1], like, usual)])


def _ended(end: str, usual: str) -> str:
    """Return the end of a line that is followed by another. A lone CR at the end of the note stays."""
    return end if end.endswith("\n") else "\r\n" if end else usual


def _last(line: str, end: str, like: str, usual: str) -> str:
    """Return the last line, ended as the note was. The last of several lone CRs may or may not have been sent with
    it."""
    if like.endswith("\n"):
        return line + _ended(end, usual)
    return line + "\r" if end and _lone_returns(line) < _lone_returns(like) else line


def _lone_returns(text: str) -> int:
    return len(text) - len(text.rstrip("\r"))


def _blank_beginning(old: list[WrittenLine]) -> list[WrittenLine]:
    """Return the blank lines before the first section, which no memory contains."""
    said = next((place for place, line in enumerate(old) if line.text.strip()), len(old))
    return old[:said]


def _places(old: list[WrittenLine], lines: list[str], ordered: list[NoteSection], start: int) -> list[int | None]:
    """Return the earlier place of each line. A section that moved as a whole came from the place of its text."""
    known = [line.text for line in old]
    found = match_lines(known, lines)
    taken = {place for place, line in zip(found, lines, strict=True) if place is not None and known[place] == line}
    moved: dict[str, list[int]] = defaultdict(list)
    for at, text in _groups(known):
        if taken.isdisjoint(range(at, at + text.count("\n") + 1)):
            moved[text].append(at)
    for section in ordered:
        end = start + section.content.count("\n") + 1
        own = zip(found[start:end], lines[start:end], strict=True)
        is_there = all(place is not None and known[place] == line for place, line in own)
        if not is_there and moved.get(section.content):
            at = moved[section.content].pop(0)
            found[start:end] = range(at, at + end - start)
        start = end
    return found


def _groups(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the sections of a note with the index of their first line."""
    starts = [*([0] if lines else []), *(place for place, line in enumerate(lines) if place and line.startswith("## "))]
    for start, end in itertools.pairwise([*starts, len(lines)]):
        yield start, "\n".join(lines[start:end])


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
