"""How the older client divides a note into memories, and back. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

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
    """The note of these sections, in the order of their lines. `like` is the note as it once was: whether its lines
    ended in CRLF and the last one ended at all, which no memory says, stays so."""
    ordered = sorted(sections, key=lambda section: section.line)
    if _WHOLE in path.lower():
        return "".join(section.content for section in ordered)
    blank = "\n" * (ordered[0].line - 1) if ordered else ""
    text = blank + "\n".join(section.content for section in ordered)
    ended = text + "\n" if like.endswith("\n") else text
    return ended.replace("\n", "\r\n") if _is_crlf(like) else ended


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _is_crlf(text: str) -> bool:
    return "\r\n" in text and text.count("\n") == text.count("\r\n")
