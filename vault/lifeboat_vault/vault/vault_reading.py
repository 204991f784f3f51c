"""The read-only part of an open vault: states, records, decisions, verification."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any, Self

from lifeboat_alf.common import times
from lifeboat_alf.redaction.redactions import Redaction, Redactions
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_alf.states.agent_state import BodyAbsent, Leaf, Record, StateChanges
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_vault import errors
from lifeboat_vault.at_rest.sealer import PLAIN, Sealer
from lifeboat_vault.bodies import body_objects, vault_redactions
from lifeboat_vault.bodies.artifact_bodies import ArtifactBodies
from lifeboat_vault.bodies.body_objects import StoredObject
from lifeboat_vault.bodies.vault_redactions import NOTHING_KNOWN, RedactionCounts, RedactionRow, VaultRedactions
from lifeboat_vault.retention import artifact_versions
from lifeboat_vault.rows import audit_chain, kept_history
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import DECISION, LABEL, META, ColumnSealer
from lifeboat_vault.rows.kept_history import EntrySpan, EntryStay, HistoryItem
from lifeboat_vault.rows.sequence_rows import AuditRow, Pin, SequenceRow, json_of, sequence_row
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore, Row
from lifeboat_vault.vault import sequence_changes, vault_verification
from lifeboat_vault.vault.commit_sequence import read_text_content, text_key
from lifeboat_vault.vault.vault_creation import RECORD_SEED, open_seed
from lifeboat_vault.vault.vault_state import VaultState
from lifeboat_vault.vault.vault_verification import Verification, Verifier

ALL = 2**62
"""More rows than there can be."""
_CHUNK = 500
LAST_VERIFIED = "last_verified"
"""Decision in which `Vault.mark_verified` keeps `{"sequence", "time", "verified"}`: the last sequence, and the runs of
all of them."""
DAMAGE, DAMAGED_STATES = "damage", "damaged_states"
"""Decisions in which a verification keeps its findings: damaged objects, and sequences with a wrong digest."""
DAMAGE_FOUND = "damage_found"
"""Decision with the time (timestamp) of the full verification that found this damage."""

Moment = datetime | str
"""A datetime with a zone, or RFC 3339 text."""


class VaultReading:
    """The reading methods of a vault; `Vault` opens and changes one."""

    _known: VaultRedactions = NOTHING_KNOWN
    _known_counts = RedactionCounts()
    """Counts from when `_known` was read."""

    def __init__(
        self,
        metadata: MetadataStore,
        blobs: BlobStore,
        *,
        files: FileOperations,
        clock: Clock,
        sealer: Sealer = PLAIN,
    ) -> None:
        """Open a vault on a prepared pair of stores (see `vault_creation.create_tables`)."""
        self._metadata = metadata
        self._blobs = blobs
        self._files = files
        self._clock = clock
        row = metadata.row(sql.VAULT)
        if row is None:
            raise errors.VaultDamaged("no vault is stored in the database")
        self.id, self.agent_id, self.seed = str(row[0]), str(row[1]), open_seed(bytes(row[2]), sealer)
        self._seal_with(sealer)

    def _read_seed(self) -> None:
        row = self._metadata.row(sql.VAULT)
        if row is not None:
            self.seed = open_seed(bytes(row[2]), self._columns.sealer)

    def _seal_with(self, sealer: Sealer) -> None:
        self._columns = ColumnSealer(sealer)
        self._objects = body_objects.ObjectReader(self._metadata, self._blobs, self._columns)

    @property
    def is_read_only(self) -> bool:
        """Return whether the vault was not writable when opened. It then stays as it was at that moment."""
        return self._metadata.is_read_only

    @property
    def key_id(self) -> str:
        """Return the id of the data key that seals the vault, "" for a plain one."""
        return self._columns.sealer.key_id

    def check_key(self) -> None:
        """Check that the key still opens the vault. Raises KeyRevoked when it was revoked, OtherDataKey when the vault
        was sealed under another one; then open it again."""
        self._columns.check(self._metadata)

    def snapshot(self) -> AbstractContextManager[None]:
        """Read a consistent snapshot inside the block, in one transaction of a remote database. Nothing can be written
        inside."""
        return self._metadata.snapshot()

    def close(self) -> None:
        self._metadata.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Sequences --------------------------------------------------------------------------------------------------

    def head(self) -> SequenceRow | None:
        """Return the newest sequence; None in an empty vault."""
        return self._one(sql.HEAD)

    def sequences(self, after: int = -1, limit: int = ALL) -> list[SequenceRow]:
        """Return kept sequences after a number, oldest first, at most `limit`."""
        self._columns.check(self._metadata)
        pins: dict[int, list[Pin]] = {}
        for row in self._metadata.rows(sql.PINS):
            pins.setdefault(row[0], []).append(Pin(*row))
        rows = self._metadata.rows(sql.SEQUENCES, (after, limit))
        return [self._sequence_row(row, pins.get(row[0], [])) for row in rows]

    def _sequence_row(self, row: Row, pins: list[Pin]) -> SequenceRow:
        made = sequence_row(row, pins)
        if made.label is None or self._columns.is_plain:
            return made
        return replace(made, label=self._columns.text_of(LABEL, made.label))

    def find(self, number: int) -> SequenceRow | None:
        """Return a kept sequence; None for one that never existed or was thinned."""
        return self._one(sql.SEQUENCE, number) if number <= ALL else None

    def sequence(self, number: int) -> SequenceRow:
        """Return a kept sequence. Raises UnknownSequence."""
        found = self.find(number)
        if found is None:
            raise errors.UnknownSequence(f"sequence {number} does not exist, or was deleted because of its age")
        return found

    def at(self, time: Moment) -> SequenceRow | None:
        """Return the last sequence, by its number, that was recorded at or before a time (`SequenceRow.recorded_at`);
        None when the history begins later."""
        return self._one(sql.SEQUENCE_AT, moment_text(time), moment_text(time))

    def between(self, after: int, last: int) -> tuple[int, str | None]:
        """Return how many kept sequences are newer than one and not newer than another, and the earliest of their
        times."""
        count, since = self._metadata.row(sql.SEQUENCES_BETWEEN, (after, last)) or (0, None)
        return count, since

    def kept_within(self, first: int, last: int | None) -> tuple[int, int] | None:
        """Return the first and the last kept sequence from `first` until before `last` (None: no end); None where there
        is none."""
        ends = self._metadata.row(sql.SEQUENCES_WITHIN, (first, ALL if last is None else last))
        return None if ends is None or ends[0] is None else (int(ends[0]), int(ends[1]))

    def _one(self, statement: str, *parameters: Any) -> SequenceRow | None:
        self._columns.check(self._metadata)
        row = self._metadata.row(statement, parameters)
        if row is None:
            return None
        return self._sequence_row(row, [Pin(*pin) for pin in self._metadata.rows(sql.PINS_OF, (row[0],))])

    def state(self, number: int | None = None) -> VaultState:
        """Return the state at a kept sequence, the head by default. Raises UnknownSequence."""
        row = self.head() if number is None else self.sequence(number)
        if row is None:
            raise errors.UnknownSequence("no sequence was captured yet")
        return self.state_of(row)

    def state_of(self, row: SequenceRow) -> VaultState:
        """Return the state of a kept sequence."""
        return VaultState(self._metadata, self._objects, row.as_sequence(self.agent_id), lambda: self.redactions)

    def changes(self, base: int, new: int) -> StateChanges:
        """Return the changes between two kept sequences, forward or back. Raises UnknownSequence."""
        ends = [self.sequence(number).as_sequence(self.agent_id) for number in (base, new)]
        return sequence_changes.changes_between(self._metadata, self._objects, ends[0], ends[1], self.redactions)

    def record_pairs(self, base: int, new: int) -> list[tuple[Record | None, Record | None]]:
        """Return the records whose lines differ between two kept sequences, each at `base` and at `new`; None where it
        has no line. Raises UnknownSequence."""
        numbers = [self.sequence(number).number for number in (base, new)]
        return sequence_changes.record_pairs(self._metadata, self._objects, numbers[0], numbers[1])

    @property
    def artifacts(self) -> ArtifactBodies:
        """Return the large artifacts, whose bytes travel separately from states."""
        return ArtifactBodies(self._metadata, self._blobs, self._columns, self._clock, self._redacted)

    @property
    def epoch(self) -> int:
        """Return the current epoch, including one that another process raised since the vault was opened."""
        row = self._metadata.row(sql.VAULT)
        if row is None:
            raise errors.VaultDamaged("no vault is stored in the database")
        return int(row[3])

    # Records ----------------------------------------------------------------------------------------------------

    def has_record(self, record_id: str) -> bool:
        """Return whether the history has ever held a record of this id."""
        return self._metadata.row(sql.HAS_RECORD, (record_id,)) is not None

    def written_by(self, record_ids: list[str]) -> dict[str, int]:
        """Return by id which sequence wrote the head's version of a record; it may have been thinned since. Unknown ids
        are left out."""
        chunks = (record_ids[start : start + _CHUNK] for start in range(0, len(record_ids), _CHUNK))
        return {
            record_id: number
            for chunk in chunks
            for record_id, number in self._metadata.rows(sql.beginnings_of_records(len(chunk)), chunk)
        }

    def stays_of_record(self, record_id: str) -> Iterator[tuple[bytes, int, int | None]]:
        """Yield every line that a record has had, oldest first, with its first sequence and the one before which it
        ended (None: still there). Purged lines are left out."""
        for number, first, last in list(self._metadata.rows(sql.STAYS_OF_RECORD, (record_id,))):
            yield self._objects.read(number), first, last

    def records_with_content(self, text: str) -> list[str]:
        """Return the ids of the head's records (also deleted ones) whose content is exactly `text`. A sealed vault has
        no digests of contents, because no capture writes to it; there every line is read."""
        if not self._columns.is_plain:
            head = self.head()
            live = () if head is None else self.state(head.number).records()
            return [record.id for record in live if read_text_content(record.line) == text]
        return [found for (found,) in self._metadata.rows(sql.RECORDS_WITH_CONTENT, (text_key(self.seed, text),))]

    # Redactions -------------------------------------------------------------------------------------------------

    @property
    def redactions(self) -> Redactions:
        """Return all known redactions, including waiting ones and those that another process added since. Its `len` is
        the `purges` argument of `Vault.commit`."""
        return self._redacted().every

    def redaction_rows(self) -> list[RedactionRow]:
        """Return the redactions, oldest first."""
        self._columns.check(self._metadata)
        return vault_redactions.read_redaction_rows(self._metadata, self._columns)

    def _redacted(self) -> VaultRedactions:
        """Return the redactions; one cheap query where nothing changed."""
        counts = vault_redactions.count_redactions(self._metadata)
        if counts != self._known_counts:
            self._columns.check(self._metadata)
            self._known, self._known_counts = vault_redactions.read_redactions(self._metadata, self._columns), counts
        return self._known

    def remaining(self, redaction: Redaction) -> int:
        """Return how many named leaves still have their old bytes or hash here, including those that another redaction
        has cut less than this one does."""
        as_applied = self.redactions.applied([redaction])
        return vault_redactions.count_remaining(self._metadata, self._objects, as_applied, redaction)

    def history(self) -> Iterator[HistoryItem]:
        """Yield everything that is kept, each row of an entry or record once; read the bytes by `read_object`."""
        self._columns.check(self._metadata)
        return kept_history.iterate_history(self._metadata, self._columns)

    def stays_of_entries(self, mark: str) -> Iterator[EntrySpan]:
        """Yield every row of a file whose bytes are held, with whether `mark` occurs literally in its meta."""
        self._columns.check(self._metadata)
        return kept_history.iterate_entry_spans(self._metadata, self._columns, mark)

    def stays_of_entry(self, path: str) -> list[EntryStay]:
        """Return every version that an entry has had, oldest first, also those without bytes."""
        self._columns.check(self._metadata)
        rows = self._metadata.rows(sql.STAYS_OF_PATH, (self._columns.path(path),))
        return [
            EntryStay(number, json_of(self._columns.text_of(META, meta)), first, last)
            for first, last, number, meta, _ in rows
        ]

    def stays_of_records(self) -> Iterator[tuple[str, bytes, int, int | None]]:
        """Yield every line of every record, oldest first: id, line, its first sequence, and the one before which it
        ended (None: still there). Purged lines are left out."""
        self._columns.check(self._metadata)
        for record_id, first, last, *stored in self._metadata.rows(sql.STAYS_OF_RECORDS):
            held = StoredObject(*stored)
            yield record_id, self._objects.whole(held), first, last

    def read_object(self, number: int) -> bytes:
        """Return the bytes of an object. Raises BodyAbsent, VaultDamaged."""
        return self._objects.read(number)

    def body_of_leaf(self, leaf: Leaf) -> bytes | None:
        """Return the bytes that a leaf commits to; None where no object has them unchanged."""
        for number, *_ in list(self._metadata.rows(sql.OBJECTS_OF_LEAF, (leaf.digest,))):
            with contextlib.suppress(errors.VaultDamaged, BodyAbsent):
                body = self._objects.read(int(number))
                if self.redactions.hold(leaf, body):
                    return body
        return None

    def is_swept(self) -> bool:
        """Return whether no trace of purged content is left in the vault's files: no old copy of tables, no body file,
        no log. `Vault.settle` achieves that."""
        return self._metadata.row(sql.UNSWEPT_REDACTIONS) is None

    # Decisions and audit ----------------------------------------------------------------------------------------

    def get(self, key: str, default: Any = None) -> Any:
        """Return a small JSON value that was stored as a decision."""
        self._columns.check(self._metadata)
        row = self._metadata.row(sql.DECISION, (key,))
        return default if row is None else json_of(self._columns.text_of(DECISION, row[0]))

    @property
    def record_seed(self) -> bytes:
        """Return the seed of new record ids. A purge replaces it, because guessed contents could be tested against
        purged ids otherwise. A vault of an earlier release has no separate one before its first purge."""
        kept = self.get(RECORD_SEED)
        return self.seed if kept is None else bytes.fromhex(kept)

    def last_verified(self) -> int | None:
        """Return the number last given to `mark_verified`."""
        found = self.get(LAST_VERIFIED)
        return None if found is None else int(found["sequence"])

    def damage(self) -> list[int]:
        """Return the objects that the last verification found damaged and that are not repaired yet."""
        found: list[int] = self.get(DAMAGE) or []
        return found

    def damage_found_at(self) -> str:
        """Return when the last full verification found damage (timestamp); "" when it found none."""
        return str(self.get(DAMAGE_FOUND) or "")

    def broken_states(self) -> list[int]:
        """Return the kept sequences whose rows the last verification found lost or changed."""
        found = self.get(DAMAGED_STATES)
        return sorted({*found}.intersection(self._kept_numbers())) if found else []

    def damaged_states(self) -> list[int]:
        """Return the kept sequences that differ from what was signed: `broken_states`, and those with an object of
        `damage`."""
        objects = self.damage()
        numbers = self._kept_numbers() if objects else []
        places = [place for each in objects for place in self._metadata.rows(sql.PLACES_OF_OBJECT, (each, each))]
        standing = {
            each for each in numbers for first, last in places if first <= each and (last is None or each < last)
        }
        return sorted(standing.union(self.broken_states()))

    def _kept_numbers(self) -> list[int]:
        return [number for (number,) in self._metadata.rows(sql.KEPT_NUMBERS)]

    def audit_rows(self) -> Iterator[AuditRow]:
        """Yield every change of this vault, oldest first."""
        return audit_chain.read_rows(self._metadata)

    def audit_end(self) -> tuple[int, str]:
        """Return number and hash (hex) of the newest audit row."""
        _, number, digest = audit_chain.chain_ends(self._metadata)
        return number, digest

    def check_audit(self) -> list[int]:
        """Return the numbers of audit rows that do not follow from the previous one; empty for an intact chain."""
        return audit_chain.find_broken_rows(self._metadata)

    # Maintenance ------------------------------------------------------------------------------------------------

    def verify(self, number: int | None = None, *, trusted: TrustedKeys | None, whole: bool = True) -> Verification:
        """Verify a sequence (the head by default): bytes, digest and signature; with `whole` also every other one, the
        audit and the tables. Everything judged is read. Findings are in the result, never raised.

        Raises UnknownSequence.
        """
        verifier = self._verifier(trusted)
        with self._metadata.snapshot():
            try:
                head = self.head()
                row = head if number is None else self.sequence(number)
                rows = self.sequences() if whole else []
            except errors.VaultDamaged as error:
                return vault_verification.unreadable_vault(number, error)
            if whole:
                return verifier.whole(None if row is None else row.number, rows)
            return Verification(None) if row is None else verifier.one(row, is_newest=row == head)

    def verify_sample(
        self, bodies: int, *, trusted: TrustedKeys | None, is_over: Callable[[], bool], chance: random.Random
    ) -> Verification:
        """Verify the head's digest and signature, and up to `bodies` of its entries and records each, chosen by
        `chance`; fewer when `is_over` says so. Findings are in the result, never raised."""
        verifier = self._verifier(trusted)
        with self._metadata.snapshot():
            try:
                row = self.head()
            except errors.VaultDamaged as error:
                return vault_verification.unreadable_vault(None, error)
            return Verification(None) if row is None else verifier.sample(row, bodies, is_over, chance)

    def are_damaged(self, numbers: Iterable[int]) -> list[int]:
        """Read objects and return those with wrong bytes."""
        with self._metadata.snapshot():
            return self._verifier(None).damaged_of(numbers)

    def _verifier(self, trusted: TrustedKeys | None) -> Verifier:
        return Verifier(self._metadata, self._blobs, self._columns, self.agent_id, trusted)

    def old_versions(self, keep: int, now: datetime | None) -> list[int]:
        """Return the objects that `drop_old_versions` would drop now."""
        whole = artifact_versions.sequences_kept_whole(self.sequences(), self.last_verified(), now)
        return artifact_versions.old_versions(self._metadata, self._columns, keep, whole)

    def size(self) -> int:
        """Return the bytes on disk."""
        return self._metadata.size() + self._blobs.size()


def moment_text(moment: Moment) -> str:
    """Return a time as the vault writes it."""
    return times.to_text(times.parse_time(moment) if isinstance(moment, str) else moment)
