"""Render notes from the memories of a state: each memory in the note that it belongs to (ALF §2.1, §3.1.7)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence

from lifeboat_adapters.contract import RenderedFile
from lifeboat_adapters.notes import note_joining, note_names, note_splitting
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import effective_view, memory_records
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import State

STRUCTURED, MERGED = "structured", "merged"

PRINCIPAL = "principal_id"
"""The column of a row that names the only principal who may see a memory."""

Join = Callable[[str, Sequence[note_joining.Memory]], str]
"""A function from the name of a note and its memories to its text."""

NameOf = Callable[[JsonObject, str], str | None]
"""A function from a record and the id of the primary human to the name of its note, None for a memory without one."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80


def render_notes(
    state: State,
    raw: str,
    primary: str,
    *,
    has_profile: bool,
    split: note_splitting.Split = note_splitting.split_note,
    join: Join | None = None,
    name_of: NameOf | None = None,
) -> Iterator[RenderedFile]:
    """Render the notes of the effective memories. Memories that a raw file lists keep its order; other memories of the
    note follow.

    `raw` is the prefix of the workspace in the archive. With a profile, USER.md is written from it instead of from
    memories. `join` makes the text of a note that no raw file lists, `name_of` names the note of a memory, None for one
    without a note.
    """
    listed = find_listed_records(state, raw)
    found: dict[str, list[tuple[int, note_joining.Memory]]] = {}
    for item in effective_view.visible_records(state):
        known = next((listed[id] for id in item.chain_ids if id in listed), None)
        name, place = known or ((name_of or note_name_for_record)(item.record, primary), len(listed))
        memory = (str(item.record["id"]), str(item.record.get("content", "")))
        if name is not None and (known or memory[1].strip()) and (name != note_names.USER or not has_profile):
            found.setdefault(name, []).append((place, memory))
    for name, placed in sorted(found.items()):
        memories = [memory for _, memory in sorted(placed, key=lambda pair: pair[0])]
        entry = state.entry(raw + name)
        is_merged = entry is not None and bool(entry.meta.get(entry_metas.RECORDS))
        if not (is_merged and _says(state, raw, name, memories, split)):
            if join is None:
                text = note_joining.join_note(name, memories, native=is_merged, split=split)
            else:
                text = join(name, memories)
            yield RenderedFile(raw + name, text.encode("utf-8", "surrogatepass"), MERGED if is_merged else STRUCTURED)


def _says(state: State, raw: str, name: str, memories: list[note_joining.Memory], split: note_splitting.Split) -> bool:
    text = state.body(raw + name).decode("utf-8", "replace")
    return note_joining.note_contains_exactly(name, text, (content for _, content in memories), split)


def find_listed_records(state: State, raw: str) -> dict[str, tuple[str, int]]:
    """Return where records stand in raw files, by id: workspace path and position."""
    found: dict[str, tuple[str, int]] = {}
    for entry in state.entries(raw):
        for record_id in entry.meta.get(entry_metas.RECORDS) or []:
            found[record_id] = (entry.path[len(raw) :], len(found))
    return found


def note_name_for_record(record: JsonObject, primary: str = "") -> str:
    """Return the note that a memory belongs to: the one it came from, otherwise one that suits its kind."""
    origin = str((record.get("source") or {}).get("origin_file") or "")
    if _is_note(origin):
        return origin
    namespace = str(record.get("namespace") or "default")
    own = _file_of_one(record, namespace, primary)
    if own is not None:
        return own
    if origin.rpartition("/")[2] == note_names.MEMORY:  # every conversation of its runtime began with it
        return note_names.MEMORY
    if memory_records.reads_as("memory_type", str(record.get("memory_type"))) == "summary":
        return note_names.MEMORY
    if record.get("category") == "daily_log":
        temporal = record.get("temporal") or {}
        return f"{note_names.MEMORY_FOLDER}{str(temporal.get('observed_at') or temporal.get('created_at'))[:10]}.md"
    return f"{note_names.MEMORY_FOLDER}{_file_name(namespace)}.md"


def _file_of_one(record: JsonObject, namespace: str, primary: str) -> str | None:
    """Return the note of a memory that only one principal may see, None for other memories. Such a memory must not be
    in MEMORY.md, which is used in conversations with everyone."""
    if primary and namespace == f"principal_context:{primary}":
        return note_names.PREFERENCES
    if namespace.startswith(note_names.CONTEXT):
        return note_names.note_name_of_principal(namespace) or f"{note_names.MEMORY_FOLDER}{_file_name(namespace)}.md"
    named = _owner_of_row(record)
    return None if named is None else f"{note_names.MEMORY_FOLDER}{_file_name(f'private-{named}')}.md"


def is_for_another_person(record: JsonObject, primary: str) -> bool:
    """Return whether only a principal other than the primary human may see a memory."""
    namespace = str(record.get("namespace") or "default")
    if primary and namespace == f"{note_names.CONTEXT}{primary}":
        return False
    return namespace.startswith(note_names.CONTEXT) or _owner_of_row(record) is not None


def _owner_of_row(record: JsonObject) -> str | None:
    formats = record.get("raw_source_format")
    parts = formats.values() if isinstance(formats, dict) else ()
    rows = (part.get("row") for part in parts if isinstance(part, dict))
    return next((str(row[PRINCIPAL]) for row in rows if isinstance(row, dict) and row.get(PRINCIPAL)), None)


def _is_note(path: str) -> bool:
    """Return whether memories are read from a path, and the path stays inside the workspace."""
    return note_splitting.holds_memories(path) and not any(part in ("", ".", "..") for part in path.split("/"))


def _file_name(namespace: str) -> str:
    """Return a namespace as a file name. If characters had to be replaced, a few digits of its digest are added."""
    name = _UNSAFE.sub("-", namespace).strip(".-")[:_LONGEST_NAME]
    if name == namespace:
        return name
    return f"{name or 'notes'}-{hashlib.sha256(namespace.encode('utf-8', 'replace')).hexdigest()[:6]}"
