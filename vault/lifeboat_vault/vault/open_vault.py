"""The vault of one agent: every kept state, signed and numbered, in one folder."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from lifeboat_alf.common import json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.file_operations import FileOperations, SystemFiles
from lifeboat_alf.seams.system_clock import Clock, SystemClock
from lifeboat_alf.states.agent_state import Sequence
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_vault import errors
from lifeboat_vault.at_rest.sealer import PLAIN, Sealer
from lifeboat_vault.bodies import body_objects, vault_redactions
from lifeboat_vault.retention import artifact_versions
from lifeboat_vault.retention.retention_policy import Retention
from lifeboat_vault.retention.thin_sequences import ThinReport, thin_vault
from lifeboat_vault.rows import bucket_digests, number_runs
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import LABEL, ColumnSealer
from lifeboat_vault.rows.sequence_rows import SequenceRow, sequence_row
from lifeboat_vault.store.disk_blobs import DiskBlobs
from lifeboat_vault.store.schema_migrations import migrate_tables
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.vault import countersigning, vault_resealing
from lifeboat_vault.vault.commit_sequence import SequenceCommit, SequenceOrigin, Sign
from lifeboat_vault.vault.countersigning import CountersignReport
from lifeboat_vault.vault.draft import Draft
from lifeboat_vault.vault.vault_creation import create_vault_file
from lifeboat_vault.vault.vault_reading import LAST_VERIFIED, Moment, moment_text
from lifeboat_vault.vault.vault_repairing import VaultRepairing

FILE = "vault.db"
BODIES = "objects"


class Vault(VaultRepairing):
    """An open vault. It belongs to the thread that opened it; close it, or use it as a context manager.

    Several processes may read; writers wait for each other, and captures and thinning hold the agent's lock.
    """

    @classmethod
    def create(
        cls,
        folder: Path,
        agent_id: str,
        *,
        files: FileOperations | None = None,
        clock: Clock | None = None,
        sealer: Sealer = PLAIN,
        seed: bytes | None = None,
    ) -> Self:
        """Create an empty vault in `folder` atomically, sealed by `sealer`. In temporary vaults, a secret `seed` of 32
        bytes makes the ids of equal content equal. Raises VaultError.EXISTS."""
        files, clock = files or SystemFiles(), clock or SystemClock()
        if (folder / FILE).exists():
            raise errors.VaultError.EXISTS(f"{folder} contains a vault already")
        DiskBlobs(folder / BODIES, files)
        create_vault_file(folder / FILE, agent_id, files, clock, sealer, seed)
        return cls.open(folder, files=files, clock=clock, sealer=sealer)

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        files: FileOperations | None = None,
        clock: Clock | None = None,
        sealer: Sealer = PLAIN,
        allowed: Callable[[], None] | None = None,
    ) -> Self:
        """Open the vault in `folder`, which `sealer` sealed. `allowed` may refuse changes (see `SqliteStore`). Raises
        VaultMissing, VaultNewer, VaultDamaged, and OtherDataKey (with its id) when another data key sealed the
        content."""
        files, clock = files or SystemFiles(), clock or SystemClock()
        metadata = SqliteStore(folder / FILE, allowed=allowed)
        try:
            migrate_tables(metadata, folder / FILE)
            vault = cls(metadata, DiskBlobs(folder / BODIES, files), files=files, clock=clock, sealer=sealer)
            if not metadata.is_read_only:
                vault.sweep_leftovers()
        except BaseException:
            metadata.close()
            raise
        return vault

    def sweep_leftovers(self) -> None:
        """Remove what an interrupted commit or purge left. A process that is writing now will do it itself. Damage is
        left for a verification to report."""
        try:
            body_objects.remove_orphans(self._metadata, self._blobs, wait=False)
        except (errors.VaultBusy, errors.VaultDamaged):
            return
        self.settle(wait=False)

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
        number: int | None = None,
    ) -> SequenceRow | None:
        """Commit a draft as a new, durable sequence on top of the head; None when it changes nothing.

        The first number is 0, the next head + 1; an import may name a larger one. `time` never goes back: an earlier
        one becomes that of the head (`raw_time` keeps the clock's). `sign` receives the finished sequence inside the
        transaction; if it fails, nothing happened. Raises DraftInvalid, RedactedMeanwhile when more redactions are
        known than when the draft was begun, VaultFull, VaultBusy.
        """
        with self._transaction():
            self._refuse_older_than(draft.purges)
            head = self._place(sql.HEAD)
            origin = self._origin(head, kind, writer, moment_text(time), moment_text(raw_time or time), number)
            changed = self._write(draft, origin, head, sign)
        return self.sequence(origin.number) if changed else None

    def _refuse_older_than(self, purges: int | None) -> None:
        count = vault_redactions.count_redactions(self._metadata).every
        if purges is not None and count > purges:
            raise errors.RedactedMeanwhile(
                f"{count - purges} purges were applied after the change was read, so the change may contain purged text"
            )

    def accept(
        self,
        sequence: Sequence,
        draft: Draft,
        *,
        kind: str,
        writer: str,
        raw_time: Moment,
        fits: Callable[[SequenceRow | None, int], None] | None = None,
        has_room: Callable[[int], None] | None = None,
    ) -> SequenceRow:
        """Put a state of another vault on top of the head, with number, base, epoch, time, digest and signature as
        signed.

        Redacted content is stored redacted, even if it was sent in full. `raw_time` is when it arrived. A higher epoch
        becomes the current one. The state may equal the head: sequences between them, in which something changed and
        changed back, may have been skipped.

        `fits` receives the head and the current epoch inside the transaction, regardless of what other processes did
        since the draft was made; `has_room` receives the number of added bytes. Both may raise to undo everything.
        Raises DraftInvalid, and SignatureError when the draft does not lead to the digest; then nothing happened.
        """

        def signed(made: Sequence) -> JsonObject | None:
            if sequence.digest != made.digest:
                raise SignatureError(f"the pushed data does not match the signed digest of sequence {sequence.number}")
            return sequence.signature

        with self._transaction():
            head, epoch = self._place(sql.HEAD), self.epoch
            if fits is not None:
                fits(head, epoch)
            if head is not None and sequence.number <= head.number:
                raise errors.DraftInvalid(
                    f"the number of the next sequence must be larger than {head.number}, but is {sequence.number}"
                )
            place = (sequence.number, sequence.base, sequence.epoch, sequence.time, moment_text(raw_time))
            origin = SequenceOrigin(self.agent_id, *place, kind, writer)
            self._write(draft, origin, head, signed, even_if_equal=True)
            if sequence.epoch > epoch:
                self._metadata.execute(sql.SET_EPOCH, (sequence.epoch,))
            made = self._place(sql.SEQUENCE, sequence.number)
            assert made is not None
            if has_room is not None:
                has_room(made.bytes)
        return made

    def _write(
        self,
        draft: Draft,
        origin: SequenceOrigin,
        head: SequenceRow | None,
        sign: Sign | None,
        *,
        even_if_equal: bool = False,
    ) -> bool:
        """Write the rows of a new sequence inside a transaction; return False, with nothing written, when it changes
        nothing, unless it is wanted `even_if_equal`."""
        known = bucket_digests.still_of(self._hashes, None if head is None else head.digest)
        with self._writing() as writer:
            redactions = self._redacted()
            commit = SequenceCommit(self._metadata, self._objects, writer, self._files, self.seed, known, redactions)
            changed = commit.run(draft, origin, self._clock.now(), sign, even_if_equal=even_if_equal)
        self._hashes = commit.hashes
        return changed

    def _place(self, statement: str, *parameters: Any) -> SequenceRow | None:
        """Return a sequence without its pins, inside a transaction that has checked the key."""
        row = self._metadata.row(statement, parameters)
        return None if row is None else sequence_row(row, [])

    def _origin(
        self, head: SequenceRow | None, kind: str, writer: str, time: str, raw_time: str, number: int | None
    ) -> SequenceOrigin:
        following = 0 if head is None else head.number + 1
        if number is not None and number < following:
            raise errors.DraftInvalid(f"the number of the next sequence must be {following}, but is {number}")
        base, newest = (None, time) if head is None else (head.number, max(head.time, time))
        chosen = following if number is None else number
        return SequenceOrigin(self.agent_id, chosen, base, self.epoch, newest, raw_time, kind, writer)

    def pin(self, number: int, reason: str, until: Moment | None = None) -> None:
        """Keep a sequence from being thinned, for a reason, until a time or for ever. Raises UnknownSequence."""
        with self._transaction():
            self.sequence(number)
            self._metadata.execute(sql.DROP_PIN, (number, reason))
            ends = None if until is None else moment_text(until)
            self._metadata.execute(sql.ADD_PIN, (number, reason, ends))
            self._audit("pin", str(number), {"reason": reason, "until": ends})

    def unpin(self, number: int, reason: str) -> bool:
        """Remove a pin; False when there was none."""
        with self._transaction():
            removed = self._metadata.execute(sql.DROP_PIN, (number, reason)) > 0
            if removed:
                self._audit("unpin", str(number), {"reason": reason})
        return removed

    def label(self, number: int, text: str | None) -> None:
        """Name a sequence; None removes the name. Labelled ones are never thinned. Raises UnknownSequence."""
        with self._transaction():
            self.sequence(number)
            self._metadata.execute(sql.SET_LABEL, (None if text is None else self._columns.text(LABEL, text), number))
            self._audit("label", str(number), {"set": text is not None})

    def mark_verified(self, number: int) -> None:
        """Record that a sequence was read back completely. It is not thinned while it is the last such one."""
        self.sequence(number)
        now = times.to_text(self._clock.now())

        def marked(before: JsonObject | None) -> JsonObject:
            return {
                "sequence": number,
                "time": now,
                "verified": number_runs.add_number((before or {}).get("verified", ()), number),
            }

        self.change(LAST_VERIFIED, marked, kind="verified")

    # Epochs and signatures --------------------------------------------------------------------------------------

    def raise_epoch(self, expected: int | None = None) -> int | None:
        """Begin a new epoch. Every later sequence carries it, and writers of an older one are fenced. With `expected`
        only if that is the current epoch; otherwise return None without a change."""
        with self._transaction():
            if expected is not None and self.epoch != expected:
                return None
            self._metadata.execute(sql.RAISE_EPOCH)
            made = self.epoch
            self._audit("epoch", str(made), {})
        return made

    def enter_epoch(self, epoch: int) -> None:
        """Write in this epoch from now on, unless the current one is as high."""
        with self._transaction():
            if epoch > self.epoch:
                self._metadata.execute(sql.SET_EPOCH, (epoch,))
                self._audit("epoch", str(epoch), {})

    def countersign(self, sign: Sign, *, before: TrustedKeys, after: TrustedKeys) -> CountersignReport:
        """Sign again what counts for `before` but not for `after`; number, time and digest stay.

        Only intact sequences with a valid signature get a new one. One transaction and one audit row cover all of them.
        """
        found = self.verify(trusted=before).findings
        with self._transaction():
            done = countersigning.choose_sequences(self.sequences(), self.agent_id, found, after)
            news = [(row.number, sign(row.as_sequence(self.agent_id))) for row in done.signed]
            self._set_signatures("countersign", news, key=after.current.key_id)
        return done

    def resign(self, signatures: Iterable[tuple[int, JsonObject]]) -> int:
        """Replace signatures by number; return how many. Unknown numbers and unchanged signatures are skipped. All or
        none: raises SignatureError for an invalid one."""
        with self._transaction():
            named = ((self._one(sql.SEQUENCE, number), document) for number, document in signatures)
            news = countersigning.check_new_signatures(
                ((row, new) for row, new in named if row is not None), self.agent_id
            )
            self._set_signatures("resign", [*news])
        return len(news)

    def _set_signatures(self, kind: str, news: list[tuple[int, JsonObject | None]], **details: str) -> None:
        """Store signatures by number, and one audit row for all."""
        rows = [(json_codec.encode_json(document).decode(), number) for number, document in news]
        self._metadata.execute_many(sql.SET_SIGNATURE, rows)
        if news:
            self._audit(kind, str(news[-1][0]), {"sequences": len(news), "first": news[0][0], **details})

    # Maintenance ------------------------------------------------------------------------------------------------

    def thin(self, retention: Retention, now: datetime, *, keep: Callable[[int], bool] = lambda _: False) -> ThinReport:
        """Drop old sequences, at most a tenth of them. Every remaining one still restores to its digest.

        `now` is a time that the caller trusts. The head, pinned and labelled sequences, the last verified one, and
        those that `keep` accepts by number stay.
        """
        return self._letting_go(
            lambda writer: thin_vault(
                self._metadata, writer, self.sequences(), retention, now, self.last_verified(), keep
            )
        )

    def drop_old_versions(self, keep: int, now: datetime | None) -> ThinReport:
        """Drop the bytes of large artifacts (ALF §3.1.9, tier 3) that are older than the newest `keep` of their path.

        The head, pinned, labelled and last verified sequences keep theirs, and nothing else is touched. The leaves
        stay, so every sequence keeps its digest, and `State.body` of dropped bytes raises BodyAbsent. `now` is a time
        that the caller trusts; without one no pin expires. Writes nothing when nothing is too old.
        """
        if not self.old_versions(keep, now):
            return ThinReport([], len(self.sequences()))
        return self._letting_go(
            lambda writer: artifact_versions.drop_bodies(
                self._metadata, writer, self.old_versions(keep, now), self._clock.now()
            )
        )

    def _letting_go(self, work: Callable[[body_objects.ObjectWriter], ThinReport]) -> ThinReport:
        """Run one transaction that drops content, then release its space. The caller holds the agent's lock."""
        before = self.size()
        with self._transaction(), self._writing() as writer:
            report = work(writer)
        reach_crash_point(CrashPoint.THIN_SWEPT)
        body_objects.remove_orphans(self._metadata, self._blobs)
        if report.objects_dropped or report.dropped:
            self._metadata.compact()
        return replace(report, bytes_freed=before - self.size())

    def reseal(self, sealer: Sealer) -> None:
        """Seal the whole vault with another sealer in one transaction, so that it is readable with exactly one of them.
        Then remove all traces of the former one from its files.

        The caller holds the agent's lock; other processes that have the vault open get OtherDataKey until they open it
        again. Damaged bodies stay as they are. Raises VaultFull, VaultBusy, VaultDamaged for unreadable rows,
        KeyRevoked; then nothing happened.
        """
        with self._transaction(), self._writing() as writer:
            done = vault_resealing.reseal_vault(
                self._metadata, self._blobs, writer, self._columns, ColumnSealer(sealer), self.seed
            )
            self._audit("reseal", sealer.key_id, {"from": self.key_id, **done._asdict()})
            reach_crash_point(CrashPoint.REENCRYPT_COMMITTED)
        self._seal_with(sealer)
        body_objects.remove_orphans(self._metadata, self._blobs)
        self._metadata.scrub()

    def compact(self) -> None:
        """Release the space of dropped content. Afterwards no purged content is left in the files, unless another
        process reads (see `settle`)."""
        body_objects.remove_orphans(self._metadata, self._blobs)
        self._metadata.compact()
        self.settle()

    def copy_to(self, folder: Path) -> None:
        """Write a consistent copy into a new folder; commits wait meanwhile. Raises VaultError.EXISTS."""
        if (folder / FILE).exists():
            raise errors.VaultError.EXISTS(f"{folder} contains a vault already")
        # A vault that is not writable gets no commits meanwhile, and cannot be locked.
        with contextlib.nullcontext() if self._metadata.is_read_only else self._metadata.transaction():
            self._blobs.copy_to(folder / BODIES)
            self._metadata.copy_to(folder / FILE)
        self._files.sync_folder(folder)
