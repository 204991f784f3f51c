"""An agent whose memories are in PostgreSQL: captured when the user says so, and kept while the server is away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_server import PASSWORD, PostgresServer, running
from zeroclaw_protected import ProtectedClaw, files_with

from lifeboat_daemon import agents

psycopg = pytest.importorskip("psycopg")

TABLES = """
CREATE TABLE agents (id TEXT PRIMARY KEY, alias TEXT NOT NULL UNIQUE, created_at TIMESTAMPTZ NOT NULL);
CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL,
  created_at TIMESTAMPTZ NOT NULL, updated_at TIMESTAMPTZ NOT NULL, session_id TEXT,
  agent_id TEXT NOT NULL REFERENCES agents(id), UNIQUE (agent_id, key));
INSERT INTO agents VALUES ('a1', 'default', now());
INSERT INTO memories VALUES ('m1', 'tea', 'Likes green tea', 'core', '2026-11-10', '2026-11-10', NULL, 'a1');
INSERT INTO memories VALUES ('m2', 'boat', 'The red boat', 'daily', '2026-11-10', '2026-11-10', NULL, 'a1');
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as made:
        yield made


@pytest.fixture
def ada(tmp_path: Path, server: PostgresServer) -> Iterator[ProtectedClaw]:
    made = ProtectedClaw(tmp_path)
    made.install.database.unlink()
    config = made.install.home / "config.toml"
    text = config.read_text().replace("sqlite.default", "postgres.main")
    config.write_text(f'{text}\n[storage.postgres.main]\ndb_url = "{server.address()}"\n')
    execute(server, TABLES)
    made.add()
    agents.write_setting(made.context, made.agent, "remote_memory", True)
    yield made
    execute(server, "DROP SCHEMA public CASCADE; CREATE SCHEMA public;")


def execute(server: PostgresServer, statement: str) -> None:
    with psycopg.connect(server.address(), autocommit=True) as connection:
        connection.execute(statement)


def test_memories_of_a_server_are_captured_and_followed(ada: ProtectedClaw, server: PostgresServer) -> None:
    assert ada.memories() == {}
    assert ada.capture().records == {"created": 2}
    assert not ada.capture().changed
    execute(server, "UPDATE memories SET content = 'Likes coffee', updated_at = '2026-11-12' WHERE key = 'tea'")
    execute(server, "DELETE FROM memories WHERE key = 'boat'")
    assert ada.capture().records == {"updated": 1, "deleted": 1}
    assert set(ada.memories()) == {"Likes coffee"}


def test_a_table_that_is_gone_is_no_deletion(ada: ProtectedClaw, server: PostgresServer) -> None:
    ada.capture()
    execute(server, "ALTER TABLE memories RENAME TO others")
    report = ada.capture()
    assert "is not there" in " ".join(report.unread.values())
    assert set(ada.memories()) == {"Likes green tea", "The red boat"}


def test_a_server_that_must_not_be_asked_any_more_is_no_deletion(ada: ProtectedClaw) -> None:
    ada.capture()
    agents.write_setting(ada.context, agents.read(ada.context, ada.agent.id), "remote_memory", False)
    assert "not captured" in " ".join(ada.capture().unread.values())
    assert len(ada.memories()) == 2


def test_the_password_of_the_server_is_in_nothing_that_is_kept(ada: ProtectedClaw) -> None:
    ada.capture()
    assert files_with(ada.folder / "home", [PASSWORD]) == []
