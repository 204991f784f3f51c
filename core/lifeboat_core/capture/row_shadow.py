"""The shadow: a table in `state.db` with the rows of a memory store as they were captured, for comparison in SQL.

Its columns are those of the store. A row out of which a secret was cut has no values here, and is read every time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.state.state_db import SHADOW, StateDb

HELD, CAME, GONE = 0, 1, 2
"""What a line says about its record: a row holds it; a row may hold it, because it came from elsewhere; its row was
removed."""

HELD_ROWS = (
    # both counts use an index
    "(select count(*) from {schema}.shadow) - (select count(*) from {schema}.shadow where kind <> 0)"
)
_OWN = ("row", "record", "kind", "key", "whole", "vector", "marked")


class ShadowLine(NamedTuple):
    """One row. `whole` is False when its values are left out; `vector` is the length of its vector in bytes; `marked`
    says that the record itself names its row."""

    row: Any
    record: str
    kind: int
    key: Any
    whole: bool
    vector: int | None
    marked: bool
    values: tuple[Any, ...] = ()


class RowShadow:
    """The table, for a store with these columns."""

    def __init__(self, db: StateDb, columns: tuple[str, ...]) -> None:
        self._db = db
        self.columns = columns

    def start(self, lines: Iterable[ShadowLine], fact: JsonObject) -> None:
        """Replace all lines in one transaction."""
        with self._db.transaction():
            self._db.make_shadow([f"c{place}" for place in range(len(self.columns))])
            self.put(lines)
            self._db.put(SHADOW, fact)

    def put(self, lines: Iterable[ShadowLine]) -> None:
        empty = (None,) * len(self.columns)
        marks = ", ".join("?" * (len(_OWN) + len(self.columns)))
        self._db.connection.executemany(
            f"insert or replace into shadow values ({marks})",
            (tuple(line[: len(_OWN)]) + (line.values if line.whole else empty) for line in lines),
        )

    def drop(self, rows: Iterable[Any]) -> None:
        self._db.connection.executemany("delete from shadow where row = ?", ((row,) for row in rows))

    def link(self, rows: Iterable[Any]) -> None:
        """Mark rows that may hold a record as found."""
        with self._db.transaction():
            self._db.connection.executemany(f"update shadow set kind = {HELD} where row = ?", ((row,) for row in rows))

    def unmeasure(self) -> None:
        """Invalidate all vector lengths, because another model computed the vectors."""
        self._db.connection.execute("update shadow set vector = -1 where vector is not null")

    def check(self) -> None:
        """Check that the table can be read. Raises sqlite3.DatabaseError when it is damaged."""
        self._db.connection.execute("select total(length(record)), total(length(row)) from shadow").fetchone()

    def settle(self) -> None:
        """Remove memories from elsewhere that no row holds."""
        self._db.connection.execute(f"delete from shadow where kind = {CAME} and kind <> 0")

    def held(self) -> int:
        """Return how many rows there were."""
        return int(self._db.connection.execute(f"select {HELD_ROWS.format(schema='main')}").fetchone()[0])

    def with_key(self, key: Any) -> list[str]:
        """Return the records with this key that no row holds now but one may have held, those from elsewhere first."""
        rows = self._db.connection.execute(
            f"select record from shadow where key = ? and kind <> {HELD} order by kind, record", (key,)
        )
        return [row[0] for row in rows]

    def unmarked(self) -> list[str]:
        """Return the records that rows hold although the records do not say so."""
        rows = self._db.connection.execute(
            f"select record from shadow where not marked and kind = {HELD} and record <> '' order by record"
        )
        return [row[0] for row in rows]
