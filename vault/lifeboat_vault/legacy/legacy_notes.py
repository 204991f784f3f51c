"""Derive the notes of a workspace from the memory, for clients that send memories without files and restore files
without memories."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_vault.legacy.note_sections import NoteSection, join_sections, split_sections

_LAST = 1 << 62
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_DATABASES = (".db", ".sqlite", ".sqlite3")


def is_note(path: str, runtime: str) -> bool:
    """Return whether the older client divides a file (relative to the workspace) into memories."""
    if runtime == "openclaw" and path == "MEMORY.md":
        return True
    parts = path.split("/")
    return parts[0] == "memory" and len(parts) > 1 and path.endswith(".md") and not {"", ".", ".."} & set(parts)


def section_of_legacy_memory(record: JsonObject) -> NoteSection:
    """Return a memory of that client at its stated line; after all others without one."""
    place = record.get("raw_source_format")
    line = place.get("line_start") if isinstance(place, dict) else None
    return NoteSection(line if type(line) is int and 0 < line < _LAST else _LAST, str(record.get("content", "")))


def changed_notes(
    memories: Iterable[JsonObject], files: Iterable[str], runtime: str, read: Callable[[str], bytes | None]
) -> dict[str, bytes | None]:
    """Return {path: note} of those `files` that differ from their memories; None when no memory of one is left.

    `read` returns the content of a file, None without one. Paths are relative to the workspace.
    """
    sections: dict[str, list[NoteSection]] = {path: [] for path in files if is_note(path, runtime)}
    for record in memories:
        if memory_records.origin_file(record) in sections:
            sections[memory_records.origin_file(record)].append(section_of_legacy_memory(record))
    found = {}
    for path, own in sections.items():
        old = read(path)
        new = renew_note(path, old, own)
        if new != old:
            found[path] = new
    return found


def renew_note(path: str, body: bytes | None, sections: list[NoteSection]) -> bytes | None:
    """Return a note according to its memories; None when none is left. `body` is its earlier content, kept byte for
    byte where it still says the same."""
    try:
        old = "\n" if body is None else body.decode()
    except UnicodeDecodeError:
        return body
    before = [] if body is None else split_sections(path, old)
    ordered = _placed(sections)
    if body is not None and [item.content for item in before] == [item.content for item in ordered]:
        return body
    return join_sections(path, ordered, old).encode() if ordered else None


def _placed(sections: list[NoteSection]) -> list[NoteSection]:
    """Sort by line. Sections without one go last, and add no blank lines before them."""
    ordered = sorted(sections, key=lambda section: section.line)
    return [section._replace(line=1) for section in ordered] if ordered and ordered[0].line == _LAST else ordered


def is_database(path: str) -> bool:
    return path.endswith(_DATABASES)


def gather_notes(memories: Iterable[JsonObject], taken: Collection[str]) -> dict[str, bytes]:
    """Return {path: note} for memories without a file (usually database rows): one note per day, or per namespace
    without a day. `taken` are the paths of existing files."""
    groups: dict[str, list[str]] = defaultdict(list)
    for record in memories:
        groups[_free(_name(record), taken)].append(str(record.get("content", "")).strip("\n"))
    return {path: ("\n\n".join(contents) + "\n").encode() for path, contents in groups.items()}


def _name(record: JsonObject) -> str:
    temporal = record.get("temporal") or {}
    day = str(temporal.get("observed_at") or temporal.get("created_at") or "")[:10]
    if record.get("memory_type") == "episodic" and day:
        return _NOT_IN_A_NAME.sub("-", day)
    return _NOT_IN_A_NAME.sub("-", str(record.get("namespace") or "")).strip("-.") or "memory"


def _free(name: str, taken: Collection[str]) -> str:
    path = f"memory/{name}.md"
    return f"memory/{name}-records.md" if path in taken else path
