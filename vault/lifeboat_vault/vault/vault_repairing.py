"""Track and repair damage of a vault: lost or changed bytes of objects and rows of sequences."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from lifeboat_alf.common import times
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.states.agent_state import Leaf, State
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.bodies import body_objects
from lifeboat_vault.errors import DraftInvalid
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.vault import row_repair
from lifeboat_vault.vault.row_repair import RowDamage, RowRepair, RowRepairReport
from lifeboat_vault.vault.vault_purging import VaultPurging
from lifeboat_vault.vault.vault_reading import DAMAGE, DAMAGE_FOUND, DAMAGED_STATES
from lifeboat_vault.vault.vault_verification import Verification


class VaultRepairing(VaultPurging):
    """The part of a vault that repairs its own damage."""

    _hashes: list[bytes] | None = None
    """Hashes of the head's buckets, if known."""

    def note_damage(self, found: Verification) -> None:
        """Record the damage that a full verification found, until it is repaired."""
        self.set(DAMAGE, sorted({*found.damaged}) or None, kind="damage")
        self.set(DAMAGED_STATES, found.broken or None, kind="damage")
        is_damaged = bool(found.damaged or found.broken)
        self.set(DAMAGE_FOUND, times.to_text(self._clock.now()) if is_damaged else None, kind="damage")

    def note_broken_head(self) -> None:
        """Record that the rows of the newest sequence do not give its digest. Nothing can be committed on top of it
        then."""
        head = self.head()
        if head is not None and not self._verifier(None).gives_digest(head):
            self.set(DAMAGED_STATES, sorted({*self.broken_states(), head.number}), kind="damage")

    def check_damage(self) -> list[int]:
        """Read recorded damage again, forget what is right now, and return the rest."""
        left = self.are_damaged(self.damage())
        self.set(DAMAGE, left or None, kind="damage")
        return left

    def check_rows(self, suspected: Iterable[int] = ()) -> None:
        """Check every kept sequence against its digest, every record against its leaf, and `suspected` objects against
        theirs; record the damage. Derived data is computed again. Damaged objects that no row names are dropped."""
        self.set(DAMAGE, sorted({*self.damage(), *suspected}) or None, kind="damage")
        if self.check_damage():
            with self._transaction(), self._writing() as writer:
                row_repair.drop_unused(self._metadata, writer, self.damage())
                writer.flush()
        found = self._rows_checked()
        if found.broken and self._derive_buckets(found.broken):
            found = self._rows_checked()
        self.set(DAMAGE, sorted({*self.are_damaged(self.damage()), *found.damaged}) or None, kind="damage")
        self.set(DAMAGED_STATES, found.broken or None, kind="damage")

    def _rows_checked(self) -> Verification:
        with self._metadata.snapshot():
            return self._verifier(None).rows(self.sequences())

    def _derive_buckets(self, broken: list[int]) -> bool:
        """Write wrong bucket hashes again if the rows of the newest sequence give its digest; return whether they
        do."""
        head = self.head()
        if head is None or head.number not in broken or not self._verifier(None).gives_digest(head):
            return False
        self.follow_rows()
        return True

    def follow_rows(self) -> None:
        """Compute the bucket hashes from the newest rows even if they do not give the digest of the newest sequence, so
        that the next one is digested as its rows are. Raises VaultDamaged for unreadable rows."""
        with self._transaction():
            if (head := self.head()) is not None:
                row_repair.end_with(self._metadata, head.number)
            row_repair.rebuild_buckets(self._metadata, self._objects)
        self._hashes = None

    def put_back(
        self, number: int, state: Callable[[], State], *, has_room: Callable[[int], None] | None = None
    ) -> RowRepairReport:
        """Restore a damaged sequence as it was signed, and neighbouring ones that the same rows repair.

        `state` provides the content inside the transaction and is not trusted: its items must give the digest, and
        purged content is stored redacted. No digest, signature or other sequence changes. `has_room` receives the
        number of written bytes and may raise to undo everything.

        Raises UnknownSequence, DraftInvalid for an undamaged sequence and for another state than the signed one,
        SignatureError where the stored signature is invalid, VaultFull, VaultBusy; then nothing happened.
        """
        with self._transaction():
            row = self.sequence(number)
            sequence_signatures.verify_sequence(row.as_sequence(self.agent_id), None)
            damaged = self.damaged_states()
            if number not in damaged:
                raise DraftInvalid(f"sequence {number} needs no repair, because it is not damaged")
            with self._writing() as writer:
                done = self._restating(writer, damaged).run(number, state())
                if has_room is not None:
                    has_room(writer.stored)
            self._decide(DAMAGE, [each for each in self.damage() if each not in done.healed] or None)
            self._decide(DAMAGED_STATES, [each for each in self.broken_states() if each not in done.numbers] or None)
            details = {"sequences": done.numbers, "rows": done.rows, "objects": len(done.healed)}
            self._audit("mend", str(number), details)
            reach_crash_point(CrashPoint.MEND_COMMITTED)
        self._hashes = None
        return done

    def _restating(self, writer: body_objects.ObjectWriter, damaged: list[int]) -> RowRepair:
        damage = RowDamage(self.sequences(), damaged, self.damage())
        return RowRepair(self._metadata, self._objects, writer, self.seed, self._redacted(), damage)

    def heal(self, number: int, body: bytes) -> bool:
        """Replace the damaged bytes of an object by the right ones, with their size and hash. Return False for bytes
        that do not match its leaf. Digests and signatures stay. Raises VaultFull, VaultBusy."""
        with self._transaction(), self._writing() as writer:
            row = self._metadata.row(sql.OBJECT_CHECK, (number,))
            if row is None or not self._redacted().every.hold(Leaf(row[1], self._columns.salt_of(row[2])), body):
                return False
            held = None if row[3] is None else self._columns.sha256(hashlib.sha256(body).digest())
            self._metadata.execute(sql.RESTORE_OBJECT, (row[2], held, len(body), number))
            writer.heal(number, body)
            writer.flush()
            self._audit("heal", f"object {number}", {"bytes": len(body)})
        return True
