"""Names of notes in a workspace, and the properties of memories that follow from them."""

from __future__ import annotations

import re
from datetime import date

USER = "USER.md"
MEMORY, LEGACY_MEMORY = "MEMORY.md", "memory.md"
MEMORY_FOLDER = "memory/"
PREFERENCES = "memory/preferences.md"
"""The note with facts about the primary human that USER.md lacks."""

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
CONTEXT = "principal_context:"
"""The beginning of a namespace with facts about one principal (ALF §3.3.2)."""
_CONTEXT = re.compile(rf"{CONTEXT}({_UUID})")
_CONTEXT_FILE = re.compile(rf"memory/principals/({_UUID})\.md")
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[-_. ].*)?\.md", re.DOTALL)


def note_name_of_principal(namespace: str) -> str | None:
    """Return the name of the note about a principal other than the primary human, from its namespace (ALF §3.3.2)."""
    match = _CONTEXT.fullmatch(namespace)
    return f"memory/principals/{match[1]}.md" if match else None


def principal_of_note_name(name: str) -> str | None:
    """Invert `note_name_of_principal`."""
    match = _CONTEXT_FILE.fullmatch(name)
    return f"principal_context:{match[1]}" if match else None


def day_in_note_name(path: str) -> date | None:
    """Return the day in a name like `2026-02-10.md` or `2026-02-12-offer.md`."""
    match = _DAY.fullmatch(path.rpartition("/")[2])
    if match is None:
        return None
    try:
        return date.fromisoformat(match[1])
    except ValueError:
        return None
