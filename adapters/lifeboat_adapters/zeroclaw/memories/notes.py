"""Memories in ZeroClaw's notes: sections as everywhere, and the entries that its Markdown backend appends."""

from __future__ import annotations

import re
from dataclasses import replace

from lifeboat_adapters.contract import Section
from lifeboat_adapters.notes import splitting

VERSION = splitting.VERSION

_ENTRY = re.compile(r"- \*\*([^*\n]{1,400})\*\*: ")
"""`- **user_lang**: prefers Rust`, one a line."""


def split(name: str, text: str) -> list[Section] | None:
    """The memories in a file, by its name in the workspace; None for a file that holds none."""
    sections = splitting.split(name, text, _ENTRY)
    return None if sections is None else [_headed(section) for section in sections]


def _headed(section: Section) -> Section:
    """An entry with its key as heading: it is the same memory as long as that stays."""
    entry = _ENTRY.match(section.content)
    return section if entry is None or section.heading else replace(section, heading=(entry[1],))
