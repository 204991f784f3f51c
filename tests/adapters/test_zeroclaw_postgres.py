"""Memories that ZeroClaw keeps in PostgreSQL, with a real server."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_adapters.memory_stores import MemoryRows, StoredRow
from lifeboat_adapters.zeroclaw import server_memories
from lifeboat_adapters.zeroclaw.credentials import secret_encryption
from lifeboat_adapters.zeroclaw.server_memories import postgres_memories
from lifeboat_alf.memory.embeddings import encode_float32
from lifeboat_keys.installers import extra_command
from support.postgres_server import PASSWORD, PostgresServer, running

psycopg = pytest.importorskip("psycopg")

EARLY = """
CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT UNIQUE NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL,
  created_at TIMESTAMPTZ NOT NULL, updated_at TIMESTAMPTZ NOT NULL, session_id TEXT);
"""
WITH_VECTORS = """
CREATE DOMAIN vector AS TEXT;
ALTER TABLE memories ADD COLUMN namespace TEXT DEFAULT 'default';
ALTER TABLE memories ADD COLUMN importance REAL;
ALTER TABLE memories ADD COLUMN embedding vector;
"""
CURRENT = """
CREATE TABLE agents (id TEXT PRIMARY KEY, alias TEXT NOT NULL UNIQUE, created_at TIMESTAMPTZ NOT NULL);
INSERT INTO agents VALUES ('agent-ada', 'ada', now()), ('agent-bob', 'bob', now());
CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL,
  created_at TIMESTAMPTZ NOT NULL, updated_at TIMESTAMPTZ NOT NULL, session_id TEXT,
  agent_id TEXT REFERENCES agents(id), UNIQUE (agent_id, key));
