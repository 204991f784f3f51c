"""Memories that a runtime keeps as rows: what capture has to know to compare them, and what a restore writes.

A row is unchanged as long as it equals what a restore would write for its record (`Adapter.row_of`): the same function
decides both ways, so that a capture after a restore finds nothing new.
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
    """What computed the vectors of a store. `model` is their name in a record's `embeddings` (ALF §3.1.6)."""

    model: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class MemoryTable:
    """A table of an SQLite database that holds one memory a row. It is compared in SQL with what was last captured, and
    only rows that differ are read.

    `name` is the `origin_file` of its records. `columns` are all that is compared and carried, `id` and `content` among
    them; the bytes in `vector` are read for new and changed rows only. `where` with `parameters` chooses the rows of
    one agent. `key` is what the runtime itself tells memories apart by, where there is such a column. `model` is None
    where nobody knows which model the vectors are of: then they are not carried. Below `workspace` and the
    runtime's folder that is given with it no link in the path of the database is followed.
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
    """A store that cannot be compared in SQL here, because it lies behind a server. `stamp` is cheap and tells whether
    anything changed; `rows` reads everything. Both raise RuntimeDatabaseError. Other fields as in `MemoryTable`."""

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
    """Which optional rows a restore puts back: a job that runs on two machines runs twice."""

    cron: bool = False
    sessions: bool = False


@dataclass(frozen=True, slots=True)
class DatabaseWrite:
    """A database as a restore leaves it. It is planned without writing; `write` makes the whole file at a path that is
    free, from the one at `path` where there is one, which stays untouched. `replaces` are files beside it that belong
    to the old one (its log) and go aside with it.

    `fates` say what becomes of each memory and row, `withheld` which archive paths or record ids are not written
    because their credentials stay out; `held` are ids of records whose rows it holds afterwards. `changes` is False
    when the database already is what it should be. `counts` says how many rows there are to add, to update, to keep and
    to remove, where that was counted.
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
    """Memories that a restore puts into a server, after all files are in their places. `fates` hold as long as nothing
    was put there; `write`, with the installation as it is then, says what became of each memory instead, by the id of
    its record. None: the server may not be asked. It raises RuntimeDatabaseError when nothing was put there."""

    server: str
    fates: tuple[ItemFate, ...]
    write: Callable[[Any], list[ItemFate]] | None = None


@dataclass(frozen=True, slots=True)
class WriteOrder:
    """What `Adapter.write_databases` has to bring about.

    `tables` are rows of the state's other databases, whole again, by archive path; `texts` are columns, by record
    id, of rows out of which credentials were cut and whose values may be put back (others with cuts are withheld, and
    named in `cut`). `exact`: memories of this agent that `before`, the newest captured state, held and the wanted state
    does not know go; without it, what an archive does not know stays.
    """

    state: Any
    before: Any = None
    exact: bool = False
    tables: Mapping[str, bytes] = field(default_factory=dict)
    texts: Mapping[str, JsonObject] = field(default_factory=dict)
    cut: frozenset[str] = frozenset()
    choice: RowChoice = RowChoice()
    now: str = ""
