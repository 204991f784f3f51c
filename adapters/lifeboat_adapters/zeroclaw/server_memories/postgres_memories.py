"""Read and write ZeroClaw's memories in PostgreSQL: one table of text columns and times, since v0.8.0 with the agent's
id, with pgvector also with vectors.

Columns are read as they are found. Times are read in UTC with the microseconds that the server keeps.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import MemoryRows, StoredRow, VectorModel
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.server_memories.memory_servers import (
    CONNECT_SECONDS,
    FIX,
    STATEMENT_SECONDS,
    MemoryServer,
)
from lifeboat_adapters.zeroclaw.server_memories.server_values import encode_floats, find_unstored_columns, is_same_time
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import embeddings
from lifeboat_keys.installers import extra_command

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

_REQUIRED = ("id", "key", "content", "category", "created_at", "updated_at")
_OWNER = "agent_id"
_AS_IS = {"smallint", "integer", "bigint", "real", "double precision", "boolean"}
_PAGE = 500
_REFUSED = ("authentication failed", "no password supplied", "pg_hba.conf", "does not exist")


@dataclass(frozen=True, slots=True)
class _PostgresMemoryTable:
    """The table as found: its columns with their types, and the owner of the wanted rows. `owner` is None when rows
    have no owner, "" when the agent is not known there."""

    name: tuple[str, str]
    types: dict[str, str]
    owner: str | None
    is_default: bool

    @property
    def columns(self) -> list[str]:
        return [name for name in self.types if name != _OWNER and not self.is_vector(name)]

    @property
    def vector(self) -> str | None:
        return next(filter(self.is_vector, self.types), None)

    def is_vector(self, name: str) -> bool:
        return self.types[name].rpartition(".")[2].partition("(")[0] == "vector"


def open_postgres_memories(server: MemoryServer, alias: str) -> MemoryRows:
    """Return the memories of an agent for reading. Raises RuntimeDatabaseError."""
    with _reading(server) as connection:
        table = _table(connection, server, alias)
    return MemoryRows(
        name=zeroclaw_paths.BRAIN,  # an archive has one store of memories for all backends
        columns=tuple(table.columns),
        stamp=lambda: _stamp(server, alias),
        rows=lambda: _rows(server, alias),
        model=server.model if table.vector else None,
    )


def _stamp(server: MemoryServer, alias: str) -> list[Any]:
    from psycopg import sql

    with _reading(server) as connection:
        table = _table(connection, server, alias)
        where, parameters = _owned(table)
        query = sql.SQL("SELECT count(*), max(updated_at)::text FROM {} WHERE {}")
        found = connection.execute(query.format(sql.Identifier(*table.name), where), parameters).fetchone()
        return [*(found or ()), table.columns]


def _rows(server: MemoryServer, alias: str) -> Iterator[StoredRow]:
    with _reading(server) as connection:
        table = _table(connection, server, alias)
        yield from _select(connection, table)


def _select(connection: psycopg.Connection[Any], table: _PostgresMemoryTable) -> Iterator[StoredRow]:
    from psycopg import sql

    names = [*table.columns, *([table.vector] if table.vector else [])]
    chosen = sql.SQL(", ").join(_read_as(name, table.types[name]) for name in names)
    where, parameters = _owned(table)
    query = sql.SQL("SELECT {} FROM {} WHERE {}").format(chosen, sql.Identifier(*table.name), where)
    with connection.cursor(name="lifeboat") as cursor:
        cursor.itersize = _PAGE
        for row in cursor.execute(query, parameters):
            values = dict(zip(table.columns, row, strict=False))
            yield StoredRow(values, encode_floats(row[-1]) if table.vector else None)


def _read_as(name: str, type: str) -> sql.Composed:
    """Return the expression that reads a column: numbers and booleans as they are, times as RFC 3339 in UTC, other
    types as the server prints them."""
    from psycopg import sql

    if type in _AS_IS:
        return sql.SQL("{}").format(sql.Identifier(name))
    if type.startswith("timestamp"):
        return sql.SQL("replace(replace({}::text, ' ', 'T'), '+00', 'Z')").format(sql.Identifier(name))
    return sql.SQL("{}::text").format(sql.Identifier(name))


def _table(connection: psycopg.Connection[Any], server: MemoryServer, alias: str) -> _PostgresMemoryTable:
    """Return the present table. Raises RuntimeDatabaseError when it does not exist or holds no memories."""
    schema, name = server.place
    found = connection.execute(
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a"
        " JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        (schema, name),
    ).fetchall()
    types = dict(found)
    missing = [column for column in _REQUIRED if column not in types]
    if missing:
        table = f"the PostgreSQL table {schema}.{name}"
        what = f"{table} does not have these columns: {', '.join(missing)}" if types else f"{table} does not exist"
        raise RuntimeDatabaseError(what, fix=FIX)
    owner = _owner(connection, schema, alias) if _OWNER in types else None
    return _PostgresMemoryTable((schema, name), types, owner, alias == zeroclaw_paths.DEFAULT_ALIAS)


def _owner(connection: psycopg.Connection[Any], schema: str, alias: str) -> str:
    from psycopg import sql

    query = sql.SQL("SELECT id::text FROM {} WHERE alias = %s").format(sql.Identifier(schema, "agents"))
    found = connection.execute(query, (alias,)).fetchone()
    return "" if found is None else str(found[0])


def _owned(table: _PostgresMemoryTable) -> tuple[sql.SQL, tuple[str, ...]]:
    """Return the condition that selects the agent's rows. Rows without an owner are the default agent's, as in
    `brain.db`."""
    from psycopg import sql

    if table.owner is None:
        return sql.SQL("true"), ()
    either = " OR agent_id IS NULL" if table.is_default else ""
    return sql.SQL(f"(agent_id::text = %s{either})"), (table.owner,)


# Connecting -----------------------------------------------------------------------------------------------------


@contextmanager
def _reading(server: MemoryServer) -> Iterator[psycopg.Connection[Any]]:
    """Open a read-only transaction with one snapshot."""
    with _connected(server) as connection:
        import psycopg

        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        _prepare(connection)
        yield connection


@contextmanager
def _connected(server: MemoryServer) -> Iterator[psycopg.Connection[Any]]:
    """Open a connection whose errors become RuntimeDatabaseError. It commits when it is left without an error."""
    try:
        import psycopg
    except ImportError:
        raise RuntimeDatabaseError(
            "the agent stores its memories in PostgreSQL, but the Python library for PostgreSQL is not installed",
            fix=extra_command("postgres"),
        ) from None
    try:
        opened = psycopg.connect(
            server.address,
            connect_timeout=CONNECT_SECONDS,
            tcp_user_timeout=STATEMENT_SECONDS * 1000,
            application_name="lifeboat",
        )
    except (psycopg.Error, ValueError) as error:
        # The driver's message may contain the address, which includes a password.
        raise RuntimeDatabaseError(_why_not_connected(error), fix=FIX) from None
    try:
        with opened as connection:
            yield connection
    except psycopg.Error as error:
        said = error.diag.message_primary or "the connection to PostgreSQL was lost"
        raise RuntimeDatabaseError(f"PostgreSQL: {said}", fix=FIX) from None


def _why_not_connected(error: Exception) -> str:
    import psycopg

    if isinstance(error, psycopg.errors.ConnectionTimeout):
        return f"PostgreSQL did not answer within {CONNECT_SECONDS} seconds"
    if _is_refusal(error):
        return "PostgreSQL refused the user, the password or the database in the agent's configuration"
    return "the PostgreSQL server that stores the agent's memories cannot be reached"


def _is_refusal(error: Exception) -> bool:
    """Return whether the server refused the user, the password or the database. libpq has no SQLSTATE for a failed
    connection, so its text decides."""
    return any(words in str(error) for words in _REFUSED)


def _prepare(connection: psycopg.Connection[Any]) -> None:
    connection.execute(f"SET LOCAL statement_timeout = '{STATEMENT_SECONDS}s'")
    connection.execute("SET LOCAL TimeZone = 'UTC'")
    connection.execute("SET LOCAL DateStyle = 'ISO'")
    connection.execute("SET LOCAL extra_float_digits = 1")


# Writing --------------------------------------------------------------------------------------------------------


def write_postgres_memories(server: MemoryServer, alias: str, rows: Sequence[StoredRow]) -> list[ItemFate]:
    """Insert and update rows in one transaction; none is removed. Raises RuntimeDatabaseError; then nothing was
    written."""
    with _connected(server) as connection:
        _prepare(connection)
        table = _table(connection, server, alias)
        if table.owner == "":
            table = _PostgresMemoryTable(
                table.name, table.types, _new_owner(connection, server.place[0], alias), table.is_default
            )
        return _PostgresMemoryWriter(connection, table, server.model).all(rows)


def _new_owner(connection: psycopg.Connection[Any], schema: str, alias: str) -> str:
    from psycopg import sql

    made = str(uuid.uuid4())
    query = sql.SQL("INSERT INTO {} (id, alias, created_at) VALUES (%s, %s, now())")
    connection.execute(query.format(sql.Identifier(schema, "agents")), (made, alias))
    return made


class _PostgresMemoryWriter:
    """Writes rows into the table. Existing rows are matched by key, as the runtime does."""

    def __init__(
        self, connection: psycopg.Connection[Any], table: _PostgresMemoryTable, model: VectorModel | None
    ) -> None:
        self._connection, self._table, self._model = connection, table, model
        self._held = {str(row.values["key"]): row.values for row in _select(connection, table)}
        self._keys = {str(values["id"]): key for key, values in self._held.items()}
        self._taken: frozenset[str] = frozenset()

    def all(self, rows: Sequence[StoredRow]) -> list[ItemFate]:
        self._taken = self._of_others([str(row.values.get("id")) for row in rows])
        return [fate for row in rows for fate in self._one(row)]

    def _of_others(self, ids: list[str]) -> frozenset[str]:
        """Return which ids belong to rows of other agents: an agent may be a copy of its neighbour."""
        from psycopg import sql

        storable = [id for id in ids if "\0" not in id and id.isprintable()]
        query = sql.SQL("SELECT id::text FROM {} WHERE id::text = ANY(%s)").format(sql.Identifier(*self._table.name))
        found = {str(id) for (id,) in self._connection.execute(query, (storable,))}
        return frozenset(found - self._keys.keys())

    def _one(self, row: StoredRow) -> Iterator[ItemFate]:
        import psycopg

        name = str(row.values.get("id"))
        held = self._held.get(str(row.values.get("key"))) or self._held.get(self._keys.get(name, ""))
        wanted = {column: value for column, value in row.values.items() if column in self._table.columns}
        if held is not None and _is_same(held, wanted):
            yield ItemFate("memory", name, ItemOutcome.DEDUPLICATED)
            return
        try:
            with self._connection.transaction():
                self._update(held, wanted, row) if held is not None else self._insert(wanted, row)
        except (psycopg.DataError, psycopg.IntegrityError, UnicodeError) as error:
            said = (
                getattr(getattr(error, "diag", None), "message_primary", None)
                or "the memory contains characters that a text column cannot store"
            )
            yield ItemFate("memory", name, ItemOutcome.REJECTED, f"PostgreSQL refused the memory: {said}")
            return
        dropped = find_unstored_columns(row.values, self._table.columns)
        reasons = [f"the table has no column for these fields of the memory: {', '.join(dropped)}"] if dropped else []
        if held is None and name in self._taken:
            reasons.append("another agent has a row with this id")
        yield ItemFate("memory", name, ItemOutcome.TRANSFORMED if reasons else ItemOutcome.ACCEPTED, "; ".join(reasons))
        if row.vector is not None and self._vector(row) is None:
            yield ItemFate(
                "vector", name, ItemOutcome.OMITTED, "the table cannot store a vector with this number of dimensions"
            )

    def _vector(self, row: StoredRow) -> str | None:
        """Return a row's vector in the form of the column, None when there is none that fits."""
        if row.vector is None or self._table.vector is None or self._model is None:
            return None
        room = self._table.types[self._table.vector].partition("(")[2].removesuffix(")")
        dimensions = int(room) if room.isdigit() else self._model.dimensions
        if dimensions != self._model.dimensions or not embeddings.is_vector(row.vector, dimensions):
            return None
        return json_codec.encode_json(embeddings.numbers_of(row.vector)).decode()

    def _insert(self, wanted: JsonObject, row: StoredRow) -> None:
        from psycopg import sql

        values = {name: value for name, value in wanted.items() if value is not None}
        if values.get("id") in self._taken:
            values["id"] = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._table.owner}/{values['id']}"))
        if self._table.owner is not None:
            values[_OWNER] = self._table.owner
        if self._table.vector is not None:
            values[self._table.vector] = self._vector(row)
        for time in ("created_at", "updated_at"):
            values.setdefault(time, "now")
        query = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            sql.Identifier(*self._table.name),
            sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL(", ").join(self._cast(name) for name in values),
        )
        self._connection.execute(query, [self._spelled(name, value) for name, value in values.items()])

    def _update(self, held: JsonObject, wanted: JsonObject, row: StoredRow) -> None:
        """Update a row. It keeps its id and its time of creation, as when the runtime stores a key again."""
        from psycopg import sql

        values = {name: value for name, value in wanted.items() if name not in ("id", "created_at")}
        if values.get("updated_at") is None:
            values["updated_at"] = "now"
        vector = self._vector(row)
        if self._table.vector is not None and (vector is not None or held["content"] != wanted.get("content")):
            values[self._table.vector] = vector
        sets = sql.SQL(", ").join(sql.SQL("{} = {}").format(sql.Identifier(one), self._cast(one)) for one in values)
        query = sql.SQL("UPDATE {} SET {} WHERE id::text = %s").format(sql.Identifier(*self._table.name), sets)
        given = [self._spelled(name, value) for name, value in values.items()]
        self._connection.execute(query, [*given, str(held["id"])])

    def _cast(self, name: str) -> sql.Composed:
        from psycopg import sql

        # The server itself spells the type, so it is safe in a statement.
        return sql.SQL("%s::text::{}").format(sql.SQL(self._table.types[name]))

    def _spelled(self, name: str, value: Any) -> str | None:
        if isinstance(value, bool):
            return str(value).lower() if self._table.types[name] == "boolean" else str(int(value))
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bytes):
            return value.decode("utf-8")
        return json_codec.encode_json(value).decode() if isinstance(value, dict | list) else str(value)


def _is_same(held: JsonObject, wanted: JsonObject) -> bool:
    times = ("created_at", "updated_at")
    rest = all(held.get(name) == value for name, value in wanted.items() if name not in (*times, "id"))
    return rest and is_same_time(held.get("updated_at"), wanted.get("updated_at"))
