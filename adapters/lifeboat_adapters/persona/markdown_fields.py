"""Parse fields from IDENTITY.md, USER.md and AGENTS.md by fixed rules, without a model.

Three shapes are understood: `- **Key:** value`, lists and tables under a heading. All other text is prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lifeboat_adapters.notes import markdown_sections

_PAIR = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?(?:\*\*|__)?([^\W\d_][\w '/()-]{0,40}?)[ \t]*(?:\*\*|__)?:(?:\*\*|__)?[ \t]+(\S.*)"
)
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(\S.*)")
_EMPHASIS = re.compile(r"[*`]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")
_PLACEHOLDER = re.compile(r"[_*]*\(.*\)[_*]*|[_*]+|[-–—]+|\[.*\]|\{.*\}")
_RULE_CELL = re.compile(r":?-+:?")


class HeadedText(NamedTuple):
    """The text under one heading, up to the next heading of any level. `title` is "" for the text before the first
    heading."""

    title: str
    text: str


def split_at_headings(text: str) -> list[HeadedText]:
    """Return the text under each heading, with titles in lower case and without code."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in markdown_sections.parse_lines(text):
        if line.level:
            found.append((strip_emphasis(line.title).lower(), []))
        elif not line.code:
            found[-1][1].append(line.text)
    return [HeadedText(title, "".join(lines)) for title, lines in found]


def text_under_headings(text: str, titles: re.Pattern[str]) -> str:
    """Return the joined text under every heading whose title matches."""
    return "".join(part.text for part in split_at_headings(text) if titles.search(part.title))


def key_value_pairs(text: str) -> dict[str, str]:
    """Return `Key: value` lines with keys in lower case. The first value of each key counts; placeholders
    are skipped."""
    found: dict[str, str] = {}
    for part in split_at_headings(text):
        for line in part.text.splitlines():
            match = _PAIR.fullmatch(line[:2000])
            value = strip_emphasis(match[2]) if match else ""
            if match and value and not _PLACEHOLDER.fullmatch(match[2].strip()):
                found.setdefault(match[1].strip().lower(), value)
    return found


def list_items(text: str) -> Iterator[str]:
    """Yield the list items that are not indented, without their mark."""
    for line in text.splitlines():
        match = _ITEM.fullmatch(line)
        if match:
            yield match[1].strip()


def table_rows(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows of every table, as header (lower case) to cell."""
    header: list[str] = []
    for line in text.splitlines():
        cells = _cells(line)
        if not cells:
            header = []
        elif not header:
            header = [cell.lower() for cell in cells]
        elif not all(_RULE_CELL.fullmatch(cell) for cell in cells):
            yield dict(zip(header, cells, strict=False))


def _cells(line: str) -> list[str]:
    line = line.strip()
    if not line.startswith("|"):
        return []
    return [strip_emphasis(cell) for cell in line.strip("|").split("|")]


def strip_emphasis(text: str) -> str:
    """Return a text without emphasis marks and surrounding white space."""
    return _EMPHASIS.sub("", text).strip() if text else ""


def split_listed_value(text: str) -> list[str]:
    """Return the parts of a value like `noted; the tide does not wait` or `harbour chart, tile server`."""
    parts = text.split(";") if ";" in text else text.split(",")
    return [part.strip() for part in parts if part.strip()]


def find_titled_section(text: str, title: re.Pattern[str]) -> str:
    """Return the first section whose whole title matches, up to the next heading of the same level, "" if there is
    none."""
    kept: list[str] = []
    level = 0
    for line in markdown_sections.parse_lines(text):
        if level and 0 < line.level <= level:
            break
        if not level and line.level and title.fullmatch(strip_emphasis(line.title).lower()):
            level = line.level
        if level:
            kept.append(line.text)
    return "".join(kept)
