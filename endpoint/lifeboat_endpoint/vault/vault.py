"""The vault of one agent: every kept state, signed and numbered, in one folder."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lifeboat_alf import codec, times
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.seams.clock import Clock, SystemClock
from lifeboat_alf.seams.files import FileOperations, SystemFiles
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_alf.state import Changes, JsonObject, Sequence
from lifeboat_endpoint import errors
from lifeboat_endpoint.at_rest.sealer import PLAIN, Sealer
from lifeboat_endpoint.store.disk import DiskBlobs, translated
from lifeboat_endpoint.store.migrations import migrate
from lifeboat_endpoint.store.protocols import BlobStore, MetadataStore, Row
from lifeboat_endpoint.store.sqlite import SqliteStore
from lifeboat_endpoint.vault import audit, changes, countersigning, digest, objects, resealing, versions
from lifeboat_endpoint.vault import statements as sql
from lifeboat_endpoint.vault.beginning import fresh_file, initialise, opened_seed
from lifeboat_endpoint.vault.columns import DECISION, LABEL, Columns
from lifeboat_endpoint.vault.commit import Commit, Origin, Sign, content_of, text_key
from lifeboat_endpoint.vault.countersigning import Countersigned
from lifeboat_endpoint.vault.draft import Draft
from lifeboat_endpoint.vault.filling import Artifacts
from lifeboat_endpoint.vault.retention import Retention
from lifeboat_endpoint.vault.rows import AuditRow, Pin, SequenceRow, json_of, sequence_row
from lifeboat_endpoint.vault.state import VaultState
from lifeboat_endpoint.vault.thinning import ThinReport, thin
from lifeboat_endpoint.vault.verification import Finding, Verification, Verifier
from lifeboat_keys.trusted import Trusted

FILE = "vault.db"
BODIES = "objects"
ALL = 2**62
"""More rows than there are."""
_CHUNK = 500
LAST_VERIFIED = "last_verified"
"""The decision in which `mark_verified` keeps `{"sequence", "time"}`."""

Moment = datetime | str
"""A datetime with a zone, or RFC 3339 text."""


class Vault:
    """An open vault. Belongs to the thread that opened it; close it, or use it as a context manager.

    Several processes may read; writers wait for each other, and who captures or thins holds the agent's lock.
    """

    def __init__(
        self,
        metadata: MetadataStore,
        blobs: BlobStore,
        *,
        files: FileOperations,
        clock: Clock,
        sealer: Sealer = PLAIN,
    ) -> None:
        """A vault on a prepared pair of stores (see `initialise`)."""
        self._metadata = metadata
        self._blobs = blobs
        self._files = files
        self._clock = clock
        row = metadata.row(sql.VAULT)
        if row is None:
            raise errors.VaultDamaged("the tables hold no vault")
        self.id, self.agent_id, self.seed = str(row[0]), str(row[1]), opened_seed(bytes(row[2]), sealer)
        self._seal_with(sealer)

        self._hashes: list[bytes] | None = None

    def _seal_with(self, sealer: Sealer) -> None:
        self._columns = Columns(sealer)
        self._objects = objects.Objects(self._metadata, self._blobs, self._columns)

    # Opening ----------------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        folder: Path,
        agent_id: str,
        *,
        files: FileOperations | None = None,
        clock: Clock | None = None,
        sealer: Sealer = PLAIN,
    ) -> Self:
        """Make an empty vault in `folder`, its content sealed by `sealer`. It appears whole or not at all. Raises
        VaultExists."""
        files, clock = files or SystemFiles(), clock or SystemClock()
        if (folder / FILE).exists():
            raise errors.VaultExists(f"{folder} holds a vault")
        DiskBlobs(folder / BODIES, files)
        with translated():
            new = fresh_file(folder / FILE, files)
        metadata = SqliteStore(new, create=True)
        initialise(metadata, agent_id, clock, sealer=sealer)
        metadata.close()
        with translated():
            files.replace(new, folder / FILE)
            files.sync_folder(folder)
        return cls.open(folder, files=files, clock=clock, sealer=sealer)

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        files: FileOperations | None = None,
        clock: Clock | None = None,
        sealer: Sealer = PLAIN,
    ) -> Self:
        """Open the vault in `folder`, whose content `sealer` sealed. Raises VaultMissing, VaultNewer, VaultDamaged, and
        OtherDataKey, which names it, when another data key sealed the content."""
        files, clock = files or SystemFiles(), clock or SystemClock()
        metadata = SqliteStore(folder / FILE)
        try:
            migrate(metadata, folder / FILE)
            vault = cls(metadata, DiskBlobs(folder / BODIES, files), files=files, clock=clock, sealer=sealer)
            vault._sweep_leftovers()
        except BaseException:
            metadata.close()
            raise
        return vault

    def _sweep_leftovers(self) -> None:
        """Remove what a commit that was cut off left behind; whoever is writing right now will do it."""
        try:
            objects.sweep(self._metadata, self._blobs, wait=False)
        except errors.VaultBusy:
            return

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._metadata.transaction():
            self._columns.check(self._metadata)
            yield

    @contextlib.contextmanager
    def _writing(self) -> Iterator[objects.ObjectWriter]:
        """Inside a transaction. After a failure the files are removed, but only before COMMIT: after one that failed,
        the rows may still come back with the log."""
        writer = objects.ObjectWriter(self._metadata, self._blobs, self._columns)
        try:
            yield writer
        except BaseException:
            writer.discard()
            raise

    @property
    def key_id(self) -> str:
        """Of the data key that seals the vault, "" for a plain one."""
        return self._columns.sealer.key_id

    def check_key(self) -> None:
        """Raises KeyRevoked when the key was taken away since the vault was opened, OtherDataKey when the vault was put
        under another one: then it has to be opened again."""
        self._columns.check(self._metadata)

    def close(self) -> None:
        self._metadata.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Sequences --------------------------------------------------------------------------------------------------

    def head(self) -> SequenceRow | None:
        """The newest sequence, None in an empty vault."""
        return self._one(sql.HEAD)

    def sequences(self, after: int = -1, limit: int = ALL) -> list[SequenceRow]:
        """Kept sequences, oldest first: those after a number, at most `limit` of them."""
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
        """A kept sequence, None for one that never was or was thinned."""
        return self._one(sql.SEQUENCE, number)

    def sequence(self, number: int) -> SequenceRow:
        """Raises UnknownSequence."""
        found = self.find(number)
        if found is None:
            raise errors.UnknownSequence(f"sequence {number} was never made, or was thinned")
        return found

    def at(self, time: Moment) -> SequenceRow | None:
        """The last sequence at or before a time; None when the history begins later."""
        return self._one(sql.SEQUENCE_AT, _text(time))

    def between(self, after: int, last: int) -> tuple[int, str | None]:
        """How many kept sequences are newer than one and not newer than another, and the earliest of their times."""
        count, since = self._metadata.row(sql.SEQUENCES_BETWEEN, (after, last)) or (0, None)
        return count, since

    def _one(self, statement: str, *parameters: Any) -> SequenceRow | None:
        self._columns.check(self._metadata)
        row = self._metadata.row(statement, parameters)
        if row is None:
            return None
        return self._sequence_row(row, [Pin(*pin) for pin in self._metadata.rows(sql.PINS_OF, (row[0],))])

    def state(self, number: int | None = None) -> VaultState:
        """The state at a kept sequence, the head unless named. Raises UnknownSequence."""
        row = self.head() if number is None else self.sequence(number)
        if row is None:
            raise errors.UnknownSequence("the vault is empty: nothing was captured yet")
        return self.state_of(row)

    def state_of(self, row: SequenceRow) -> VaultState:
        """The state of a sequence that is kept."""
        return VaultState(self._metadata, self._objects, row.as_sequence(self.agent_id))

    def changes(self, base: int, new: int) -> Changes:
        """What leads from one kept sequence to another, forward or back. Raises UnknownSequence."""
        ends = [self.sequence(number).as_sequence(self.agent_id) for number in (base, new)]
        return changes.between(self._metadata, self._objects, ends[0], ends[1])

    @property
    def artifacts(self) -> Artifacts:
        """Large artifacts, whose bytes come and go apart from the states that name them."""
        return Artifacts(self._metadata, self._blobs, self._columns, self._clock)

    # Records ----------------------------------------------------------------------------------------------------

    def has_record(self, record_id: str) -> bool:
        """Whether history has ever held a record of this id."""
        return self._metadata.row(sql.HAS_RECORD, (record_id,)) is not None

    def written_by(self, record_ids: list[str]) -> dict[str, int]:
        """Which sequence wrote the version of a record that the head has, by id. It may have been thinned since. Ids
        that the head does not have are left out."""
        chunks = (record_ids[start : start + _CHUNK] for start in range(0, len(record_ids), _CHUNK))
        return {
            record_id: number
            for chunk in chunks
            for record_id, number in self._metadata.rows(sql.beginnings_of_records(len(chunk)), chunk)
        }

    def records_with_content(self, text: str) -> list[str]:
        """Ids of the head's records (deleted ones too) whose content is exactly `text`. A sealed vault, into which
        nobody captures, keeps no digests of contents: there every line is read."""
        if not self._columns.is_plain:
            head = self.head()
            live = () if head is None else self.state(head.number).records()
            return [record.id for record in live if content_of(record.line) == text]
        return [found for (found,) in self._metadata.rows(sql.RECORDS_WITH_CONTENT, (text_key(self.seed, text),))]

    # Changing ---------------------------------------------------------------------------------------------------

    def commit(
        self,
        draft: Draft,
        *,
        kind: str,
        writer: str,
        time: Moment,
        raw_time: Moment | None = None,
        sign: Sign | None = None,
        counts: JsonObject | None = None,
        number: int | None = None,
    ) -> SequenceRow | None:
        """Put a draft on top of the head as one new, durable sequence; None when it changes nothing.

        The first number is 0, the next head + 1; an import may name a larger one. `time` never goes back: an earlier
        one becomes that of the head (`raw_time` keeps what the clock said). `sign` gets the finished sequence inside
        the transaction; if it fails, nothing happened. `counts` is looked at when the whole draft was read. Raises
        DraftInvalid, VaultFull, VaultBusy.
        """
        with self._transaction():
            head = self._place(sql.HEAD)
            origin = self._origin(head, kind, writer, _text(time), _text(raw_time or time), number)
            changed = self._write(draft, origin, head, sign, counts)
        return self.sequence(origin.number) if changed else None

    def accept(
        self,
        sequence: Sequence,
        draft: Draft,
        *,
        kind: str,
        writer: str,
        raw_time: Moment,
        fits: Callable[[SequenceRow | None, int], None] | None = None,
    ) -> SequenceRow:
        """Put a state of another vault on top of the head: its number, base, epoch, time, digest and signature stay as
        they were signed. `raw_time` says when it came here. A higher epoch is in force from now on.

        `fits` gets the head and the epoch in force inside the transaction, whatever other processes did since the draft
        was made; what it raises is raised, and nothing happened. Raises DraftInvalid, and SignatureError when the draft
        does not lead to the digest; then nothing happened.
        """

        def signed(made: Sequence) -> JsonObject | None:
            if sequence.digest != made.digest:
                raise SignatureError(f"what was sent is not the state {sequence.number} that its digest names")
            return sequence.signature

        with self._transaction():
            head, epoch = self._place(sql.HEAD), self.epoch
            if fits is not None:
                fits(head, epoch)
            if head is not None and sequence.number <= head.number:
                raise errors.DraftInvalid(f"the head is {head.number}, so the next sequence is not {sequence.number}")
            place = (sequence.number, sequence.base, sequence.epoch, sequence.time, _text(raw_time))
            origin = Origin(self.agent_id, *place, kind, writer)
            if not self._write(draft, origin, head, signed, None):
                raise errors.DraftInvalid("the state is the one that the head is already")
            if sequence.epoch > epoch:
                self._metadata.execute(sql.SET_EPOCH, (sequence.epoch,))
            made = self._place(sql.SEQUENCE, sequence.number)
        assert made is not None
        return made

    def _write(
        self, draft: Draft, origin: Origin, head: SequenceRow | None, sign: Sign | None, counts: JsonObject | None
    ) -> bool:
        """The rows of a new sequence, inside a transaction; False when it would change nothing."""
        known = digest.still_of(self._hashes, None if head is None else head.digest)
        with self._writing() as writer:
            commit = Commit(self._metadata, self._objects, writer, self._files, self.seed, known)
            changed = commit.run(draft, origin, self._clock.now(), sign, counts)
        self._hashes = commit.hashes
        return changed

    def _place(self, statement: str, *parameters: Any) -> SequenceRow | None:
        """A sequence without its pins, inside a transaction that has looked at the key."""
        row = self._metadata.row(statement, parameters)
        return None if row is None else sequence_row(row, [])

    @property
    def epoch(self) -> int:
        """The epoch in force, also when another process raised it since the vault was opened."""
        row = self._metadata.row(sql.VAULT)
        if row is None:
            raise errors.VaultDamaged("the tables hold no vault")
        return int(row[3])

    def _origin(
        self, head: SequenceRow | None, kind: str, writer: str, time: str, raw_time: str, number: int | None
    ) -> Origin:
        following = 0 if head is None else head.number + 1
        if number is not None and number < following:
            raise errors.DraftInvalid(f"the next sequence is {following}, not {number}")
        base, newest = (None, time) if head is None else (head.number, max(head.time, time))
        chosen = following if number is None else number
        return Origin(self.agent_id, chosen, base, self.epoch, newest, raw_time, kind, writer)

    def pin(self, number: int, reason: str, until: Moment | None = None) -> None:
        """Keep a sequence from being thinned, for a reason, until a time or for ever. Raises UnknownSequence."""
        with self._transaction():
            self.sequence(number)
            self._metadata.execute(sql.DROP_PIN, (number, reason))
            ends = None if until is None else _text(until)
            self._metadata.execute(sql.ADD_PIN, (number, reason, ends))
            self._audit("pin", str(number), {"reason": reason, "until": ends})

    def unpin(self, number: int, reason: str) -> bool:
        """Take a pin away; False when there was none."""
        with self._transaction():
            removed = self._metadata.execute(sql.DROP_PIN, (number, reason)) > 0
            if removed:
                self._audit("unpin", str(number), {"reason": reason})
        return removed

    def label(self, number: int, text: str | None) -> None:
        """Name a sequence; None takes the name away. Labelled ones are never thinned. Raises UnknownSequence."""
        with self._transaction():
            self.sequence(number)
            self._metadata.execute(sql.SET_LABEL, (None if text is None else self._columns.text(LABEL, text), number))
            self._audit("label", str(number), {"set": text is not None})

    # Authority --------------------------------------------------------------------------------------------------

    def raise_epoch(self, expected: int | None = None) -> int | None:
        """Begin a new epoch: every later sequence carries it, and whoever still writes in an older one is fenced. With
        `expected` only if that is the epoch in force; else None, and nothing happened."""
        with self._transaction():
            if expected is not None and self.epoch != expected:
                return None
            self._metadata.execute(sql.RAISE_EPOCH)
            made = self.epoch
            self._audit("epoch", str(made), {})
        return made

    def enter_epoch(self, epoch: int) -> None:
        """Write in this epoch from now on, unless the one in force is as high already."""
        with self._transaction():
            if epoch > self.epoch:
                self._metadata.execute(sql.SET_EPOCH, (epoch,))
                self._audit("epoch", str(epoch), {})

    def countersign(self, sign: Sign, *, before: Trusted, after: Trusted) -> Countersigned:
        """Sign anew what counts for `before` and would not count for `after`; number, time and digest stay.

        Only a sequence whose state has its digest and whose signature holds gets a new one. All at once: one
        transaction, one audit row.
        """
        found = self.verify(trusted=before).findings
        with self._transaction():
            done = countersigning.chosen(self.sequences(), self.agent_id, found, after)
            for row in done.signed:
                document = sign(row.as_sequence(self.agent_id))
                self._metadata.execute(sql.SET_SIGNATURE, (codec.encode(document).decode(), row.number))
            if done.signed:
                numbers = [row.number for row in done.signed]
                details = {"sequences": len(numbers), "first": numbers[0], "key": after.current.key_id}
                self._audit("countersign", str(numbers[-1]), details)
        return done

    def resign(self, signatures: Iterable[tuple[int, JsonObject]]) -> int:
        """Put signatures in the place of those that sequences have, by number; how many were taken. Numbers that are
        not here and signatures that are here already are passed over. All or none: raises SignatureError for one that
        does not hold."""
        with self._transaction():
            named = ((self._one(sql.SEQUENCE, number), document) for number, document in signatures)
            done = countersigning.replaced(((row, new) for row, new in named if row is not None), self.agent_id)
            for number, document in done:
                self._metadata.execute(sql.SET_SIGNATURE, (codec.encode(document).decode(), number))
            if done:
                self._audit("resign", str(done[-1][0]), {"sequences": len(done), "first": done[0][0]})
        return len(done)

    # Decisions --------------------------------------------------------------------------------------------------

    def get(self, key: str, default: Any = None) -> Any:
        """A small JSON value decided earlier."""
        self._columns.check(self._metadata)
        row = self._metadata.row(sql.DECISION, (key,))
        return default if row is None else json_of(self._columns.text_of(DECISION, row[0]))

    def set(self, key: str, value: Any, *, kind: str = "decision") -> None:
        """Keep a small JSON value; None forgets it. The audit row names the key, not the value."""
        self.change(key, lambda _: value, kind=kind)

    def change(self, key: str, how: Callable[[Any], Any], *, kind: str = "decision") -> Any:
        """Keep what `how` makes of the value that is kept (None when there is none), whatever other processes write
        meanwhile, and give it; writes nothing when it is the same. `how` may be asked twice."""
        found = self.get(key)
        if how(found) == found:
            return found
        with self._transaction():
            found = self.get(key)
            value = how(found)
            if value != found:
                self._metadata.execute(sql.DROP_DECISION, (key,))
                if value is not None:
                    text = self._columns.text(DECISION, codec.encode(value).decode())
                    self._metadata.execute(sql.ADD_DECISION, (key, text))
                self._audit(kind, key, {"set": value is not None})
        return value

    # Audit and care ---------------------------------------------------------------------------------------------

    def _audit(self, kind: str, subject: str, details: JsonObject) -> None:
        audit.append(self._metadata, self._clock.now(), kind, subject, details)

    def audit_rows(self) -> Iterator[AuditRow]:
        """Every change of this vault, oldest first."""
        return audit.rows(self._metadata)

    def check_audit(self) -> list[int]:
        """Numbers of audit rows that do not follow from the one before; empty when the chain is whole."""
        return audit.broken(self._metadata)

    def thin(self, retention: Retention, now: datetime, *, keep: Callable[[int], bool] = lambda _: False) -> ThinReport:
        """Let go of old sequences, at most a tenth of them; every one that stays still restores to its digest.

        `now` is a time the caller trusts. The head, pinned and labelled sequences and the last verified one stay, and
        those of which `keep` says so by number.
        """
        return self._letting_go(
            lambda writer: thin(self._metadata, writer, self.sequences(), retention, now, self.last_verified(), keep)
        )

    def drop_old_versions(self, keep: int, now: datetime | None) -> ThinReport:
        """Forget the bytes of large artifacts (ALF §3.1.9, tier 3) that are older than the newest `keep` of their path.

        The head, pinned, labelled and the last verified sequence keep theirs, and nothing else is touched. The leaves
        stay: every sequence keeps its digest, and `State.body` of what went raises BodyAbsent. `now` is a time the
        caller trusts; None when there is none, then no pin has run out. Writes nothing when nothing is too old.
        """
        if not self.old_versions(keep, now):
            return ThinReport([], len(self.sequences()))
        return self._letting_go(
            lambda writer: versions.drop_bodies(self._metadata, writer, self.old_versions(keep, now), self._clock.now())
        )

    def old_versions(self, keep: int, now: datetime | None) -> list[int]:
        """Which objects `drop_old_versions` would drop now."""
        whole = versions.sequences_kept_whole(self.sequences(), self.last_verified(), now)
        return versions.old_versions(self._metadata, self._columns, keep, whole)

    def _letting_go(self, work: Callable[[objects.ObjectWriter], ThinReport]) -> ThinReport:
        """One transaction that drops content, then the space of it. The caller holds the agent's lock."""
        before = self.size()
        with self._transaction(), self._writing() as writer:
            report = work(writer)
        reached(Step.THIN_SWEPT)
        objects.sweep(self._metadata, self._blobs)
        if report.objects_dropped or report.dropped:
            self._metadata.compact()
        return replace(report, bytes_freed=before - self.size())

    def verify(self, number: int | None = None, *, trusted: Trusted | None, whole: bool = True) -> Verification:
        """Hold a sequence (the head unless named) against its bytes, digest and signature; with `whole` also every
        other kept one, the audit and the tables. Reads everything it judges; findings are in the result, never raised.

        Raises UnknownSequence.
        """
        verifier = Verifier(self._metadata, self._blobs, self._columns, self.agent_id, trusted)
        with self._metadata.snapshot():
            try:
                row = self.head() if number is None else self.sequence(number)
                rows = self.sequences() if whole else []
            except errors.VaultDamaged as error:
                return Verification(number, findings=[Finding("rows", "sequences", error.message)])
            if whole:
                return verifier.whole(None if row is None else row.number, rows)
            return Verification(None) if row is None else verifier.one(row)

    def verify_sample(
        self, bodies: int, *, trusted: Trusted | None, is_over: Callable[[], bool], chance: random.Random
    ) -> Verification:
        """Hold the head against its digest and signature, and up to `bodies` of its entries and of its records, chosen
        by `chance`, against their leaves; fewer when `is_over` says so. Findings are in the result, never raised."""
        verifier = Verifier(self._metadata, self._blobs, self._columns, self.agent_id, trusted)
        with self._metadata.snapshot():
            try:
                row = self.head()
            except errors.VaultDamaged as error:
                return Verification(None, findings=[Finding("rows", "sequences", error.message)])
            return Verification(None) if row is None else verifier.sample(row, bodies, is_over, chance)

    def reseal(self, sealer: Sealer) -> None:
        """Put everything the vault holds under another sealer: one transaction, so that the vault reads whole under the
        one or the other. Then nothing that the former one sealed is left in its files. The caller holds the agent's
        lock; others that have the vault open get OtherDataKey until they open it again.

        A body that is damaged stays as it is. Raises VaultFull, VaultBusy, VaultDamaged for rows that cannot be opened,
        KeyRevoked; then nothing happened.
        """
        with self._transaction(), self._writing() as writer:
            done = resealing.reseal(self._metadata, self._blobs, writer, self._columns, Columns(sealer), self.seed)
            self._audit("reseal", sealer.key_id, {"from": self.key_id, **done._asdict()})
            reached(Step.REENCRYPT_COMMITTED)
        self._seal_with(sealer)
        objects.sweep(self._metadata, self._blobs)
        self._metadata.compact()

    def compact(self) -> None:
        """Give back the space of what was dropped; nothing of it is left in the files then."""
        objects.sweep(self._metadata, self._blobs)
        self._metadata.compact()

    def mark_verified(self, number: int) -> None:
        """Remember that a sequence was read back and found whole; it is not thinned while it is the last such one."""
        self.sequence(number)
        self.set(LAST_VERIFIED, {"sequence": number, "time": times.to_text(self._clock.now())}, kind="verified")

    def last_verified(self) -> int | None:
        """The number given to `mark_verified` last."""
        found = self.get(LAST_VERIFIED)
        return None if found is None else int(found["sequence"])

    def size(self) -> int:
        """Bytes on disk."""
        return self._metadata.size() + self._blobs.size()

    def copy_to(self, folder: Path) -> None:
        """A consistent copy in a new folder; commits wait meanwhile. Raises VaultExists."""
        if (folder / FILE).exists():
            raise errors.VaultExists(f"{folder} holds a vault")
        with self._metadata.transaction():
            self._blobs.copy_to(folder / BODIES)
            self._metadata.copy_to(folder / FILE)
        self._files.sync_folder(folder)


def _text(moment: Moment) -> str:
    return times.to_text(times.parse(moment) if isinstance(moment, str) else moment)
