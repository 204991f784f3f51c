"""Show an agent to a client that knows neither successors nor cuts, and that writes raw files as they are.

That client restores the tree `raw/<runtime>/` and nothing else; without one it makes notes of every record, even dead
ones. So it gets one snapshot of the agent's current state: the effective memory, the identity and principals, and a
tree consistent with the memory.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.snapshot_manifest import DOCUMENT_FIELDS
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.memory.effective_view import chains_of
from lifeboat_alf.states import entry_metas, merkle
from lifeboat_alf.states.agent_state import BodyAbsent, Entry, GoneRecord, Record, Sequence, State, StateView, path_key
from lifeboat_vault.legacy.legacy_notes import gather_notes, is_database
from lifeboat_vault.legacy.legacy_pushes import REDACTED

_DOCUMENTS = (archive_layout.IDENTITY, archive_layout.PRINCIPALS, archive_layout.CREDENTIALS)
_MADE_HERE = ("agent", "partitions", "raw_sources", "raw_state", "sync", "layers", DOCUMENT_FIELDS)
"""Fields of a head that concern excluded parts, or that follow from included ones."""

_NAME_HEX = "name_hex"


def legacy_view(state: State) -> State:
    """Return the state for `GET /agents/{id}/restore`, without proof; `write_snapshot` makes the archive.

    Excluded are dead and superseded memories, files of the runtime's home and of former runtimes, files with a secret
    cut out, links, folders, vectors, artifacts and histories. Memories without an included file get their own notes.
    The same state gives the same view.
    """
    return _LegacyView(state)


class _LegacyView(StateView):
    """The view. `_kept` are entries of the state by path; `_made` replace or add to them."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self._chains = chains_of(state)
        head: JsonObject = json_codec.decode_json(state.body(archive_layout.MANIFEST))
        self._runtime = str(head["agent"].get("source_runtime", ""))
        self._prefix = archive_layout.raw_prefix(self._runtime)
        self._kept = {entry.path: entry for entry in state.entries() if self._is_kept(entry)}
        self._made: dict[str, bytes] = {}
        memory = self._surveyed()
        self._gather(memory.loose)
        self._made[archive_layout.MANIFEST] = json_codec.encode_pretty(self._head(head, memory.partitions))

    # State --------------------------------------------------------------------------------------------------------

    @property
    def sequence(self) -> Sequence:
        return replace(self._state.sequence, digest=b"", signature=None)

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        kept = (_plain(entry) for path, entry in self._kept.items() if path not in self._made)
        made = (_entry(path, self._made[path]) for path in sorted(self._made, key=path_key))
        both = heapq.merge(kept, made, key=lambda entry: path_key(entry.path))
        return (entry for entry in both if entry.path.startswith(prefix))

    def entry(self, path: str) -> Entry | None:
        if path in self._made:
            return _entry(path, self._made[path])
        return _plain(self._kept[path]) if path in self._kept else None

    def body(self, path: str) -> bytes:
        if path in self._made:
            return self._made[path]
        if path not in self._kept:
            raise KeyError(path)
        return self._state.body(path)

    def records(self, partition: str | None = None) -> Iterator[Record]:
        for record in self._state.records(partition):
            if self._chains.wins(record.id) and _is_there(memory_records.parse_record(record.line)):
                yield record._replace(line=_without_nulls(record.line))

    def record(self, record_id: str) -> Record | None:
        found = self._state.record(record_id) if self._chains.wins(record_id) else None
        if found is None or not _is_there(memory_records.parse_record(found.line)):
            return None
        return found._replace(line=_without_nulls(found.line))

    def gone(self) -> Iterator[GoneRecord]:
        """Yield nothing: an older client knows nothing of purges, and nothing here is signed."""
        return iter(())

    # Content ------------------------------------------------------------------------------------------------------

    def _is_kept(self, entry: Entry) -> bool:
        if entry.path in _DOCUMENTS:
            return True
        if not entry.path.startswith(self._prefix) or entry.path in REDACTED:
            return False
        is_odd = not entry_metas.is_file(entry.meta) or entry_metas.CUTS in entry.meta or _NAME_HEX in entry.meta
        return not is_odd and self._is_held(entry)

    def _is_held(self, entry: Entry) -> bool:
        """Return whether the bytes are present. Only destroyed ones have no salt."""
        if entry.leaf.salt:
            return True
        try:
            self._state.body(entry.path)
        except BodyAbsent:
            return False
        return True

    def _surveyed(self) -> _MemorySurvey:
        """Survey the memory in one pass."""
        memory = _MemorySurvey(set(), [])
        listed = {number for entry in self._kept.values() for number in entry.meta.get(entry_metas.RECORDS, ())}
        for item in self.records():
            memory.partitions.add(item.partition)
            record = memory_records.parse_record(item.line)
            has_file = item.id in listed or self._has_file(memory_records.origin_file(record))
            if not has_file and memory_records.is_visible(record):
                memory.loose.append(record)
        return memory

    def _has_file(self, origin: str) -> bool:
        """Return whether a memory has a file in the tree. A database there is an old copy, so its memories have
        none."""
        return self._prefix + origin in self._kept and not is_database(origin)

    def _gather(self, loose: list[JsonObject]) -> None:
        taken = {path.removeprefix(self._prefix) for path in (*self._kept, *self._made)}
        for path, body in gather_notes(loose, taken).items():
            self._made[self._prefix + path] = body

    def _head(self, head: JsonObject, partitions: set[str]) -> JsonObject:
        """Return the head document of the view, as a reader derives it from the manifest."""
        listed = [item for item in head.get("partitions", []) if item["file"] in partitions]
        rest = {name: value for name, value in head.items() if name not in _MADE_HERE}
        has_raw = any(path.startswith(self._prefix) for path in (*self._kept, *self._made))
        sources = {"raw_sources": [self._runtime]} if has_raw else {}
        return {"agent": head["agent"], "partitions": listed, **rest, **sources}


class _MemorySurvey(NamedTuple):
    """Partitions with records, and memories without a file."""

    partitions: set[str]
    loose: list[JsonObject]


def _is_there(record: JsonObject) -> bool:
    """Return whether the client has the memory. Its own archived notes are still files; memories that vanished from one
    are not."""
    return memory_records.read_record_status(record) in ("active", "archived") and not memory_records.is_missing(record)


def _plain(entry: Entry) -> Entry:
    """Return an entry without its meta, which such an archive cannot hold."""
    return entry._replace(meta={})


def _entry(path: str, body: bytes) -> Entry:
    return Entry(path, {}, merkle.new_leaf(body), len(body), hashlib.sha256(body).hexdigest())


def _without_nulls(line: bytes) -> bytes:
    """Return a line without null lists, which that client rejects."""
    return memory_records.line_of(memory_records.parse_record(line)) if b":null" in line or b": null" in line else line
