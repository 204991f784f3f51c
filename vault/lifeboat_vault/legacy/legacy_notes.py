"""The notes of a workspace as the memory has them: for clients that send memories without files, and restore files
without looking at memories."""

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
    """Whether the older client divides a file (relative to the workspace) into memories."""
    if runtime == "openclaw" and path == "MEMORY.md":
        return True
    parts = path.split("/")
    return parts[0] == "memory" and len(parts) > 1 and path.endswith(".md") and not {"", ".", ".."} & set(parts)


def section_of(record: JsonObject) -> NoteSection:
    """A memory of that client, at the line where it found it; far behind all others where it does not say."""
    place = record.get("raw_source_format")
    line = place.get("line_start") if isinstance(place, dict) else None
    return NoteSection(line if type(line) is int and 0 < line < _LAST else _LAST, str(record.get("content", "")))


def changed_notes(
    memories: Iterable[JsonObject], files: Iterable[str], runtime: str, read: Callable[[str], bytes | None]
) -> dict[str, bytes | None]:
    """{path: note, None when no memory of it is left} of those `files` that do not say what their memories say. `read`
    gives what a file says, None where there is none. Paths are relative to the workspace."""
    sections: dict[str, list[NoteSection]] = {path: [] for path in files if is_note(path, runtime)}
    for record in memories:
        if memory_records.origin_file(record) in sections:
            sections[memory_records.origin_file(record)].append(section_of(record))
    found = {}
    for path, own in sections.items():
        old = read(path)
        new = renew_note(path, old, own)
        if new != old:
            found[path] = new
    return found


def renew_note(path: str, body: bytes | None, sections: list[NoteSection]) -> bytes | None:
    """A note as its memories say, None when none of them is left. `body` is what it once was; it stays to the byte
    where it still says the same."""
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
    """In the order of their lines; what says none stands behind, and makes no blank lines before it."""
    ordered = sorted(sections, key=lambda section: section.line)
    return [section._replace(line=1) for section in ordered] if ordered and ordered[0].line == _LAST else ordered


def is_database(path: str) -> bool:
    return path.endswith(_DATABASES)


def gather_notes(memories: Iterable[JsonObject], taken: Collection[str]) -> dict[str, bytes]:
    """{path: note} for memories that stand in no file: rows of a database, mostly. One note a day for what has a day,
    one for each namespace otherwise; `taken` are the paths of files that are there."""
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
