"""Read the credential stores of later OpenClaw releases as rows: auth profiles, their order, and the secret store.

Of the tables with secrets these belong to the agent. The others identify this machine (its identity, its paired
devices) or belong to a process in progress, and are never read. The statistics of last use of a profile are left out,
because they change with every turn.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lifeboat_adapters.contract import RuntimeRow
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.guarded_files import GuardedFolders
from lifeboat_adapters.openclaw import openclaw_config, openclaw_paths
from lifeboat_adapters.openclaw.credentials import openclaw_auth_profiles, openclaw_share
from lifeboat_adapters.openclaw.credentials.openclaw_share import OpenClawShare
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason

MOST_PROFILES = 2000
"""The number of profiles read from one store, so that a capture ends."""

_SHARED_STORE, _SHARED_STATE = "authProfiles.store", "authProfiles.state"


class OpenClawProfileStore(NamedTuple):
    """A store of auth profiles and the state beside it, both as OpenClaw's JSON."""

    document: Any
    state: Any


def read_shared_store(connection: sqlite3.Connection) -> OpenClawProfileStore | None:
    """Return the store that all agents share, in the control plane database, None if the database has none."""
    if not _has_table(connection, "config_machine_state"):
        return None
    wanted = "SELECT state_key, value_json FROM config_machine_state WHERE state_key IN (?, ?)"
    found = dict(connection.execute(wanted, (_SHARED_STORE, _SHARED_STATE)))
    if _SHARED_STORE not in found:
        return None
    return OpenClawProfileStore(
        _parsed(found[_SHARED_STORE], _SHARED_STORE), _parsed(found.get(_SHARED_STATE), _SHARED_STATE)
    )


def read_agent_store(connection: sqlite3.Connection) -> OpenClawProfileStore | None:
    """Return an agent's own store, in its own database."""
    document = _one(connection, "auth_profile_store", "store_json", "store_key")
    return (
        None
        if document is None
        else OpenClawProfileStore(document, _one(connection, "auth_profile_state", "state_json", "state_key"))
    )


def read_profile_file_store(path: Path, grounds: GuardedFolders) -> OpenClawProfileStore:
    """Return the profile file of an agent of 2026.2 that is stored outside of the state directory. Raises
    RuntimeDatabaseError."""
    try:
        document = _parsed(read_small(path, grounds), path.name)
    except OSError as error:
        raise RuntimeDatabaseError(f"{path}: {refusal_reason(error)}") from error
    return OpenClawProfileStore(document, document)


def store_rows(name: str, store: OpenClawProfileStore, share: OpenClawShare | None) -> Iterator[RuntimeRow]:
    """Yield a store (`shared` or `agent`) as rows: its profiles, and the order in which they are tried. Of the shared
    store, only profiles for the agent's providers are included."""
    found = openclaw_auth_profiles.profiles_of_store(store.document, name)
    if len(found) > MOST_PROFILES:
        raise RuntimeDatabaseError(f"the store contains more than {MOST_PROFILES} auth profiles")
    for profile in found:
        if share is None or name == openclaw_auth_profiles.AGENT or share.has_provider(profile.provider):
            values = {"store": name, "id": profile.id, "credential": profile.credential}
            yield _row(openclaw_paths.AUTH_PROFILES, f"{name}\x1f{profile.id}", values)
    order = openclaw_config.get_nested(store.state, "order")
    for provider, ids in sorted(order.items()) if isinstance(order, dict) else ():
        if share is None or name == openclaw_auth_profiles.AGENT or share.has_provider(provider):
            values = {"store": name, "provider": provider, "ids": ids}
            yield _row(openclaw_paths.AUTH_ORDER, f"{name}\x1f{provider}", values)


def secret_store_rows(
    connection: sqlite3.Connection, share: OpenClawShare | None, referred: set[str]
) -> Iterator[RuntimeRow]:
    """Yield the entries of the secret store that were not deleted. `referred` are names that the agent's profiles refer
    to. Of the others, an agent gets those that its part of the configuration refers to."""
    if not _has_table(connection, "secret_store_entries"):
        return
    cursor = connection.execute("SELECT * FROM secret_store_entries WHERE deleted_at_ms IS NULL")
    columns = [column[0] for column in cursor.description]
    for found in cursor:
        values = dict(zip(columns, found, strict=True))
        name = str(values.get("name"))
        if share is None or name in referred or share.has_reference("store", name):
            key = "\x1f".join(str(values.get(column)) for column in ("scope_kind", "scope_id", "name"))
            yield _row(
                openclaw_paths.STORED_SECRETS, key, {key: one for key, one in values.items() if key != "deleted_at_ms"}
            )


def names_referred_to(rows: list[RuntimeRow]) -> set[str]:
    """Return the names of entries of the secret store that profiles refer to."""
    found = (
        reference for row in rows for reference in openclaw_share.find_secret_references(row.values.get("credential"))
    )
    return {id for source, id in found if source == "store"}


def _row(path: str, key: str, values: JsonObject) -> RuntimeRow:
    try:
        json_codec.encode_json(values)
    except (ValueError, OverflowError, RecursionError, TypeError):
        raise RuntimeDatabaseError(f"an entry of {path.rpartition('/')[2]} cannot be written as JSON") from None
    return RuntimeRow(path, key, values)


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    return (
        connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone()
        is not None
    )


def _one(connection: sqlite3.Connection, table: str, column: str, key: str) -> Any:
    """Return the primary row of a table that holds a single document."""
    if not _has_table(connection, table):
        return None
    row = connection.execute(f'SELECT "{column}" FROM "{table}" ORDER BY "{key}" = \'primary\' DESC LIMIT 1').fetchone()
    return None if row is None else _parsed(row[0], table)


def _parsed(text: str | bytes | None, name: str) -> Any:
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError, TypeError):
        # The parser's message may quote the content.
        raise RuntimeDatabaseError(f"{name} is not valid JSON") from None
