"""Credential stores of later OpenClaw releases with invented content, in databases with the columns of real ones."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

_STATE = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS config_machine_state (state_key TEXT NOT NULL PRIMARY KEY, value_json TEXT NOT NULL,
  updated_at_ms INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS secret_store_entries (
  scope_kind TEXT NOT NULL CHECK (scope_kind IN ('team', 'identity')), scope_id TEXT NOT NULL, name TEXT NOT NULL,
  value TEXT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('secret', 'env')), created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL, updated_by TEXT, deleted_at_ms INTEGER, allowed_hosts TEXT,
  PRIMARY KEY (scope_kind, scope_id, name)) STRICT;
"""
_AGENT = """
PRAGMA journal_mode = WAL;
DROP TABLE IF EXISTS auth_profile_store;
CREATE TABLE auth_profile_store (store_key TEXT NOT NULL PRIMARY KEY, store_json TEXT NOT NULL,
  updated_at INTEGER NOT NULL) STRICT;
DROP TABLE IF EXISTS auth_profile_state;
CREATE TABLE auth_profile_state (state_key TEXT NOT NULL PRIMARY KEY, state_json TEXT NOT NULL,
  updated_at INTEGER NOT NULL) STRICT;
"""
_TIME = 1_770_000_000_000
EXPIRES = 1_900_000_000_000

Json = dict[str, object]


def api_key(provider: str, key: str) -> Json:
    return {"type": "api_key", "provider": provider, "key": key}


def token(provider: str, value: str) -> Json:
    return {"type": "token", "provider": provider, "token": value, "expires": EXPIRES}


def login(provider: str, access: str, refresh: str) -> Json:
    return {"type": "oauth", "provider": provider, "access": access, "refresh": refresh, "expires": EXPIRES}


def store(**profiles: Json) -> Json:
    """Return a store of profiles. `__` in a name is the colon of its id."""
    return {"version": 1, "profiles": {name.replace("__", ":"): one for name, one in profiles.items()}}


def put_shared(database: Path, document: object, state: object = None) -> None:
    """Set the store that all agents share, in the control plane database."""
    values = {"authProfiles.store": document, "authProfiles.state": state, "auth.sharedStore": {"location": "state-db"}}
    with _open(database, _STATE) as connection, connection:
        for key, value in values.items():
            if value is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO config_machine_state VALUES (?, ?, ?)", (key, _text(value), _TIME)
                )


def put_secret(database: Path, name: str, value: str, *, deleted: bool = False) -> None:
    """Set an entry of the secret store."""
    with _open(database, _STATE) as connection, connection:
        connection.execute(
            "INSERT OR REPLACE INTO secret_store_entries VALUES ('team', '', ?, ?, 'secret', ?, ?, NULL, ?, NULL)",
            (name, value, _TIME, _TIME, _TIME if deleted else None),
        )


def put_own(database: Path, document: object, state: object = None) -> None:
    """Set the store of one agent, in its own database."""
    with _open(database, _AGENT) as connection, connection:
        connection.execute("INSERT INTO auth_profile_store VALUES ('primary', ?, ?)", (_text(document), _TIME))
        if state is not None:
            connection.execute("INSERT INTO auth_profile_state VALUES ('primary', ?, ?)", (_text(state), _TIME))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _open(database: Path, schema: str) -> closing[sqlite3.Connection]:
    database.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(database)
    connection.executescript(schema)
    return closing(connection)
