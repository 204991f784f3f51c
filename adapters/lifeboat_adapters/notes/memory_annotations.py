"""Read annotations that agents and users write beside a memory: comments, importance marks and tags."""

from __future__ import annotations

import re
from datetime import date

from lifeboat_adapters.notes import markdown_sections

ENTRY = re.compile(r"[ \t]*<!--\s*observed:")
"""The line that opens an entry of USER.md."""

_COMMENT = re.compile(r"<!--((?:(?!<!--)[^\n]){0,2000}?)-->")
_PART = re.compile(r"\s*([A-Za-z][\w-]{0,40})\s*:\s*(.*?)\s*", re.DOTALL)
_KNOWN = frozenset(("observed", "status", "importance", "trigger", "project"))
_IMPORTANCE = re.compile(r"\[(\w[\w -]{0,40})\|\s*i\s*=\s*(\d{1,6}(?:\.\d{1,6})?)\s*\]")
_TAG = re.compile(r"#(?<![\w/&#\[]#)(?<!\]\(#)([^\W\d_][\w-]{0,60})")


def parse_comments(text: str) -> dict[str, str]:
    """Parse `<!-- observed: 2026-01-02 | status: active -->` into `{"observed": "2026-01-02", "status": "active"}`.

    The first value of each name counts. Unknown names and comments without a colon are ignored.
    """
    found: dict[str, str] = {}
    for comment in _COMMENT.finditer(text):
        for part in comment[1].split("|"):
            match = _PART.fullmatch(part)
            if match and match[1].lower() in _KNOWN:
                found.setdefault(match[1].lower(), match[2])
    return found


def parse_day(text: str | None) -> date | None:
    """Return the day that an annotation names, None when it names none."""
    try:
        return date.fromisoformat((text or "")[:10])
    except ValueError:
        return None


def parse_importance(text: str) -> tuple[float | None, list[str]]:
    """Return the highest importance of marks like `[deadline|i=0.9]`, limited to 0 to 1, and their words."""
    marks = _IMPORTANCE.findall(text)
    if not marks:
        return None, []
    return min(1.0, max(float(value) for _, value in marks)), [word.strip() for word, _ in marks]


def find_tags(text: str) -> list[str]:
    """Return the words after `#` outside code, headings, comments and links."""
    return _TAG.findall(text) if "#" in text else []


def find_confidence_and_tags(text: str) -> tuple[float | None, list[str]]:
    """Return the confidence and the tags of one memory. Each tag is listed once, by kind and in order of appearance."""
    if "|" not in text and not find_tags(text):
        return None, []  # nearly every memory: removing code can only remove tags, never add one
    prose = markdown_sections.without_code(text)
    confidence, words = parse_importance(prose)
    return confidence, list(dict.fromkeys([*words, *find_tags(prose)]))
