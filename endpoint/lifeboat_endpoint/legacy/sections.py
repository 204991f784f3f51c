"""How the older client divides a note into memories, and back. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

_WRITTEN_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_WHOLE = "active-context"
"""A file with this in its path is one memory, byte for byte."""


class Section(NamedTuple):
    """One memory of a note. `line` is where it begins, counted from 1."""

    line: int
    content: str


def split(path: str, text: str) -> list[Section]:
    """At every line that begins with `## `; blank sections are no memories. Line ends are not part of them."""
    if _WHOLE in path.lower():
        return [Section(1, text)] if text.strip() else []
    found: list[tuple[int, list[str]]] = [(1, [])]
    for number, line in enumerate(_lines(text), 1):
        if line.startswith("## "):
            found.append((number, []))
        found[-1][1].append(line)
    sections = (Section(number, "\n".join(lines)) for number, lines in found)
    return [section for section in sections if section.content.strip()]


def join(path: str, sections: Iterable[Section], like: str = "\n") -> str:
    """The note of these sections, in the order of their lines. `like` is the note as it once was: how its lines ended,
    and whether the last one ended at all, which no memory says, stays so for what is still there."""
    ordered = sorted(sections, key=lambda section: section.line)
    if _WHOLE in path.lower():
        return "".join(section.content for section in ordered)
    usual = "\r\n" if 2 * like.count("\r\n") > like.count("\n") else "\n"
    known = _as_written(like)
    made = [usual * (ordered[0].line - 1)] if ordered else []
    for section in ordered:
        written = known.get(section.content)
        text, end = written.pop(0) if written else (_with_line_ends(section.content, like, usual), usual)
        made += [text, end or usual]
    last = made.pop() if ordered else ""
    return "".join(made) + (last if like.endswith("\n") else "")


def _as_written(note: str) -> dict[str, list[tuple[str, str]]]:
    """{content: [(what the note says, how its last line ends)]} of the sections of a note, in their order."""
    groups: list[list[str]] = [[]]
    for line in _WRITTEN_LINE.findall(note) if "\r" in note else ():
        if line.startswith("## "):
            groups.append([])
        groups[-1].append(line)
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for lines in groups:
        written = "".join(lines)
        text = written.removesuffix("\n").removesuffix("\r") if written.endswith("\n") else written
        found["\n".join(_lines(written))].append((text, written[len(text) :]))
    return found


def _with_line_ends(text: str, like: str, usual: str) -> str:
    """A changed section with the line ends of the lines that `like` has as well, and the usual one after others."""
    if "\r\n" not in like:
        return text
    ends = {line.removesuffix("\r"): "\r\n" if line.endswith("\r") else "\n" for line in like.split("\n")[:-1]}
    *lines, last = text.split("\n")
    return "".join(line + (ends.get(line, usual) if line else usual) for line in lines) + last


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
