"""Store the redactions that a vault knows, applied and waiting."""

from __future__ import annotations

from typing import NamedTuple

from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.redaction import redactions
from lifeboat_alf.redaction.joined_redactions import select_confirmed
from lifeboat_alf.redaction.redactions import NONE, Redaction, Redactions
from lifeboat_alf.states.agent_state import Leaf
from lifeboat_vault.bodies.body_objects import ObjectReader
from lifeboat_vault.errors import VaultDamaged
from lifeboat_vault.rows import vault_statements as sql
from lifeboat_vault.rows.column_sealer import REDACTION, ColumnSealer
from lifeboat_vault.rows.sequence_rows import json_of
from lifeboat_vault.store.store_protocols import MetadataStore, Row

REFUSED = "refused"
"""Replaces the time until which a redaction waits, after the owner refused it."""


class RedactionRow(NamedTuple):
    """A redaction as a vault knows it: since when (`time`), and until when it waits (timestamp; None: applied). A
    `refused` one waits for ever: it destroys nothing, but explains states of machines that have applied it."""

    redaction: Redaction
    time: str
    waits_until: str | None = None
    refused: bool = False

    @property
    def applied(self) -> bool:
        return self.waits_until is None and not self.refused


class VaultRedactions(NamedTuple):
    """Redactions of a vault. `applied` decide what is stored instead of arriving content, including those that join
    applied ones; `every` also includes waiting ones and decides what a state may contain."""

    applied: Redactions = NONE
    every: Redactions = NONE


NOTHING_KNOWN = VaultRedactions()


SIGNED = "redactions_signed"
"""Decision that changes whenever a redaction gets a new signature."""


class RedactionCounts(NamedTuple):
    """Number of redactions, number of unapplied ones, and a mark of their signatures. Redactions never change in any
    other way."""

    every: int = 0
    waiting: int = 0
    signed: str | None = None


def count_redactions(metadata: MetadataStore) -> RedactionCounts:
    row = metadata.row(sql.REDACTION_COUNTS)
    return RedactionCounts() if row is None else RedactionCounts(int(row[0]), int(row[1]), row[2])


def read_redaction_rows(metadata: MetadataStore, columns: ColumnSealer) -> list[RedactionRow]:
    """Return the redactions, oldest first. Raises VaultDamaged."""
    found = []
    for document, time, waits_until in metadata.rows(sql.REDACTION_ROWS):
        redaction = open_redaction(columns, document)
        refused = waits_until == REFUSED
        found.append(RedactionRow(redaction, time, None if refused else waits_until, refused))
    return found


def open_redaction(columns: ColumnSealer, document: str) -> Redaction:
    """Decode a stored redaction. Raises VaultDamaged."""
    try:
        return redactions.decode_redaction(json_of(columns.text_of(REDACTION, document)))
    except RedactionInvalid as error:
        raise VaultDamaged(f"a stored purge record is damaged: {error.message}") from None


def read_redactions(metadata: MetadataStore, columns: ColumnSealer) -> VaultRedactions:
    """Return the redactions. One cheap query in a vault without purges."""
    counts = count_redactions(metadata)
    if not counts.every:
        return NOTHING_KNOWN
    found = read_redaction_rows(metadata, columns)
    applied = Redactions(row.redaction for row in found if row.applied)
    if not counts.waiting:
        return VaultRedactions(applied, applied)
    applied = applied.joined(select_confirmed(applied, (row.redaction for row in found if not row.applied)))
    others = (row.redaction for row in found if row.redaction.id not in applied)
    return VaultRedactions(applied, Redactions(applied, waiting=others))


def count_remaining(metadata: MetadataStore, objects: ObjectReader, every: Redactions, redaction: Redaction) -> int:
    """Return how many named leaves still have their old bytes or hash."""
    return sum(1 for leaf in redaction.leaves if _is_left(metadata, objects, every, leaf))


def _is_left(metadata: MetadataStore, objects: ObjectReader, every: Redactions, leaf: bytes) -> bool:
    rows = list(metadata.rows(sql.OBJECTS_OF_LEAF, (leaf,)))
    if any(holds_old(row) for row in rows):
        return True
    if len(every.all_naming(leaf)) < 2:
        return False
    return any(row[4] and not every.hold(Leaf(leaf), objects.read(row[0])) for row in rows)


def holds_old(row: Row) -> bool:
    """Return whether a row of `vault_statements.OBJECTS_OF_LEAF` has old content: salt and hash go with the bytes."""
    return row[1] is not None or row[2] is not None
