"""Write an agent of another runtime in the files of a profile, and name what they cannot hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lifeboat_adapters.contract import RenderedFile
from lifeboat_adapters.folder.folder_profile import Division, FolderProfile, MemoryRule
from lifeboat_adapters.folder.profile_identity import persona_layout
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.notes import memory_comments, note_rendering
from lifeboat_adapters.notes.note_rendering import Join
from lifeboat_adapters.notes.note_splitting import Split
from lifeboat_adapters.persona import persona_files, unsupported_fields
from lifeboat_adapters.persona.derivation_files import StateFiles, read_file_text
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import effective_view
from lifeboat_alf.states.agent_state import State

_NO_SLUG = re.compile(r"[^A-Za-z0-9]")


def render_profile_files(
    profile: FolderProfile, state: State, split: Split, write_note: Join
) -> Iterator[RenderedFile]:
    """Yield the persona files and the notes of a state. Files that a raw entry already provides are left out."""
    files = StateFiles(state)
    primary = persona_files.find_primary_human(state)
    identity = persona_files.decode_document(state, archive_layout.IDENTITY)
    texts = persona_files.make_persona_files(persona_layout(profile), identity, primary, files)
    about_user = texts.pop(persona_files.USER, "")
    if profile.persona.user:
        texts[profile.persona.user] = about_user
    for name, text in texts.items():
        path = profile.raw + name
        if text.strip() and read_file_text(files, path) != text:
            yield RenderedFile(path, text.encode("utf-8", "replace"), note_rendering.STRUCTURED)
    placed = place_new_memories(profile, state)
    yield from note_rendering.render_notes(
        state,
        profile.raw,
        str(primary.get("id", "")),
        has_profile=bool(about_user and profile.persona.user == persona_files.USER),
        split=split,
        join=write_note,
        name_of=lambda record, _: placed.get(str(record["id"])),
    )


def place_new_memories(profile: FolderProfile, state: State) -> dict[str, str]:
    """Return the note of each memory that is not in a file of the runtime yet, by the id of its record. A memory that
    has no note, or no room in it, is missing."""
    primary = str(persona_files.find_primary_human(state).get("id", ""))
    listed = note_rendering.find_listed_records(state, profile.raw)
    sizes: dict[str, int] = {}
    placed: dict[str, str] = {}
    for item in effective_view.visible_records(state):
        name = None if listed.keys() & set(item.chain_ids) else name_note(profile, item.record, primary)
        if name is None:
            continue
        rule = profile.memory_rule(name)
        limit = 0 if rule is None else rule.limit
        before = sizes.get(name) or _size_of(state, profile.raw + name)
        size = before + len(str(item.record.get("content", ""))) + (len(rule.separator) if rule and before else 0)
        if not limit or size <= limit:
            placed[str(item.record["id"])] = name
            sizes[name] = size
    return placed


def _size_of(state: State, path: str) -> int:
    return 0 if state.entry(path) is None else len(state.body(path).decode("utf-8", "replace"))


def name_note(profile: FolderProfile, record: JsonObject, primary: str) -> str | None:
    """Return the note of a memory: the one it came from if the profile reads it, otherwise a new one that suits its
    type. None for a memory that only another person may see, and where no rule has a `new` note."""
    if note_rendering.is_for_another_person(record, primary):
        return None
    origin = str((record.get("source") or {}).get("origin_file") or "")
    is_inside = not any(part in ("", ".", "..") for part in origin.split("/"))
    known = profile.memory_rule(origin) if is_inside else None
    if known is not None and known.divide is not Division.FILE:  # such a file has no room for a second memory
        return origin
    rule = _rule_for(profile, record, primary)
    if rule is None:
        return None
    temporal = record.get("temporal") or {}
    day = str(temporal.get("observed_at") or temporal.get("created_at") or "undated")[:10]
    label = memory_comments.memory_label(str(record["id"]))
    return rule.new.replace("{day}", day).replace("{id}", label).replace("{home}", path_slug(str(Path.home())))


def path_slug(path: str) -> str:
    """Return a path with a hyphen for every character that is no letter or digit of ASCII."""
    return _NO_SLUG.sub("-", path)


def _rule_for(profile: FolderProfile, record: JsonObject, primary: str) -> MemoryRule | None:
    """Return the rule with a new note that suits the memory best: about the user, by its type, or the first one."""
    rules = [rule for rule in profile.memories if rule.new]
    about_user = bool(primary) and record.get("namespace") == f"principal_context:{primary}"
    of_type = [rule for rule in rules if record.get("memory_type") == rule.memory_type]
    suits = [rule for rule in (*of_type, *rules) if rule.about_user == about_user]
    return next(iter((*suits, *rules)), None)


def list_unplaced_items(profile: FolderProfile, state: State) -> Iterator[ItemFate]:
    """Yield what of a state the files of the profile cannot hold."""
    yield from unsupported_fields.list_unsupported_fields(state, holds_numbers=False)
    reason = (
        f"{profile.title} has no file for this memory, or the memory does not fit into the file; "
        f"{unsupported_fields.KEPT}"
    )
    listed = note_rendering.find_listed_records(state, profile.raw)
    placed = place_new_memories(profile, state)
    for item in effective_view.visible_records(state):
        if str(item.record["id"]) not in placed and not listed.keys() & set(item.chain_ids):
            yield ItemFate("memory", str(item.record["id"]), ItemOutcome.OMITTED, reason, unsupported_fields.CODE)
