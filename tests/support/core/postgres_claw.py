"""A protected ZeroClaw agent whose memories are in PostgreSQL, and may be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lifeboat_core.agents import manage_agents
from support.core.zeroclaw_protected import ProtectedClaw
from support.postgres_server import PostgresServer

TABLES = """
CREATE TABLE agents (id TEXT PRIMARY KEY, alias TEXT NOT NULL UNIQUE, created_at TIMESTAMPTZ NOT NULL);
CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL,
  created_at TIMESTAMPTZ NOT NULL, updated_at TIMESTAMPTZ NOT NULL, session_id TEXT,
  agent_id TEXT NOT NULL REFERENCES agents(id), UNIQUE (agent_id, key));
INSERT INTO agents VALUES ('a1', 'default', now());
INSERT INTO memories VALUES ('m1', 'tea', 'Likes green tea', 'core', '2026-11-10', '2026-11-10', NULL, 'a1');
INSERT INTO memories VALUES ('m2', 'boat', 'The red boat', 'daily', '2026-11-10', '2026-11-10', NULL, 'a1');
"""


@contextmanager
def remembering(folder: Path, server: PostgresServer) -> Iterator[ProtectedClaw]:
    """The agent of an installation with two memories in the server, added before they may be asked for."""
    made = ProtectedClaw(folder)
    made.install.database.unlink()
    config = made.install.home / "config.toml"
    text = config.read_text().replace("sqlite.default", "postgres.main")
    config.write_text(f'{text}\n[storage.postgres.main]\ndb_url = "{server.address()}"\n')
    execute(server, TABLES)
    made.add()
    manage_agents.write_setting(made.context, made.agent, "remote_memory", True)
    yield made
    execute(server, "DROP SCHEMA public CASCADE; CREATE SCHEMA public;")


def execute(server: PostgresServer, statement: str) -> None:
    import psycopg

    with psycopg.connect(server.address(), autocommit=True) as connection:
        connection.execute(statement)