"""
COLUMNS = {
    "id": "m1",
    "key": "tea",
    "content": "Likes tea.",
    "category": "core",
    "created_at": "2026-08-22T10:11:12.123456+02:00",
    "updated_at": "2026-08-23T10:00:00+02:00",
    "session_id": None,
}


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as made:
        yield made


@pytest.fixture
def database(server: PostgresServer, request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    """A server with an empty schema."""
    yield server
    execute(server, "DROP SCHEMA public CASCADE; CREATE SCHEMA public;")


def execute(server: PostgresServer, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(server.address(), autocommit=True) as connection:
        cursor = connection.execute(statement, parameters or None)
        return list(cursor.fetchall()) if cursor.description else []


def installed(folder: Path, address: str, *, alias: str = "default", version: int = 1, **memory: Any) -> Installation:
    folder.mkdir(exist_ok=True)
    settings = "".join(f"{name} = {value!r}\n" for name, value in memory.items())
    if version == 1:
        text = f'[memory]\nbackend = "postgres"\n{settings}[storage.provider.config]\ndb_url = "{address}"\n'
    else:
        text = (
            f'schema_version = {version}\n[memory]\nbackend = "postgres.main"\n{settings}'
            f'[agents.{alias}.memory]\nbackend = "postgres"\n[storage.postgres.main]\ndb_url = "{address}"\n'
        )
    (folder / "config.toml").write_text(text)
    return Installation("zeroclaw", folder / "workspace", alias, alias, folder, folder / "config.toml", remote=True)


def row(vector: bytes | None = None, **columns: Any) -> StoredRow:
    return StoredRow({**COLUMNS, **columns}, vector)


def read(installation: Installation) -> list[StoredRow]:
    found = server_memories.open_server_memories(installation)
    assert isinstance(found, MemoryRows)
    return sorted(found.rows(), key=lambda one: str(one.values["id"]))


def vectors(folder: Path, server: PostgresServer, dimensions: int = 2) -> Installation:
    named = {"embedding_provider": "openai", "embedding_model": "example", "embedding_dimensions": dimensions}
    return installed(folder, server.address(), **named)


def test_rows_are_read_with_their_columns_and_times_in_utc(tmp_path: Path, database: PostgresServer) -> None:
    execute(database, EARLY)
    agent = installed(tmp_path, database.address())
    assert [fate.outcome for fate in server_memories.write_server_memories(agent, [row()])] == [ItemOutcome.ACCEPTED]
    (found,) = read(agent)
    times = {"created_at": "2026-08-22T08:11:12.123456Z", "updated_at": "2026-08-23T08:00:00Z"}
    assert found == StoredRow({**COLUMNS, **times}, None)


def test_columns_that_nobody_knows_are_read_as_text(tmp_path: Path, database: PostgresServer) -> None:
    execute(database, EARLY + "ALTER TABLE memories ADD COLUMN mood JSONB, ADD COLUMN seen BOOLEAN, ADD COLUMN n INT")
    execute(database, "INSERT INTO memories VALUES ('m', 'k', 'c', 'core', now(), now(), NULL, '{\"a\": 1}', true, 7)")
    (found,) = read(installed(tmp_path, database.address()))
    assert (found.values["mood"], found.values["seen"], found.values["n"]) == ('{"a": 1}', True, 7)


def test_each_agent_has_its_own_rows_and_those_of_nobody_are_the_default_agents(
    tmp_path: Path, database: PostgresServer
) -> None:
    execute(database, CURRENT)
    ada, default = (installed(tmp_path, database.address(), alias=alias, version=3) for alias in ("ada", "default"))
    for owner in ("'agent-ada'", "'agent-bob'", "NULL"):
        statement = "INSERT INTO memories VALUES (%s, 'tea', 'Likes tea.', 'core', now(), now(), NULL, " + owner + ")"
        execute(database, statement, f"of {owner}")
    assert [one.values["id"] for one in read(ada)] == ["of 'agent-ada'"]
    assert [one.values["id"] for one in read(default)] == ["of NULL"]
    assert "agent_id" not in read(ada)[0].values


def test_what_an_agent_remembers_is_written_under_its_own_id(tmp_path: Path, database: PostgresServer) -> None:
    execute(database, CURRENT)
    cid = installed(tmp_path, database.address(), alias="cid", version=3)
    server_memories.write_server_memories(cid, [row()])
    assert [one.values["key"] for one in read(cid)] == ["tea"]
    assert execute(database, "SELECT alias FROM agents JOIN memories ON agents.id = agent_id") == [("cid",)]


def test_a_copy_of_an_agent_in_the_same_table_has_rows_of_its_own(tmp_path: Path, database: PostgresServer) -> None:
    execute(database, CURRENT)
    ada, bob = (installed(tmp_path / alias, database.address(), alias=alias, version=3) for alias in ("ada", "bob"))
    server_memories.write_server_memories(ada, [row()])
    assert [fate.outcome for fate in server_memories.write_server_memories(bob, [row()])] == [ItemOutcome.TRANSFORMED]
    assert [fate.outcome for fate in server_memories.write_server_memories(bob, [row()])] == [ItemOutcome.DEDUPLICATED]
    assert [[one.values["content"] for one in read(agent)] for agent in (ada, bob)] == [["Likes tea."]] * 2


def test_a_key_that_is_there_is_updated_and_keeps_its_id_and_creation(tmp_path: Path, database: PostgresServer) -> None:
    execute(database, EARLY)
    agent = installed(tmp_path, database.address())
    server_memories.write_server_memories(agent, [row()])
    server_memories.write_server_memories(
        agent, [row(id="other", content="Likes coffee.", created_at="2026-09-01T00:00:00Z")]
    )
    (found,) = read(agent)
    assert (found.values["id"], found.values["content"]) == ("m1", "Likes coffee.")
    assert found.values["created_at"] == "2026-08-22T08:11:12.123456Z"


def test_the_same_rows_again_change_nothing(tmp_path: Path, database: PostgresServer) -> None:
    execute(database, EARLY)
    agent = installed(tmp_path, database.address())
    server_memories.write_server_memories(agent, [row()])
    store = server_memories.open_server_memories(agent)
    assert store is not None
    before = store.stamp()
    assert [fate.outcome for fate in server_memories.write_server_memories(agent, [row()])] == [
        ItemOutcome.DEDUPLICATED
    ]
    assert store.stamp() == before
    execute(database, "DELETE FROM memories")
    assert store.stamp() != before


def test_a_row_that_the_server_refuses_is_named_and_the_others_are_written(
    tmp_path: Path, database: PostgresServer
) -> None:
    execute(database, EARLY)
    agent = installed(tmp_path, database.address())
    rows = [
        row(id="a", key="a", content="a\0b"),
        row(id="b", key="b", content="\ud800"),
        row(id="c", key="c", created_at="yesterday evening"),
        row(id="d", key="d", content="'; DROP TABLE memories; -- \u2028"),
    ]
    fates = server_memories.write_server_memories(agent, rows)
    assert [fate.outcome for fate in fates] == [ItemOutcome.REJECTED] * 3 + [ItemOutcome.ACCEPTED]
    assert [one.values["content"] for one in read(agent)] == ["'; DROP TABLE memories; -- \u2028"]


def test_columns_without_a_place_are_named(tmp_path: Path, database: PostgresServer) -> None:
    execute(database, EARLY)
    (fate,) = server_memories.write_server_memories(
        installed(tmp_path, database.address()), [row(pinned=1, kind='"episodic"', importance=0.5)]
    )
    assert (fate.outcome, fate.reason) == (
        ItemOutcome.TRANSFORMED,
        "the table has no column for these fields of the memory: pinned, kind",
    )


def test_vectors_are_written_and_read_where_they_fit(tmp_path: Path, database: PostgresServer) -> None:
    execute(database, EARLY + WITH_VECTORS)
    agent = vectors(tmp_path, database)
    fates = server_memories.write_server_memories(
        agent,
        [
            row(encode_float32([0.1, -2.5])),
            row(encode_float32([1.0, 2.0, 3.0]), id="m2", key="long"),
            row(id="m3", key="no"),
        ],
    )
    assert [fate.outcome for fate in fates if fate.kind == "vector"] == [ItemOutcome.OMITTED]
    assert [one.vector for one in read(agent)] == [encode_float32([0.1, -2.5]), None, None]


def test_a_text_that_is_replaced_loses_a_vector_of_the_former_one(tmp_path: Path, database: PostgresServer) -> None:
    execute(database, EARLY + WITH_VECTORS)
    agent = vectors(tmp_path, database)
    server_memories.write_server_memories(agent, [row(encode_float32([1.0, 2.0]))])
    server_memories.write_server_memories(agent, [row(content="Likes coffee.")])
    assert [one.vector for one in read(agent)] == [None]


def test_vectors_are_of_the_model_that_is_configured_and_of_nobody_knows_which_without(
    tmp_path: Path, database: PostgresServer
) -> None:
    execute(database, EARLY + WITH_VECTORS)
    known, unknown = (
        server_memories.open_server_memories(vectors(tmp_path, database)),
        server_memories.open_server_memories(installed(tmp_path, database.address())),
    )
    assert known is not None and known.model is not None and known.model.model == "openai/example"
    assert unknown is not None and unknown.model is None


def test_an_encrypted_address_is_opened_with_the_key_beside_the_configuration(
    tmp_path: Path, database: PostgresServer
) -> None:
    execute(database, EARLY)
    key = secret_encryption.new_key()
    (tmp_path / ".secret_key").write_bytes(key)
    agent = installed(
        tmp_path, secret_encryption.encrypt_secret(database.address(), secret_encryption.parse_key_file(key))
    )
    assert read(agent) == []


def test_a_wrong_password_is_said_and_not_repeated(tmp_path: Path, database: PostgresServer) -> None:
    with pytest.raises(RuntimeDatabaseError, match="refused the user, the password") as caught:
        server_memories.open_server_memories(installed(tmp_path, database.address("wrong-not-real")))
    assert "wrong-not-real" not in repr(caught.value)


@pytest.mark.parametrize(
    "address", [f"postgresql://ada:{PASSWORD}@/postgres?host=/nowhere/at/all", f"postgres:{PASSWORD}", "postgresql://["]
)
def test_a_server_that_is_not_there_is_an_error_without_its_address(tmp_path: Path, address: str) -> None:
    with pytest.raises(RuntimeDatabaseError, match="cannot be reached") as caught:
        server_memories.open_server_memories(installed(tmp_path, address))
    assert PASSWORD not in repr(caught.value) and "nowhere" not in str(caught.value)


def test_a_server_that_says_nothing_is_waited_for_a_few_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_memories, "CONNECT_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(RuntimeDatabaseError, match="did not answer within 2 seconds"):
            server_memories.open_server_memories(installed(tmp_path, f"postgresql://ada@127.0.0.1:{port}/ada"))


def test_a_missing_table_and_one_without_memories_are_no_deletion(tmp_path: Path, database: PostgresServer) -> None:
    agent = installed(tmp_path, database.address())
    with pytest.raises(RuntimeDatabaseError, match=r"the PostgreSQL table public\.memories does not exist"):
        server_memories.open_server_memories(agent)
    execute(database, "CREATE TABLE memories (id TEXT, key TEXT)")
    with pytest.raises(RuntimeDatabaseError, match="these columns: content, category, created_at, updated_at"):
        server_memories.open_server_memories(agent)


def test_a_server_that_ends_while_it_is_read_is_an_error(tmp_path: Path, database: PostgresServer) -> None:
    execute(database, EARLY)
    execute(
        database,
        "INSERT INTO memories SELECT n::text, n::text, 'c', 'core', now(), now() FROM generate_series(1, 2000) n",
    )
    store = server_memories.open_server_memories(installed(tmp_path, database.address()))
    assert store is not None
    rows = store.rows()
    next(rows)
    execute(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lifeboat'")
    with pytest.raises(RuntimeDatabaseError):
        list(rows)


def test_nothing_is_asked_before_the_user_says_so(tmp_path: Path) -> None:
    agent = installed(tmp_path, "postgresql://db.example.com/zeroclaw")
    unasked = Installation("zeroclaw", agent.workspace, "default", "default", agent.state_dir, agent.config)
    with pytest.raises(RuntimeDatabaseError, match="not captured") as caught:
        server_memories.open_server_memories(unasked)
    assert caught.value.fix == "lifeboat config set remote_memory true"


def test_a_missing_driver_is_named_with_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(RuntimeDatabaseError, match="is not installed") as caught:
        server_memories.open_server_memories(installed(tmp_path, "postgresql://db.example.com/zeroclaw"))
    assert caught.value.fix == extra_command("postgres")
