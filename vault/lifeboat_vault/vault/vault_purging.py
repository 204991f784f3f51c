"""Apply, delay and refuse redactions in a vault, and make sure that no trace of destroyed content remains in its
files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lifeboat_alf.common import json_codec, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import RedactionInvalid, SignatureError
from lifeboat_alf.redaction.redactions import WHOLE_AGENT, Redaction
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.signed.redaction_signatures import verify_redaction
from lifeboat_vault import errors
from lifeboat_vault.bodies import body_objects, vault_redactions
from lifeboat_vault.bodies.vault_redactions import REFUSED, SIGNED
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import REDACTION, SEED
from lifeboat_vault.vault import body_destruction, vault_resealing
from lifeboat_vault.vault.body_destruction import DestroyReport
from lifeboat_vault.vault.vault_creation import RECORD_SEED, new_seed
from lifeboat_vault.vault.vault_reading import Moment, moment_text
from lifeboat_vault.vault.vault_writing import VaultWriting

PURGE = "purge"
"""Kind of the audit row of an applied redaction; its details are the record of ALF §3.1.11."""


@dataclass(frozen=True, slots=True)
class RedactReport:
    """Result of `Vault.redact`. `fresh`: this call applied it or let it wait; otherwise it was known and nothing
    happened. `objects` lost their `bytes` (a count). `waits_until`: not applied yet. `swept`: no trace remains in the
    files; otherwise another process is reading, and `Vault.settle` must be called later."""

    fresh: bool
    objects: int = 0
    bytes: int = 0
    waits_until: str | None = None
    swept: bool = True


class VaultPurging(VaultWriting):
    """The part of a vault that handles redactions."""

    def redact(
        self, redaction: Redaction, *, waits_until: Moment | None = None, decisions: Mapping[str, Any] | None = None
    ) -> RedactReport:
        """Apply a redaction: what it names loses body, salt and content hash and gets its replacement; every sequence
        keeps number, digest and signature.

        This and `decisions` (by key, None forgets) are one transaction with one audit row. Then all traces are removed
        from the files, also those that an earlier call left.

        With `waits_until` the redaction is only recorded, and explains states of machines that have applied it. A
        waiting or refused one is applied by a call without `waits_until`. The caller checks its signature. Raises
        RedactionInvalid for another agent and for edits that do not fit their bytes, VaultFull, VaultBusy; then nothing
        happened.
        """
        if redaction.agent_id != self.agent_id:
            raise RedactionInvalid("the purge belongs to a different agent")
        until = None if waits_until is None else moment_text(waits_until)
        with self._transaction():
            report = self._redact(redaction, until, decisions or {})
        self._read_seed()
        return replace(report, swept=self.settle())

    def _redact(self, redaction: Redaction, until: str | None, decisions: Mapping[str, Any]) -> RedactReport:
        held = self._metadata.row(sql.REDACTION, (redaction.id,))
        if held is not None and (held[2] is None or until is not None):
            return RedactReport(False, waits_until=held[2])
        if held is None:
            self._add(redaction, until)
        else:
            redaction = vault_redactions.open_redaction(self._columns, held[0])
        if until is not None:
            self._audit("purge waits", redaction.id, {"until": until})
            return RedactReport(True, waits_until=until)
        done = self._apply(redaction, decisions)
        self._renew_seeds()
        reach_crash_point(CrashPoint.PURGE_REDACTED)
        return RedactReport(True, done.objects, done.bytes)

    def _add(self, redaction: Redaction, until: str | None) -> None:
        document = self._columns.text(REDACTION, json_codec.encode_json(redaction.to_json()).decode())
        row = (redaction.id, times.to_text(self._clock.now()), document, until)
        self._metadata.execute(sql.ADD_REDACTION, row)

    def _apply(self, redaction: Redaction, decisions: Mapping[str, Any]) -> DestroyReport:
        self._metadata.execute(sql.APPLY_REDACTION, (redaction.id,))
        applied = vault_redactions.read_redactions(self._metadata, self._columns).applied
        with self._writing() as writer:
            done = body_destruction.destroy_bodies(self._metadata, self._objects, writer, applied, redaction.leaves)
            for key, value in decisions.items():
                self._decide(key, value)
            self._audit(PURGE, redaction.id, audit_record(redaction, times.to_text(self._clock.now())))
        return done

    def _renew_seeds(self) -> None:
        """Replace the seed of record ids. Purged ids were derived from content; without the seed, guessed contents
        cannot be tested against them. In a vault of an earlier release, that is the only seed."""
        if self.get(RECORD_SEED) is None:
            seed = new_seed()
            if self._columns.is_plain:
                vault_resealing.add_content_keys(self._metadata, self._objects, seed)
            self._metadata.execute(sql.SET_SEED, (self._columns.sealer.seal(SEED, seed),))
        self._decide(RECORD_SEED, new_seed().hex())

    def withdraw(self, redaction_id: str) -> bool:
        """Refuse a waiting redaction permanently, even if a machine sends it again. It stays known, because states of
        machines that have applied it refer to it. False when none with this id waits."""
        with self._transaction():
            held = self._metadata.row(sql.REDACTION, (redaction_id,))
            if held is None or held[2] in (None, REFUSED):
                return False
            self._metadata.execute(sql.REFUSE_REDACTION, (REFUSED, redaction_id))
            self._audit("purge refused", redaction_id, {})
        return True

    def sign_redactions(
        self, sign: Callable[[Redaction], Redaction], *, before: TrustedKeys, after: TrustedKeys
    ) -> int:
        """Sign the redactions again that count for `before` but not for `after`; return how many."""
        with self._transaction():
            every = [row.redaction for row in self.redaction_rows()]
            news = [sign(one) for one in every if _counts(one, before) and not _counts(one, after)]
            self._put_signed("countersign", after.current.key_id, news)
        return len(news)

    def resign_redaction(self, redaction: Redaction) -> bool:
        """Replace the signature of the same redaction; False when there is none with its id and digest, or it already
        has this signature. The caller checks whose it is."""
        with self._transaction():
            held = self._metadata.row(sql.REDACTION, (redaction.id,))
            known = None if held is None else vault_redactions.open_redaction(self._columns, held[0])
            if known is None or known.digest != redaction.digest or known.signature == redaction.signature:
                return False
            self._put_signed("resign", redaction.id, [redaction])
        return True

    def _put_signed(self, kind: str, subject: str, news: list[Redaction]) -> None:
        """Store known redactions with new signatures, and one audit row for all."""
        for one in news:
            document = self._columns.text(REDACTION, json_codec.encode_json(one.to_json()).decode())
            self._metadata.execute(sql.SET_REDACTION, (document, one.id))
        if news:
            self._decide(SIGNED, int(self.get(SIGNED) or 0) + 1)
            self._audit(kind, subject, {"redactions": [one.id for one in news]})

    def settle(self, *, wait: bool = True) -> bool:
        """Remove all traces of destroyed content from the files: body files, copies of migrations, free pages, remains
        inside pages, the log.

        True when nothing is left. False while another process reads, the disk is full or the files are damaged; then
        try again. Opening the vault and `compact` also try it. Without `wait` nothing is waited for.
        """
        try:
            applied = list(self._metadata.rows(sql.UNSWEPT_REDACTIONS))
            if not applied:
                return True
            reach_crash_point(CrashPoint.PURGE_SWEPT)
            body_objects.remove_orphans(self._metadata, self._blobs, wait=wait)
            if not self._metadata.scrub(wait=wait):
                return False
            with self._metadata.transaction(wait=wait):
                self._metadata.execute_many(sql.SET_SWEPT, applied)
        except (errors.VaultBusy, errors.VaultFull, errors.VaultUnusable, errors.VaultDamaged):
            return False
        return True


def _counts(redaction: Redaction, trusted: TrustedKeys) -> bool:
    try:
        verify_redaction(redaction, trusted)
    except SignatureError:
        return False
    return True


def audit_record(redaction: Redaction, completed_at: str) -> JsonObject:
    """Return the record of ALF §3.1.11."""
    record = {
        "purge_id": redaction.id,
        "agent_id": redaction.agent_id,
        "scope": redaction.scope,
        "record_ids": list(redaction.record_ids),
        "partitions_affected": list(redaction.partitions_affected),
        "reason": redaction.reason,
        "requested_at": redaction.requested_at,
        "completed_at": completed_at,
        "requested_by": redaction.requested_by,
    }
    if redaction.scope == WHOLE_AGENT:
        del record["record_ids"]
    return record
