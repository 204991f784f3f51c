"""Comments that mark the memories in one note, where they could not be told apart without them.

    <!-- memory 4f1c09ab -->
    Likes green tea.
    <!-- memory 77d2e03c -->
    The boat lies in the harbour.
    <!-- /memory -->

The comments are no part of a memory. Rendered Markdown does not show them, and text that an agent appends after the
last one becomes a new memory. Everything between two comments is one memory, including headings and code. Lines of a
memory that look like such a comment get a backslash.
"""

from __future__ import annotations

import re
from typing import NamedTuple

CLOSE = "<!-- /memory -->\n"

LARGEST = 1 << 23
"""Characters of a memory between comments. A longer one is read as plain text, because the size of a line in an archive
is limited."""

_HINT = "memory"
_LABEL_LENGTH = 8
_COMMENT = re.compile(r"^<!-- (/?)memory(?: ([0-9A-Za-z]{1,8}))? -->[ \t\r]*(?:\n|\Z)", re.MULTILINE)
_BLANK = re.compile(r"(?:[ \t\r]*\n)*(?:[ \t\r]*\Z)?")
_LIKE_ONE = re.compile(r"^<!-- (?=\\*/?memory\b)", re.MULTILINE)
_ESCAPED = re.compile(r"^<!-- \\(?=\\*/?memory\b)", re.MULTILINE)


class NoteStretch(NamedTuple):
    """Consecutive lines of a note: plain text, or one memory with its comment. `memory` is the text of the memory,
    `label` its label in the comment."""

    text: str
    memory: str | None = None
    label: str = ""


def prefix_comment(record_id: str, content: str) -> str:
    """Return a memory behind its comment. A `CLOSE` has to follow before plain text does."""
    named = memory_label(record_id)
    return f"<!-- memory{f' {named}' if named else ''} -->\n{_LIKE_ONE.sub(_add_backslash, content)}\n"


def _add_backslash(match: re.Match[str]) -> str:
    return f"{match[0]}\\"


def memory_label(record_id: str) -> str:
    """Return the end of an id, which is its random part."""
    return re.sub(r"[^0-9A-Za-z]", "", record_id)[-_LABEL_LENGTH:]


def split_into_stretches(text: str) -> list[NoteStretch]:
    """Split a note into stretches. Joining their texts gives the note. Blank lines between memories belong to the one
    before."""
    found: list[NoteStretch] = []
    opened: re.Match[str] | None = None
    at = 0
    for mark in _COMMENT.finditer(text) if _HINT in text else ():
        if opened is None and mark[1]:
            continue  # a closing comment without an opening one is plain text
        end = mark.end() if mark[1] else mark.start()
        _add(found, text[at:end], opened, text[opened.end() : mark.start()] if opened else "")
        opened, at = None if mark[1] else mark, end
    _add(found, text[at:], opened, text[opened.end() :] if opened else "")
    return found


def _add(found: list[NoteStretch], text: str, opened: re.Match[str] | None, body: str) -> None:
    if opened is None and found and found[-1].memory is not None:
        blank = _BLANK.match(text)
        end = blank.end() if blank is not None else 0
        found[-1] = found[-1]._replace(text=found[-1].text + text[:end])
        text = text[end:]
    if opened is not None and len(body) <= LARGEST:
        before = found.pop().text if found and not found[-1].text.strip() else ""
        found.append(NoteStretch(before + text, _take_off(body), opened[2] or ""))
    elif text:
        found.append(NoteStretch(text))


def _take_off(body: str) -> str:
    """Return the memory without its comment and without blank lines around it."""
    return _ESCAPED.sub("<!-- ", body.removesuffix("\n")) if body.strip() else ""
