"""Memories that a runtime keeps as rows: what capture needs to compare them, and what a restore writes.

A row is unchanged as long as it equals the row that a restore would write for its record (`DatabaseSupport.row_of`).
The same function is used in both directions, so a capture after a restore finds nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lifeboat_adapters.guarded_files import Guarded
from lifeboat_adapters.item_fates import ItemFate
from lifeboat_alf.common.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class VectorModel:
    """The model that computed the vectors of a store. `model` is their name in a record's `embeddings` (ALF §3.1.6)."""

    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """A table of an SQLite database with one memory per row. It is compared in SQL with the last captured rows, and
    only rows that differ are read.

    `name` is the `origin_file` of its records. `columns` are all columns that are compared and captured, including `id`
    and `content`. The bytes in `vector` are read for new and changed rows only. `where` with `parameters` selects the
    rows of one agent. `key` is the column by which the runtime itself identifies memories, if there is one. `model` is
    None when the model of the vectors is unknown; then vectors are not captured. Below `workspace` and the runtime's
    folder given with it no link in the path of the database is followed.
    """

    database: Path
    name: str
    table: str
    columns: tuple[str, ...]
    id: str = "id"
    content: str = "content"
    vector: str | None = None
    where: str = "1"
    parameters: tuple[str, ...] = ()
    model: VectorModel | None = None
    key: str = "key"
    workspace: Guarded = None


class StoredRow(NamedTuple):
    """A row as it was read: its columns, and the bytes of its vector (float32, little-endian)."""

    values: JsonObject
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class MemoryRows:
    """A store behind a server, which cannot be compared in SQL here.

    `stamp` is cheap and tells whether anything changed; `rows` reads everything. Both raise RuntimeDatabaseError. The
    other fields are those of `MemoryTable`.
    """

    name: str
    columns: tuple[str, ...]
    stamp: Callable[[], Any]
    rows: Callable[[], Iterator[StoredRow]]
    id: str = "id"
    content: str = "content"
    model: VectorModel | None = None
    key: str = "key"


MemoryStore = MemoryTable | MemoryRows


@dataclass(frozen=True, slots=True)
class RowChoice:
    """Which optional rows a restore puts back. They are optional because a job that is on two machines runs twice."""

    cron: bool = False
    sessions: bool = False


@dataclass(frozen=True, slots=True)
class DatabaseWrite:
    """A planned change of a database. Planning writes nothing.

    `write` makes the whole file at a free path, from the one at `path` if there is one, which stays untouched.
    `replaces` are files beside it that belong to the old database (its log) and move aside with it.

    `fates` say what becomes of each memory and row. `withheld` names archive paths or record ids that are not written
    because their credentials are left out. `held` are ids of records whose rows the database holds afterwards.
    `changes` is False when the database is already as it should be. `counts` gives the number of rows to add, update,
    keep and remove, where they were counted.
    """

    path: Path
    changes: bool
    write: Callable[[Path], None]
    fates: tuple[ItemFate, ...] = ()
    replaces: tuple[Path, ...] = ()
    held: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerWrite:
    """Memories that a restore puts into a server after all files are in place.

    `fates` apply until something was put there. `write`, called with the installation as it is then, returns what
    became of each memory, by the id of its record. It is None when the server must not be contacted. It raises
    RuntimeDatabaseError when nothing was written.
    """

    server: str
    fates: tuple[ItemFate, ...]
    write: Callable[[Any], list[ItemFate]] | None = None


@dataclass(frozen=True, slots=True)
class WriteOrder:
    """What `DatabaseSupport.plan_writes` has to achieve.

    `tables` are rows of the state's other databases by archive path, with their secrets filled in. `texts` are columns,
    by record id, of rows that had credentials cut out and whose values may be put back. Other rows with cuts are
    withheld and named in `cut`. `paths` are absolute paths of projects, each with the one that replaces it. With
    `exact`, memories of this agent that `before` (the newest captured state) held and the wanted state does not are
    removed. Without it, rows that the archive does not know stay.
    """

    state: Any
    before: Any = None
    exact: bool = False
    tables: Mapping[str, bytes] = field(default_factory=dict)
    texts: Mapping[str, JsonObject] = field(default_factory=dict)
    cut: frozenset[str] = frozenset()
    choice: RowChoice = RowChoice()
    paths: tuple[tuple[str, str], ...] = ()
    now: str = ""
