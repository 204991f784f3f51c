"""Split ZeroClaw's notes: into sections as for every runtime, and into the entries that its Markdown
backend appends."""

from __future__ import annotations

import re
from dataclasses import replace

from lifeboat_adapters.contract import MemorySection
from lifeboat_adapters.notes import note_splitting

VERSION = note_splitting.VERSION

_ENTRY = re.compile(r"- \*\*([^*\n]{1,400})\*\*: ")
"""`- **user_lang**: prefers Rust`, one per line."""


def split_zeroclaw_note(name: str, text: str) -> list[MemorySection] | None:
    """Return the memories in a file, by its name in the workspace, None for a file without memories."""
    sections = note_splitting.split_note(name, text, _ENTRY)
    return None if sections is None else [_headed(section) for section in sections]


def _headed(section: MemorySection) -> MemorySection:
    """Return an entry with its key as heading. It stays the same memory as long as its key does."""
    entry = _ENTRY.match(section.content)
    return section if entry is None or section.heading else replace(section, heading=(entry[1],))
