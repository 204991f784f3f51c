"""Relates what a state remembers to the AICF files in its raw part: which memory is which piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lifeboat_adapters.persona import persona_files as persona
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory.effective_view import effective_records
from lifeboat_alf.memory.memory_records import is_visible
from lifeboat_alf.memory.record_shapes import keep_fitting_fields
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, State
from lifeboat_formats.aicf.aicf_mapping import RAW
from lifeboat_formats.aicf.aicf_workspace import PACKED
from lifeboat_formats.aicf.records import extension, file_memories, identity_layers
from lifeboat_formats.aicf.records.file_memories import FileMemories
from lifeboat_formats.interchange.errors import SourceRefused


@dataclass(slots=True)
class RememberedMemories:
    """The memories of a state. `memories` are the current ones by id; `now` maps every id of every chain to its current
    record, None if it was removed. `hidden` are current records that are not visible."""

    memories: dict[str, JsonObject] = field(default_factory=dict)
    now: dict[str, JsonObject | None] = field(default_factory=dict)
    hidden: list[JsonObject] = field(default_factory=list)

    def of(self, found: FileMemories, listed: list[str]) -> dict[int, JsonObject | None]:
        """Return the current records by the places of a file. Places unknown to the state are left out."""
        places = list(found.records)
        names = listed if len(listed) == len(places) else [found.pieces[place].record_id for place in places]
        return {place: self.now[name] for place, name in zip(places, names, strict=True) if name in self.now}


def collect_memories(state: State) -> RememberedMemories:
    """Collect everything that a state remembers, in order."""
    made = RememberedMemories()
    for item in effective_records(state):
        record = keep_fitting_fields(item.record)
        is_there = is_visible(record)
        made.now |= dict.fromkeys(item.chain_ids, record if is_there else None)
        if is_there:
            made.memories[str(record["id"])] = record
        else:
            made.hidden.append(record)
    made.now |= {gone.id: made.now.get(gone.id) for gone in state.gone()}
    return made


@dataclass(frozen=True, slots=True)
class RawAicfFile:
    """An AICF file in a state. `listed` are the ids of its memories if the state records them."""

    name: str
    text: str
    listed: list[str]
    read: FileMemories


def find_raw_files(state: State) -> Iterator[RawAicfFile]:
    """Yield the readable AICF files of a state by name. Files of other formats and compressed files are skipped: their
    bytes stay as they are."""
    for entry in state.entries(RAW):
        found = _raw_file(state, entry)
        if found is not None:
            yield found


def _raw_file(state: State, entry: Entry) -> RawAicfFile | None:
    name = entry.path[len(RAW) :]
    if not entry_metas.is_file(entry.meta) or not _may_be_one(name):
        return None
    try:
        text = state.body(entry.path).decode("utf-8")
        return RawAicfFile(
            name, text, list(entry.meta.get(entry_metas.RECORDS) or []), file_memories.read_memories(text, name)
        )
    except (BodyAbsent, UnicodeDecodeError, SourceRefused):
        return None


def _may_be_one(name: str) -> bool:
    lower = name.lower()
    return (".aicf" in lower and not lower.endswith((*PACKED, ".meta", ".lock"))) or lower.endswith((".json", ".xml"))


def find_documents(state: State) -> dict[str, JsonObject]:
    """Return the identity and principals documents of a state by section name, without stamps and empty ones."""
    paths = ((extension.IDENTITY, archive_layout.IDENTITY), (extension.PRINCIPALS, archive_layout.PRINCIPALS))
    found = {section: identity_layers.strip_stamps(persona.decode_document(state, path)) for section, path in paths}
    return {section: document for section, document in found.items() if document}
