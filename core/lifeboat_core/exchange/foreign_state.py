"""Turn what a format of another system reads into a state, in a vault for one conversion.

The rules are those of a first capture: every memory is in the period of its day, past periods are sealed, ids stay.
The data is from another system: what does not fit a state is refused, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_alf.archive import archive_layout, zip_container
from lifeboat_alf.common import ids, json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ArchiveError
from lifeboat_alf.memory import memory_records, partitions
from lifeboat_alf.memory.partitions import PartitionLedger
from lifeboat_alf.states import entry_metas
from lifeboat_alf.states.agent_state import State
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell
from lifeboat_core.texts.human_text import count_text
from lifeboat_formats.interchange import foreign_documents
from lifeboat_formats.interchange.contract import FormatNotice, FormatReading
from lifeboat_formats.interchange.errors import SourceRefused
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.vault import Draft, EntryPut, RecordPut, Vault

KIND = "import"
_THRESHOLD = "artifacts.threshold"
_UNSIGNED = "convert"
"""The writer of an unsigned state that exists for the conversion only."""
_PREFIXES = (archive_layout.RAW, archive_layout.ARTIFACTS, archive_layout.HISTORY, archive_layout.EMBEDDINGS)
_DOCUMENTS = (archive_layout.IDENTITY, archive_layout.PRINCIPALS)


def agent_id_of(reading: FormatReading, name: str) -> str:
    """Return the agent's own id, else one that is always the same for the source."""
    if reading.agent_id:
        return ids.as_uuid(reading.agent_id)
    return ids.derive_id(0, f"{name}\0{reading.agent_name}")


@contextmanager
def fill_foreign_state(
    context: Context, reading: FormatReading, name: str, folder: Path, tell: Tell, *, signed: bool = False
) -> Iterator[State]:
    """Open the state of a reading of the format `name`, in a vault in `folder`. `signed`: this machine signs it, as it
    does for imports.

    Raises SourceRefused for records and files that no state can hold, and what reading raises.
    """
    agent_id = agent_id_of(reading, name)
    filling = _StateFilling(context, reading, name, agent_id, tell)
    with Vault.create(folder, agent_id, files=context.files, clock=context.clock) as vault:
        device = context.keys().device if signed else None
        vault.commit(
            Draft(filling.entries, filling.records()),
            kind=KIND,
            writer=_UNSIGNED if device is None else device.id,
            time=context.now(),
            sign=None if device is None else lambda sequence: sequence_signatures.sign_sequence(sequence, device),
        )
        yield vault.state()


@dataclass(slots=True)
class _StateFilling:
    """Fills the vault. `entries` are complete after the last of `records`."""

    context: Context
    reading: FormatReading
    name: str
    agent_id: str
    tell: Tell
    entries: dict[str, EntryPut | None] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _ahead: int = 0

    def records(self) -> Iterator[RecordPut]:
        ledger = self._ledger()
        listed: dict[str, list[str]] = {}
        for number, record in enumerate(self.reading.records, start=1):
            put = self._put(record, ledger)
            listed.setdefault(memory_records.origin_file(record), []).append(put.id)
            self.tell(f"Reading {self.name}", number, None)
            yield put
        ledger.seal()
        self._note_ahead()
        self._put_entries(listed)
        self._put_head(ledger)

    def _ledger(self) -> PartitionLedger:
        granularity = self.context.setting("memory.granularity")
        return PartitionLedger([], times.parse_time(self.context.now()), granularity, first_capture=True)

    def _put(self, record: JsonObject, ledger: PartitionLedger) -> RecordPut:
        record_id = self._checked(record)
        stated = str(record["temporal"]["created_at"])
        placed = ledger.place(stated)
        moved = partitions.day_of(placed.created_at) != partitions.day_of(stated)
        self._ahead += moved
        created = stated if stated.endswith("Z") and not moved else placed.created_at
        temporal = {**record["temporal"], "created_at": created}
        source = {"runtime": self.name, **(record.get("source") or {})}
        whole = {**record, "agent_id": self.agent_id, "source": source, "temporal": temporal}
        try:
            line = memory_records.line_of(whole)
        except (UnicodeEncodeError, ValueError, TypeError, RecursionError) as error:
            raise SourceRefused(f"the memory {record_id} cannot be written as JSON", where=record_id) from error
        return RecordPut("create", record_id, placed.partition.file, line)

    def _checked(self, record: JsonObject) -> str:
        """Return the id of a record after checking what all readers of a state rely on."""
        record_id = str(record.get("id", ""))
        try:
            memory_records.check_shape(record, entry=self.name, line=len(self._seen) + 1)
            times.parse_time(record["temporal"]["created_at"])
        except (ArchiveError, KeyError, TypeError, ValueError) as error:
            raise SourceRefused(f"the memory {record_id or len(self._seen) + 1} is invalid: {error}") from error
        if not ids.is_uuid(record_id) or record_id in self._seen:
            raise SourceRefused(f"the id {record_id} is invalid, or two memories use it", where=record_id)
        self._seen.add(record_id)
        return record_id

    def _note_ahead(self) -> None:
        if self._ahead:
            text = (
                f"{count_text(self._ahead, 'memory')} had a date in the future; Lifeboat replaced it with the "
                "date of today"
            )
            self.reading.notices.append(FormatNotice("dated_ahead", text))

    def _put_entries(self, listed: dict[str, list[str]]) -> None:
        for path, body in self.reading.entries.items():
            _check_path(path)
            if path in _DOCUMENTS:
                document = foreign_documents.complete_document(path, body, self.agent_id, self.context.now())
                self.entries[path] = EntryPut({}, json_codec.encode_json(document))
            else:
                file = path.removeprefix(archive_layout.raw_prefix(self.name))
                meta = {entry_metas.RECORDS: listed[file]} if path != file and file in listed else {}
                self.entries[path] = EntryPut(meta, body)

    def _put_head(self, ledger: PartitionLedger) -> None:
        head: JsonObject = {
            "agent": {"id": self.agent_id, "name": self.reading.agent_name, "source_runtime": self.name},
            "partitions": [partitions.to_item(partition) for partition in ledger.partitions],
            "partition_granularity": ledger.granularity,
            "artifact_size_threshold": self.context.setting(_THRESHOLD),
            "raw_sources": [self.name],
        }
        self.entries[archive_layout.MANIFEST] = EntryPut({}, json_codec.encode_json(head))


def _check_path(path: str) -> None:
    """Check a path, which the source chose. Raises SourceRefused."""
    try:
        zip_container.check_name(path)
        path.encode()
    except (ArchiveError, UnicodeEncodeError) as error:
        raise SourceRefused("the source contains a file name that an archive cannot store") from error
    if not path.startswith(_PREFIXES) and path not in _DOCUMENTS:
        raise SourceRefused(f"the source contains the file {path}, but archives reserve this path", where=path)
