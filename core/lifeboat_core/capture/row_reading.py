"""Read the rows of a memory store that differ from the captured ones, in one transaction, compared in SQL."""

from __future__ import annotations

import marshal
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from lifeboat_adapters.database_reading import decode_column_value, read_database
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.memory_stores import MemoryRows, MemoryStore, MemoryTable
from lifeboat_alf.common import json_codec
from lifeboat_core.capture.row_shadow import CAME, GONE, HELD, HELD_ROWS

BATCH = 500
"""Rows that are searched for secrets, and packed, together."""


class DifferingRow(NamedTuple):
    """A row that differs from the captured one. `record` and `kind` come from the shadow, None when it has no such row;
    `was` and `vector` are the lengths of its vector then and now."""

    record: str | None
    kind: int | None
    was: int | None
    vector: int | None
    values: tuple[Any, ...]


class VectorSpool:
    """The bytes of vectors in an unnamed file, by row, because those of a large agent would fill the memory."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._places: dict[Any, tuple[int, int]] = {}
        self._end = 0

    def add(self, row: Any, found: Any) -> None:
        """Add the value of a vector column. A value that is not bytes is stored as an empty vector."""
        data = found if isinstance(found, bytes) else b""
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives until `close`
        self._file.seek(self._end)
        self._file.write(data)
        self._places[row] = (self._end, len(data))
        self._end += len(data)

    def get(self, row: Any) -> bytes | None:
        place = self._places.get(row)
        if place is None or self._file is None:
            return None
        self._file.seek(place[0])
        return self._file.read(place[1])

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


@dataclass
class RowDifferences:
    """The result of a comparison: `gone` are (row, record, key) of removed rows, `came` rows that hold memories from
    elsewhere, `nameless` counts rows without an id. The rows are stored compressed, and can be read any number of
    times."""

    vectors: VectorSpool = field(default_factory=VectorSpool)
    gone: list[tuple[Any, str, Any]] = field(default_factory=list)
    came: list[Any] = field(default_factory=list)
    nameless: int = 0
    keep: Keep | None = None
    _packed: list[bytes] = field(default_factory=list)

    def add(self, rows: list[DifferingRow]) -> None:
        # Rows are four fifths of a first capture's memory. `marshal` is safe here: the bytes never leave the process.
        self._packed.append(zlib.compress(marshal.dumps([tuple(row) for row in rows]), 1))

    def batches(self) -> Iterator[list[DifferingRow]]:
        for packed in self._packed:
            yield [DifferingRow._make(row) for row in marshal.loads(zlib.decompress(packed))]

    def rows(self) -> Iterator[DifferingRow]:
        for batch in self.batches():
            yield from batch

    def __bool__(self) -> bool:
        return bool(self._packed or self.gone)


Look = Callable[[list[DifferingRow]], set[Any]]
"""Returns the ids of rows of a batch that hold a secret, and have to be read although they did not change."""


Keep = Callable[[tuple[Any, ...]], tuple[Any, ...] | None]
"""Returns the values of a row as they may be captured, None for a row that must not be captured because it holds purged
text."""


def compare_rows(
    store: MemoryStore, shadow: Path, look: Look, keep: Keep | None = None, *, everything: bool
) -> RowDifferences:
    """Return the rows that differ from the shadow in the database `shadow`. With `everything`, search every row,
    because a new secret may be in any of them. Raises RuntimeDatabaseError."""
    found = RowDifferences(keep=keep)
    if isinstance(store, MemoryRows):
        return _compare_fetched(store, shadow, found, look, everything=everything)
    query = _Query.of(store)
    rows = read_database(
        store.database,
        lambda opened: _read(opened, query, shadow, found, look, everything),
        workspace=store.workspace,
    )
    for _ in rows:
        pass
    return found


def _compare_fetched(
    store: MemoryRows, shadow: Path, found: RowDifferences, look: Look, *, everything: bool
) -> RowDifferences:
    """Compare the rows of a server, after putting them into a table in memory."""
    try:
        with closing(sqlite3.connect(":memory:", uri=True, isolation_level=None)) as opened:
            query = _fill(opened, store)
            opened.execute("begin")
            for _ in _read(opened, query, shadow, found, look, everything):
                pass
    except sqlite3.Error as error:
        raise RuntimeDatabaseError(f"{store.name}: {error}") from error
    return found


def _fill(opened: sqlite3.Connection, store: MemoryRows) -> _Query:
    columns = [f"c{place}" for place in range(len(store.columns))]
    opened.execute(f"create table rows({', '.join(columns)}, vector, unique (c{store.columns.index(store.id)}))")
    marks = ", ".join("?" * (len(columns) + 1))
    for row in store.rows():
        values = [to_column_value(row.values.get(name)) for name in store.columns]
        opened.execute(f"insert or replace into rows values ({marks})", (*values, row.vector))
    vector = "vector" if store.model else "null"
    return _Query("rows", tuple(columns), store.columns.index(store.id), vector, "1", ())


@dataclass(frozen=True, slots=True)
class _Query:
    """A table by its names in SQL. `id` is the position of the id among the columns."""

    table: str
    columns: tuple[str, ...]
    id: int
    vector: str
    where: str
    parameters: tuple[str, ...]

    @classmethod
    def of(cls, store: MemoryTable) -> _Query:
        vector = _quoted(store.vector) if store.vector and store.model else "null"
        columns = tuple(_quoted(name) for name in store.columns)
        return cls(_quoted(store.table), columns, store.columns.index(store.id), vector, store.where, store.parameters)

    def rows(self) -> str:
        """Return a subquery for the agent's rows, with the column names of the shadow."""
        names = ", ".join(f"{name} as c{place}" for place, name in enumerate(self.columns))
        return f"(select {names}, {self.vector} as v from main.{self.table} where {self.where})"

    def differing(self, *, everything: bool) -> str:
        """Return the query for rows that differ. A `+` removes a column's affinity, and the shadow is on the left
        because it has no collation: 1 is not '1', and A is not a."""
        places = range(len(self.columns))
        tests = ["s.row is null", f"s.kind = {GONE}", "not s.whole", "s.vector is not length(r.v)"]
        differs = " or ".join([*tests, *(f"+s.c{place} is not +r.c{place}" for place in places)])
        values = ", ".join(f"r.c{place}" for place in places)
        return (
            f"select {differs}, s.record, s.kind, s.vector, length(r.v), iif({differs}, r.v, null), {values}"
            f" from {self.rows()} r left join lifeboat.shadow s on s.row = r.c{self.id}"
            f" where r.c{self.id} is not null{'' if everything else f' and ({differs})'}"
        )

    def numbers(self) -> tuple[str, str]:
        """Return the queries for the number of rows, and of rows without id. Each is answered from an index; one query
        for both would read every row."""
        return (
            f"select count(*) from main.{self.table} where {self.where}",
            f"select count(*) from {self.rows()} where c{self.id} is null",
        )

    def came(self) -> str:
        rows = f"lifeboat.shadow s cross join {self.rows()} r on r.c{self.id} = s.row"
        return f"select s.row from {rows} where s.kind = {CAME} and s.kind <> 0"

    def gone(self) -> str:
        held = f"select row, record, key from lifeboat.shadow where kind = {HELD}"
        return f"{held} and row not in (select c{self.id} from {self.rows()} where c{self.id} is not null)"


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _read(
    opened: sqlite3.Connection, query: _Query, shadow: Path, found: RowDifferences, look: Look, everything: bool
) -> Iterator[None]:
    opened.execute("attach ? as lifeboat", (f"{shadow.absolute().as_uri()}?mode=ro",))
    total, found.nameless = (opened.execute(one, query.parameters).fetchone()[0] for one in query.numbers())
    found.came = [row for (row,) in opened.execute(query.came(), query.parameters)]
    new = _take(opened.execute(query.differing(everything=everything), query.parameters), query, found, look)
    (held,) = opened.execute(f"select {HELD_ROWS.format(schema='lifeboat')}").fetchone()
    if total - found.nameless - new - len(found.came) != held:
        # This query costs as much as the comparison itself, so it runs only if the numbers show that rows are missing.
        found.gone = list(opened.execute(query.gone(), query.parameters))
    yield


