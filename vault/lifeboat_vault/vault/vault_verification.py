"""Verify a vault: stored content against digests, and digests against signatures.

Findings are in the result and never raised.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from lifeboat_alf.errors import SignatureError
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import ABSENT_LEAF, BodyAbsent, Leaf
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.signed import redaction_signatures, sequence_signatures
from lifeboat_keys.signed.sequence_signatures import SignatureVerdict
from lifeboat_vault.bodies import vault_redactions
from lifeboat_vault.bodies.body_objects import ObjectReader
from lifeboat_vault.bodies.vault_redactions import NOTHING_KNOWN
from lifeboat_vault.errors import VaultDamaged, VaultUnusable
from lifeboat_vault.rows import audit_chain, bucket_digests
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import ColumnSealer
from lifeboat_vault.rows.sequence_rows import SequenceRow, json_of
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore, Row


@dataclass(frozen=True, slots=True)
class VaultFinding:
    """One problem. `kind` is one of body, digest, signature, audit, rows, database; `sequence` is the number of the
    sequence concerned, if any."""

    kind: str
    subject: str
    message: str
    sequence: int | None = None


@dataclass
class Verification:
    """Result of a verification.

    `number` is the requested sequence (None: an empty vault). `unsigned` and `unknown_signer` list sequences whose
    signature is missing or, without a trusted key, proves nothing. For a sample, `entries` and `records` count the
    bodies read, and `hurried` says that time ran out first. `gone` counts records of which a purge left only the leaf.
    `damaged` are objects with wrong bytes, `broken` sequences that do not give their digest. `lacking` are objects
    whose bytes never arrived, each with the first sequence that names it; that is no finding, because large files
    follow their state.
    """

    number: int | None
    sequences: int = 0
    entries: int = 0
    records: int = 0
    objects: int = 0
    bytes: int = 0
    absent: int = 0
    gone: int = 0
    hurried: bool = False
    unsigned: list[int] = field(default_factory=list)
    unknown_signer: list[int] = field(default_factory=list)
    findings: list[VaultFinding] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    lacking: dict[int, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.findings

    def found(self, kind: str, subject: str, message: str) -> None:
        self.findings.append(VaultFinding(kind, subject, message))

    def found_in_sequence(self, kind: str, number: int, message: str) -> None:
        self.findings.append(VaultFinding(kind, f"sequence {number}", message, number))


def unreadable_vault(number: int | None, error: VaultDamaged) -> Verification:
    """Return the verification of a vault whose sequences cannot even be listed."""
    return Verification(number, findings=[VaultFinding("rows", "sequences", error.message)])


class Verifier:
    """One verification of one vault, inside one snapshot of its tables."""

    def __init__(
        self,
        metadata: MetadataStore,
        blobs: BlobStore,
        columns: ColumnSealer,
        agent_id: str,
        trusted: TrustedKeys | None,
    ) -> None:
        self._metadata = metadata
        self._columns = columns
        self._objects = ObjectReader(metadata, blobs, columns)
        self._agent_id = agent_id
        self._trusted = trusted
        self._known = NOTHING_KNOWN

    def damaged_of(self, numbers: Iterable[int]) -> list[int]:
        """Return those of the objects whose bytes are wrong."""
        result = Verification(None)
        self._redactions(result)
        asked = set(numbers)
        for number in sorted(asked):
            self._bodies(result, sql.OBJECT_CHECK, (number,))
        self._gone(result)
        return sorted(asked.intersection(result.damaged))

    def rows(self, rows: list[SequenceRow]) -> Verification:
        """Check every kept sequence against its digest, and every record against its leaf: everything but files."""
        result = Verification(None)
        self._redactions(result)
        self._guarded(result, lambda: self._bodies(result, sql.OBJECTS_IN_RECORDS, ()))
        self._guarded(result, lambda: self._gone(result))
        self._state_checks(result, rows)
        return result

    def gives_digest(self, row: SequenceRow) -> bool:
        """Return whether the rows of a sequence give its digest."""
        result = Verification(row.number)
        self._guarded(result, lambda: self._digests(result, [row]))
        return result.ok

    def _state_checks(self, result: Verification, rows: list[SequenceRow]) -> None:
        """Check all states. An unreadable row ends the walk, because everything after it is in doubt."""
        self._guarded(result, lambda: self._digests(result, rows))
        result.broken += [row.number for row in rows[result.sequences :]]
        self._guarded(result, lambda: self._buckets(result, rows))

    def one(self, row: SequenceRow, *, is_newest: bool) -> Verification:
        """Check bytes, digest and signature of one sequence; for the newest one also what the next commit relies on."""
        result = Verification(row.number)
        self._redactions(result)
        self._guarded(result, lambda: self._bodies(result, sql.OBJECTS_AT, (row.number,) * 4))
        self._guarded(result, lambda: self._digests(result, [row]))
        if is_newest:
            self._stored_buckets(result, row)
        self._signature(result, row)
        return result

    def sample(self, row: SequenceRow, bodies: int, is_over: Callable[[], bool], chance: random.Random) -> Verification:
        """Check digest and signature of the newest sequence over all items, and the bytes of up to `bodies` random
        entries and as many records, until `is_over`."""
        result = Verification(row.number)
        self._redactions(result)
        self._guarded(result, lambda: self._digests(result, [row]))
        self._stored_buckets(result, row)
        self._signature(result, row)
        at = (row.number, row.number)

        def some_bodies() -> None:
            result.entries = self._some(result, sql.OBJECTS_OF_ENTRIES, at, bodies, is_over, chance)
            result.records = self._some(result, sql.OBJECTS_OF_RECORDS, at, bodies, is_over, chance)

        self._guarded(result, some_bodies)
        return result

    def _some(
        self,
        result: Verification,
        statement: str,
        at: tuple[int, int],
        most: int,
        is_over: Callable[[], bool],
        chance: random.Random,
    ) -> int:
        """Read some bodies back and return how many; at least one, however little time there is."""
        every = [int(number) for (number,) in self._metadata.rows(statement, at)]
        chosen = chance.sample(every, min(most, len(every)))
        for done, number in enumerate(chosen, start=1):
            self._bodies(result, sql.OBJECT_CHECK, (number,))
            if done < len(chosen) and is_over():
                result.hurried = True
                return done
        return len(chosen)

    def whole(self, number: int | None, rows: list[SequenceRow]) -> Verification:
        """Check every body once, every kept sequence's digest and signature, the audit chain and the tables."""
        result = Verification(number)
        for problem in self._metadata.problems():
            result.found("database", "vault.db", problem)
        self._redactions(result)
        checks: list[Callable[[], None]] = [
            lambda: self._bodies(result, sql.OBJECTS, ()),
            lambda: self._state_checks(result, rows),
            lambda: self._intervals(result),
            lambda: self._gone(result),
            lambda: self._lacking(result),
            lambda: self._audit(result, rows),
        ]
        for check in checks:
            self._guarded(result, check)
        for row in rows:
            self._signature(result, row)
        return result

    def _guarded(self, result: Verification, check: Callable[[], None]) -> None:
        """Run a check. An unreadable table, or a value that this program does not write, becomes a finding."""
        try:
            check()
        except (VaultDamaged, VaultUnusable) as error:
            result.found("database", "vault.db", error.message)
        except (TypeError, ValueError, AttributeError) as error:
            result.found("rows", "vault.db", f"a database row contains a value of the wrong type: {error}")

    # Bytes ------------------------------------------------------------------------------------------------------

    def _bodies(self, result: Verification, statement: str, parameters: tuple[int, ...]) -> None:
        for row in self._metadata.rows(statement, parameters):
            result.objects += 1
            problem = self._body_problem(result, row)
            if problem:
                result.found("body", f"object {row[0]}", problem)
                result.damaged.append(int(row[0]))

    def _body_problem(self, result: Verification, row: Row) -> str | None:
        number, leaf, held_salt, held_sha256, size, held = row
        if not held:
            is_gone = self._known.every.is_gone(leaf)
            result.gone += is_gone
            result.absent += not is_gone
            return None
        try:
            salt, sha256 = self._columns.salt_of(held_salt), self._columns.sha256_of(held_sha256)
            body = self._objects.read(number)
        except (VaultDamaged, VaultUnusable, BodyAbsent) as error:
            return str(error)
        result.bytes += len(body)
        applied = self._known.applied.naming(leaf)
        if applied is not None and (salt or sha256):
            return f"the content still exists, although the purge {applied.id} removed it"
        if not self._known.every.hold(Leaf(leaf, salt), body):
            return "the content does not match its signed hash, and no purge record explains the difference"
        wrong = len(body) != size or (sha256 is not None and hashlib.sha256(body).digest() != sha256)
        return "the stored size or hash does not match the content" if wrong else None

    def _lacking(self, result: Verification) -> None:
        for number, leaf, first in list(self._metadata.rows(sql.LACKING_OBJECTS)):
            if leaf != ABSENT_LEAF and self._known.applied.naming(leaf) is None:
                result.lacking[int(number)] = int(first)

    # Redactions -------------------------------------------------------------------------------------------------

    def _redactions(self, result: Verification) -> None:
        """Check purges: redacted content is valid only if a redaction names it, and a redaction only if a trusted key
        signed it."""
        self._guarded(result, lambda: self._read_redactions(result))

    def _read_redactions(self, result: Verification) -> None:
        self._known = vault_redactions.read_redactions(self._metadata, self._columns)
        for redaction in self._known.every:
            try:
                redaction_signatures.verify_redaction(redaction, self._trusted)
            except SignatureError as error:
                result.found("signature", f"purge {redaction.id}", error.message)
            if redaction.agent_id != self._agent_id:
                result.found("signature", f"purge {redaction.id}", "the purge belongs to a different agent")

    def _gone(self, result: Verification) -> None:
        for record_id, leaf, number in self._metadata.rows(sql.LINELESS_RECORDS):
            if not self._known.every.is_gone(leaf):
                result.found(
                    "body",
                    f"record {record_id}",
                    "the content of the record is missing, but no purge removed it",
                )
                result.damaged.append(int(number))

    # Digests and signatures -------------------------------------------------------------------------------------

    def _digests(self, result: Verification, rows: list[SequenceRow]) -> None:
        """Check digests and signatures. From one sequence to the next only changes are hashed again."""
        tree = _BucketTree()
        before: int | None = None
        for row in rows:
            for key, item in self._leaving(before, row.number):
                tree.remove(key, item)
            for key, item in self._coming(before, row.number):
                tree.add(key, item)
            if tree.root() != row.digest:
                result.found_in_sequence("digest", row.number, "the content does not match the signed digest")
                result.broken.append(row.number)
            result.sequences += 1
            before = row.number

    def _coming(self, before: int | None, number: int) -> Iterator[tuple[bytes, bytes]]:
        if before is None:
            return self._items(sql.ENTRY_ITEMS_AT, sql.RECORD_ITEMS_AT, (number, number))
        return self._items(sql.ENTRY_ITEMS_BEGUN, sql.RECORD_ITEMS_BEGUN, (before, number, number))

    def _leaving(self, before: int | None, number: int) -> Iterator[tuple[bytes, bytes]]:
        if before is None:
            return iter(())
        return self._items(sql.ENTRY_ITEMS_ENDED, sql.RECORD_ITEMS_ENDED, (before, number, before))

    def _items(self, entries: str, records: str, parameters: tuple[int, ...]) -> Iterator[tuple[bytes, bytes]]:
        for path, meta, leaf in self._columns.entry_items(self._metadata.rows(entries, parameters)):
            yield merkle.entry_key(path), merkle.entry_hash(path, json_of(meta), leaf)
        for record_id, partition, position, leaf in self._columns.record_items(
            self._metadata.rows(records, parameters)
        ):
            yield merkle.record_key(record_id), merkle.record_hash(record_id, partition, position, leaf)

    def _signature(self, result: Verification, row: SequenceRow) -> None:
        try:
            verdict = sequence_signatures.verify_sequence(row.as_sequence(self._agent_id), self._trusted)
        except SignatureError as error:
            result.found_in_sequence("signature", row.number, error.message)
            return
        if verdict is SignatureVerdict.UNSIGNED:
            result.unsigned.append(row.number)
        elif verdict is SignatureVerdict.UNKNOWN_SIGNER:
            result.unknown_signer.append(row.number)

    # Tables -----------------------------------------------------------------------------------------------------

    def _intervals(self, result: Verification) -> None:
        for (subject,) in self._metadata.rows(sql.BAD_INTERVALS):
            result.found("rows", subject, "the last sequence of this row is before its first sequence")
        for statement in (sql.OVERLAPPING_ENTRIES, sql.OVERLAPPING_RECORDS):
            for (subject,) in self._metadata.rows(statement):
                result.found("rows", subject, "one sequence contains this item twice")
        for (partition,) in self._metadata.rows(sql.SPARSE_PARTITIONS):
            result.found("rows", partition, "a position in this partition is missing")

    def _buckets(self, result: Verification, rows: list[SequenceRow]) -> None:
        """Check what the next commit relies on. If it is wrong, the newest sequence must be repaired."""
        try:
            stored = bucket_digests.stored_buckets(self._metadata, self._columns)
            is_right = stored == bucket_digests.live_buckets(self._metadata, self._columns)
        except (VaultDamaged, TypeError, ValueError, AttributeError):
            is_right = False
        if not is_right:
            self._wrong_buckets(result, rows[-1:])

    def _stored_buckets(self, result: Verification, row: SequenceRow) -> None:
        """Check the newest sequence's buckets as far as possible without reading every row."""
        try:
            is_right = merkle.merkle_root(bucket_digests.stored_buckets(self._metadata, self._columns)) == row.digest
            is_right = is_right and self._metadata.row(sql.LATE_ROW, (row.number,) * 4) is None
        except (VaultDamaged, TypeError, ValueError, AttributeError):
            is_right = False
        if not is_right:
            self._wrong_buckets(result, [row])

    def _wrong_buckets(self, result: Verification, newest: list[SequenceRow]) -> None:
        result.found("rows", "buckets", "the intermediate hashes do not match the newest sequence")
        result.broken += [row.number for row in newest if row.number not in result.broken]

    def _audit(self, result: Verification, rows: list[SequenceRow]) -> None:
        for number in audit_chain.find_broken_rows(self._metadata):
            result.found("audit", f"row {number}", "the hash of this audit row does not continue the chain of hashes")
        commits = {
            row.subject: row.details.get("digest")
            for row in audit_chain.read_rows(self._metadata)
            if row.kind == "commit"
        }
        for row in rows:
            if commits.get(str(row.number)) != row.digest.hex():
                result.found_in_sequence(
                    "audit", row.number, "the audit log contains a different digest for this sequence"
                )
        purged = {row.subject for row in audit_chain.read_rows(self._metadata) if row.kind == "purge"}
        applied = {redaction.id for redaction in self._known.applied}
        for redaction_id in sorted(purged ^ applied):
            result.found(
                "audit",
                f"purge {redaction_id}",
                "this purge is either missing from the audit log or missing from the stored purges",
            )


class _BucketTree:
    """Items of one state in their buckets, changed step by step. A duplicate item counts twice."""

    def __init__(self) -> None:
        self._items: list[list[tuple[bytes, bytes]]] = [[] for _ in range(merkle.BUCKETS)]
        self._hashes = merkle.empty_buckets()
        self._touched: set[int] = set()

    def add(self, key: bytes, item: bytes) -> None:
        self._bucket(key).append((key, item))

    def remove(self, key: bytes, item: bytes) -> None:
        self._bucket(key).remove((key, item))

    def _bucket(self, key: bytes) -> list[tuple[bytes, bytes]]:
        number = merkle.bucket_of(key)
        self._touched.add(number)
        return self._items[number]

    def root(self) -> bytes:
        for number in self._touched:
            self._hashes[number] = merkle.bucket_hash(self._items[number])
        self._touched.clear()
        return merkle.merkle_root(self._hashes)
