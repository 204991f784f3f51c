"""Turn changed files into memory records: the adapter splits them, `memory_matching` matches the sections, and the life
cycle of the format defines each change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, partial

from lifeboat_adapters.contract import Adapter, MemorySection
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import times
from lifeboat_alf.common.json_shapes import as_object, texts_in
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_matching, memory_records, record_lifecycle
from lifeboat_alf.memory.memory_matching import (
    EDITED,
    REVIVED,
    SAME,
    SPACED,
    ChangedFile,
    FileSection,
    HeldMemory,
    SectionMatch,
)
from lifeboat_alf.memory.record_lifecycle import RecordContext
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import Record, State
from lifeboat_core.capture.artifact_references import find_file_names
from lifeboat_core.capture.overlay import Overlay

YOUNG = timedelta(days=30)
PRIMARY = "{primary}"
_OF_FORMATS = "x_"
"""Prefix of fields that hold what one format knows about a memory. They follow from its text and place."""


@dataclass(frozen=True, slots=True)
class MemoryLookup:
    """What a capture needs to know of the past. `with_content` returns the ids of records with exactly this text;
    `winner` the id in force of a chain; `is_listed` and `unlisted_of` are those of `StateDb`; `forgotten` are ids that
    the user dropped although their text is in a file."""

    head: State | None
    with_content: Callable[[str], list[str]]
    winner: Callable[[str], str]
    is_listed: Callable[[str], bool]
    unlisted_of: Callable[[str | None], list[tuple[str, str]]]
    forgotten: frozenset[str] = frozenset()

    def record(self, record_id: str) -> Record | None:
        return None if self.head is None else self.head.record(record_id)

    def last(self, record_id: str) -> Record | None:
        """Return the record in force of a chain."""
        return self.record(self.winner(record_id))

    def is_unlisted(self, record_id: str) -> bool:
        """Return whether a memory exists that no file lists, because it came with an archive from another runtime."""
        record = self.record(record_id)
        if record is None or self.winner(record_id) != record_id or self.is_listed(record_id):
            return False
        # A memory that its user marked as superseded is still in its file.
        return memory_records.read_record_status(memory_records.parse_record(record.line)) in ("active", "superseded")

    def is_gone(self, record_id: str, now: datetime) -> bool:
        """Return whether a memory was deleted recently, or archived because its text was missing."""
        last = self.last(record_id)
        if last is None:
            return False
        record = memory_records.parse_record(last.line)
        if memory_records.is_missing(record):
            return last.id == record_id
        temporal = record["temporal"]
        ended = times.parse_time(temporal.get("updated_at") or temporal["created_at"])
        return memory_records.is_deleted(record) and now - ended <= YOUNG


@dataclass(frozen=True, slots=True)
class MemoryOrigin:
    """Source of new records: the runtime, its version, and the principal that `{primary}` in a namespace stands for."""

    runtime: str
    runtime_version: str | None = None
    primary: str | None = None

    def file(self, path: str) -> str:
        """Return the path as the runtime names it."""
        return path.removeprefix(f"raw/{self.runtime}/").removeprefix("artifacts/")

    def fields(self, path: str, section: MemorySection) -> JsonObject:
        """Return the fields of a new record: those from the adapter, plus source and namespace."""
        fields = dict(section.fields)
        source = {"runtime": self.runtime, "runtime_version": self.runtime_version, **fields.get("source", {})}
        fields["source"] = {**source, "origin_file": self.file(path)}
        fields["namespace"] = self._namespace(fields.get("namespace", "default"))
        return fields

    def _namespace(self, namespace: str) -> str:
        if PRIMARY not in namespace:
            return namespace
        return namespace.replace(PRIMARY, self.primary) if self.primary else "default"


@dataclass(slots=True)
class MemoryOutcome:
    """What a capture did to memories: counts, memories lost by file, and the file names in new and former texts, by
    record id."""

    counts: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    written: dict[str, set[str]] = field(default_factory=dict)
    dropped: dict[str, set[str]] = field(default_factory=dict)

    def drop(self, record_id: str, content: str) -> None:
        """Note a text that is not a memory any more."""
        names = find_file_names(content)
        if names:
            self.dropped[record_id] = names

    def write(self, record_id: str, content: str) -> None:
        """Note a text that is a memory now."""
        names = find_file_names(content)
        if names:
            self.written[record_id] = names


class MemoryCapture:
    """The memory changes of one capture. `outcome` is complete after all steps were consumed; `taken` are memories that
    came from elsewhere or were gone, and that files hold from now on."""

    def __init__(
        self, overlay: Overlay, adapter: Adapter, scribe: RecordContext, origin: MemoryOrigin, lookup: MemoryLookup
    ) -> None:
        self._overlay = overlay
        self._adapter = adapter
        self._scribe = scribe
        self._origin = origin
        self._lookup = lookup
        self._sections: dict[str, list[MemorySection]] = {}
        self._claimed: set[str] = set()
        self.taken: set[str] = set()
        self._steps: list[record_lifecycle.RecordStep] = []
        self.outcome = MemoryOutcome()

    def take(self, paths: Iterable[str]) -> Iterator[record_lifecycle.RecordStep]:
        """Yield the record lines of changed files, and write the record ids into each file's meta.

        Files are compared with each other, because memories move between them. Without a head nothing can have moved,
        so only one file at a time is in memory.
        """
        every = sorted(set(paths))
        for group in [[path] for path in every] if self._lookup.head is None else [every]:
            self._take(group)
            yield from self._steps
            self._steps.clear()

    def _take(self, paths: list[str]) -> None:
        files = [file for path in paths if (file := self._file(path)) is not None]
        if self._lookup.head is not None:
            memory_matching.match_sections(files, self._revivable(), self._headings)
        for file in files:
            if not self._is_rendered(file):
                self._write(file)
        for file in files:
            self._drop(file)
        self._sections.clear()

    def split(self, path: str, data: bytes | None) -> list[MemorySection]:
        """Return the sections of a file that have text; none for a file without memories."""
        if data is None:
            return []
        sections = self._adapter.split(path, data.decode("utf-8", "replace")) or []
        return [section for section in sections if section.text]

    def _file(self, path: str) -> ChangedFile | None:
        entry = self._overlay.old(path)
        listed = entry.meta.get(entry_metas.RECORDS, []) if entry is not None else []
        meta = self._overlay.meta(path)
        is_text = meta is not None and entry_metas.is_file(meta)
        self._sections[path] = self.split(path, self._overlay.read(path)) if is_text else []
        if not listed and not self._sections[path]:
            return None
        news = [FileSection(one.text, one.heading) for one in self._sections[path]]
        if not listed and self._lookup.head is not None:
            return ChangedFile(path, self._came(path), news, adopting=True)
        return ChangedFile(path, [self._old(record_id) for record_id in listed], news)

    def _came(self, path: str) -> list[HeldMemory]:
        """Return memories from an archive that a file may hold: those from a file of its name, and those that were
        written into it under their label. Each is given to one file only."""
        came = dict(self._lookup.unlisted_of(self._origin.file(path)))
        if any(section.memory is not None for section in self._sections[path]):
            labels = {label for section in self._sections[path] for label in section.heading[-1:]}
            every = self._lookup.unlisted_of(None)
            came |= {one: content for one, content in every if self._adapter.label(one) in labels}
        mine = [one for one in came if one not in self._claimed]
        self._claimed.update(mine)
        return [HeldMemory(one, came[one], (self._adapter.label(one),)) for one in mine]

    def _is_rendered(self, file: ChangedFile) -> bool:
        """Return whether a file only repeats a document of the archive that it was written from, as a profile does."""
        if not file.adopting or file.found or not file.new:
            return False
        return self._rendered.get(file.path) == self._overlay.read(file.path)

    @cached_property
    def _rendered(self) -> dict[str, bytes]:
        """Return the files that the head would be rendered to, by path, before it has any file of this runtime."""
        head = self._lookup.head
        if head is None or next(head.entries(archive_layout.raw_prefix(self._origin.runtime)), None) is not None:
            return {}
        return {made.path: made.data for made in self._adapter.render(head)}

    def _old(self, record_id: str) -> HeldMemory:
        """Return a listed memory. A deleted one that its file still lists was forgotten by the user."""
        record, winner = self._lookup.record(record_id), self._lookup.winner(record_id)
        last = record if winner == record_id else self._lookup.record(winner)
        if record is None or last is None:
            return HeldMemory(record_id, "", gone=True)
        body = memory_records.parse_record(record.line)
        ended = body if last.id == record_id else memory_records.parse_record(last.line)
        return HeldMemory(record_id, str(body.get("content", "")), gone=memory_records.is_deleted(ended))

    def _headings(self, file: ChangedFile) -> list[memory_matching.Heading]:
        return [section.heading for section in self.split(file.path, self._overlay.old_body(file.path))]

    def _revivable(self) -> memory_matching.Revivable:
        taken, lookup = self.taken, self._lookup

        def find(content: str) -> SectionMatch | None:
            for record_id in lookup.with_content(content):
                if record_id in taken or record_id in lookup.forgotten:
                    continue
                gone = partial(lookup.is_gone, record_id, self._scribe.ledger.now)
                how = SAME if lookup.is_unlisted(record_id) else REVIVED if gone() else None
                if how is not None:
                    taken.add(record_id)
                    return SectionMatch(record_id, how)
            return None

        return find

    def _write(self, file: ChangedFile) -> None:
        ids = [self._section(file.path, place, file.found.get(place)) for place in range(len(file.new))]
        meta = self._overlay.meta(file.path)
        if meta is not None:
            kept = {key: value for key, value in meta.items() if key != entry_metas.RECORDS}
            self._overlay.set_meta(file.path, {**kept, entry_metas.RECORDS: ids} if ids else kept)

    def _section(self, path: str, place: int, match: SectionMatch | None) -> str:
        """Write the records of one section; return the id that the section has from now on."""
        section = self._sections[path][place]
        if match is None:
            return self._create(path, section)
        self.taken.add(match.id)
        if match.how == EDITED or (match.how == SPACED and not self._is_sealed(match.id)):
            return self._edit(match.id, section)
        if match.how != REVIVED and self._says_otherwise(match.id, section):
            return self._edit(match.id, section)
        return self._revive(match.id) if match.how == REVIVED else match.id

    def _is_sealed(self, record_id: str) -> bool:
        """Return whether a memory's period has ended. Blank lines are no reason to append a successor to it."""
        return self._scribe.ledger.is_sealed(self._last(record_id).partition)

    def _says_otherwise(self, record_id: str, section: MemorySection) -> bool:
        """Return whether the source changed a field, such as a pin, of a memory whose text is the same."""
        if not section.follows:
            return False
        record = memory_records.parse_record(self._last(record_id).line)
        return any(name in record and record[name] != section.fields.get(name) for name in section.follows)

    def _create(self, path: str, section: MemorySection) -> str:
        fields = self._origin.fields(path, section)
        step = record_lifecycle.create_record(
            self._scribe, section.text, fields, self._wanted(path, fields), section.record_id
        )
        return self._add(step, "created", section.text)

    def _wanted(self, path: str, fields: JsonObject) -> str | None:
        """Return the memory's own day, else the time of its file."""
        observed = fields.get("temporal", {}).get("observed_at")
        if observed:
            return str(observed)
        written = (self._overlay.meta(path) or {}).get("mtime_ns")
        return times.to_text(times.from_nanoseconds(int(written))) if written else None

    def _edit(self, record_id: str, section: MemorySection) -> str:
        old = self._last(record_id)
        record = memory_records.parse_record(old.line)
        self.outcome.drop(record_id, str(record["content"]))
        step = record_lifecycle.edit_record(
            self._scribe, record, old.partition, section.text, _edited_fields(record, section)
        )
        return self._add(step, "updated", section.text)

    def _revive(self, record_id: str) -> str:
        last, dead = self._last(record_id), self._lookup.record(record_id)
        dead_record = memory_records.parse_record(dead.line) if dead is not None and last.id != record_id else None
        record = memory_records.parse_record(last.line)
        step = record_lifecycle.revive_record(self._scribe, record, last.partition, dead_record)
        return self._add(step, "created", str((dead_record or record)["content"]))

    def _drop(self, file: ChangedFile) -> None:
        for old in file.left_old():
            if old.gone or file.adopting:
                continue
            record = self._last(old.id)
            body = memory_records.parse_record(record.line)
            if memory_records.is_missing(body):
                continue
            self.outcome.drop(old.id, old.content)
            self.outcome.lost[file.path] += 1
            self._add(record_lifecycle.retire_vanished_record(self._scribe, body, record.partition), "deleted", None)

    def _last(self, record_id: str) -> Record:
        record = self._lookup.last(record_id)
        if record is None:
            raise KeyError(record_id)
        return record

    def _add(self, step: record_lifecycle.RecordStep, count: str, content: str | None) -> str:
        self._steps.append(step)
        self.outcome.counts[count] += 1
        if content is not None:
            self.outcome.write(step.id, content)
        return step.id


def _edited_fields(old: JsonObject, section: MemorySection) -> JsonObject:
    """Return the fields that follow from the text. Type, category, namespace and source are fixed when a record is
    made, and a tag that was never in the text stays, because it came from elsewhere."""
    kept = [tag for tag in texts_in(old.get("tags")) if tag.casefold() not in str(old["content"]).casefold()]
    tags = list(dict.fromkeys([*kept, *section.fields.get("tags", [])]))
    fields: JsonObject = {"tags": tags or None, "confidence": section.fields.get("confidence")}
    fields |= {name: value for name, value in section.fields.items() if name.startswith(_OF_FORMATS)}
    status = section.fields.get("status")
    if status is not None or old.get("status") == "superseded":
        fields["status"] = status or "active"
    if "raw_source_format" in section.fields:
        fields["raw_source_format"] = {**as_object(old.get("raw_source_format")), **section.fields["raw_source_format"]}
    return fields