def _take(rows: sqlite3.Cursor, query: _Query, found: RowDifferences, look: Look) -> int:
    """Pack the rows that differ or must be read; return how many were not there before."""
    new = 0
    while batch := rows.fetchmany(BATCH):
        read = [DifferingRow._make((*row[1:5], tuple(row[6:]))) for row in batch]
        new += sum(one.kind in (None, GONE) for one in read)
        if found.keep is not None:
            batch, read = _kept(batch, read, found.keep)
        wanted = look(read)
        kept = []
        for (differs, *_, vector), one in zip((row[:6] for row in batch), read, strict=True):
            if differs or one.values[query.id] in wanted:
                kept.append(one)
                if vector is not None:
                    found.vectors.add(one.values[query.id], vector)
        if kept:
            found.add(kept)
    return new


def _kept(batch: list[Any], read: list[DifferingRow], keep: Keep) -> tuple[list[Any], list[DifferingRow]]:
    """Return the rows that may be captured, with the values that may be. A row in which something was cut loses its
    vector, because that represents the whole text."""
    kept, made = [], []
    for row, one in zip(batch, read, strict=True):
        left = keep(one.values)
        if left == one.values:
            kept.append(row)
            made.append(one)
        elif left is not None:
            kept.append((*row[:5], None, *row[6:]))
            made.append(one._replace(values=left, vector=None))
    return kept, made


def to_column_value(value: Any) -> Any:
    """Return a JSON value as a column stores it; text for a value that no column can store."""
    try:
        return decode_column_value(value)
    except ValueError:
        return json_codec.encode_json(value).decode()
