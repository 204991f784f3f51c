"""Drop sequences, and with them every row and object that no kept sequence needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_vault.bodies.body_objects import ObjectWriter
from lifeboat_vault.errors import VaultDamaged
from lifeboat_vault.retention.retention_policy import Retention, sequences_to_drop
from lifeboat_vault.rows import audit_chain
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.sequence_rows import SequenceRow
from lifeboat_vault.store.store_protocols import MetadataStore


@dataclass(frozen=True, slots=True)
class ThinReport:
    """Result of one run: dropped numbers, number of remaining sequences, objects dropped and re-encoded, bytes freed on
    disk (negative when re-encoding took more than dropping gave)."""

    dropped: list[int]
    kept: int
    objects_dropped: int = 0
    objects_reencoded: int = 0
    bytes_freed: int = 0


def thin_vault(
    metadata: MetadataStore,
    writer: ObjectWriter,
    rows: list[SequenceRow],
    retention: Retention,
    now: datetime,
    verified: int | None,
    keep: Callable[[int], bool] = lambda _: False,
) -> ThinReport:
    """Drop the sequences that the retention does not keep, inside the caller's transaction."""
    reach_crash_point(CrashPoint.THIN_PLANNED)
    dropped = sequences_to_drop(rows, retention, now, verified, keep)
    if not dropped:
        return ThinReport([], len(rows))
    _drop_sequences(metadata, dropped)
    unneeded = _drop_rows(metadata)
    reencoded = reencode_resting(metadata, writer, unneeded)
    drop_objects(metadata, unneeded)
    details = {"sequences": dropped, "objects": len(unneeded), "reencoded": reencoded}
    audit_chain.append_row(metadata, now, "thin", f"{dropped[0]}..{dropped[-1]}", details)
    reach_crash_point(CrashPoint.THIN_COMMITTED)
    return ThinReport(dropped, len(rows) - len(dropped), len(unneeded), reencoded)


def _drop_sequences(metadata: MetadataStore, numbers: list[int]) -> None:
    """Drop sequences with their pins, which have all expired."""
    metadata.execute_many(sql.DROP_PINS, [(number,) for number in numbers])
    metadata.execute_many(sql.DROP_SEQUENCE, [(number,) for number in numbers])


def _drop_rows(metadata: MetadataStore) -> set[int]:
    """Drop the rows of no kept sequence; return the objects that nothing uses any more."""
    statements = (sql.UNNEEDED_ENTRY_OBJECTS, sql.UNNEEDED_RECORD_OBJECTS)
    candidates = {number for statement in statements for (number,) in metadata.rows(statement)}
    metadata.execute(sql.DROP_UNNEEDED_ENTRIES)
    metadata.execute(sql.DROP_UNNEEDED_RECORDS)
    return {number for number in candidates if metadata.row(sql.OBJECT_USED, (number,) * 2) is None}


def reencode_resting(
    metadata: MetadataStore, writer: ObjectWriter, unneeded: set[int], *, despite_damage: bool = False
) -> int:
    """Re-encode remaining patches on unneeded objects against their nearest remaining base; return how many. With
    `despite_damage`, unreadable ones stay: they are lost already, and must not keep the others from being dropped."""
    reach_crash_point(CrashPoint.THIN_REENCODED)
    resting = {
        number for base in unneeded for (number,) in metadata.rows(sql.OBJECTS_ON, (base,)) if number not in unneeded
    }
    for number in sorted(resting):
        try:
            writer.reencode(number, _staying_base(metadata, number, unneeded))
        except (VaultDamaged, BodyAbsent):
            if not despite_damage:
                raise
    writer.flush()
    return len(resting)


def _staying_base(metadata: MetadataStore, number: int, unneeded: set[int]) -> int | None:
    base = _base_of(metadata, number)
    while base is not None and base in unneeded:
        base = _base_of(metadata, base)
    return base


def _base_of(metadata: MetadataStore, number: int) -> int | None:
    row = metadata.row(sql.OBJECT_BASE, (number,))
    return None if row is None else row[0]


def drop_objects(metadata: MetadataStore, unneeded: Iterable[int]) -> None:
    """Drop objects, newest first: a patch before its base."""
    reach_crash_point(CrashPoint.THIN_ROWS_DROPPED)
    metadata.execute_many(sql.DROP_OBJECT, [(number,) for number in sorted(unneeded, reverse=True)])
