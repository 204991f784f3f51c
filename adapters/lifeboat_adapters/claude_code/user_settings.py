"""`.claude.json`: the identity of a machine, caches and MCP servers in one file, which is not captured as a whole.

Its MCP servers are rows, and its secrets are learned. It lies beside the home, or in it if CLAUDE_CONFIG_DIR names
the home.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from lifeboat_adapters.claude_code.path_spelling import map_path
from lifeboat_adapters.contract import RuntimeRow
from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.folder import profile_credentials
from lifeboat_adapters.folder.folder_profile import FolderProfile
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite, WriteOrder
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason

FILE = ".claude.json"
ROWS = "raw/claude-code-home/db/mcp_servers.jsonl"
LARGEST = 64 << 20
"""Bytes."""

HOME = ".claude"
_CREDENTIALS = ".credentials.json"
_SERVERS, _PROJECTS = "mcpServers", "projects"
_MODE = 0o600
_SHORTEST = 8
"""Characters of a learned secret. A shorter value would be cut from texts that only resemble it."""


def settings_path(workspace: Path) -> Path:
    """Return where the program keeps the file for a home."""
    inside = workspace / FILE
    return workspace.parent / FILE if workspace.name == HOME and not inside.exists() else inside


def list_settings_files(workspace: Path) -> list[Path]:
    """Return the file, if it exists."""
    path = settings_path(workspace)
    return [path] if path.is_file() else []


def read_settings(workspace: Path) -> dict[str, Any]:
    """Return the contents of the file, {} without it. Raises RuntimeDatabaseError."""
    path = settings_path(workspace)
    return _read(path) if path.exists() else {}


def find_missing_source(workspace: Path) -> Path | None:
    """Return the path of the file if it is missing."""
    path = settings_path(workspace)
    return None if path.is_file() else path


def learn_secrets(profile: FolderProfile, workspace: Path) -> Iterator[FileSecret]:
    """Yield the secrets of the file and of the program's copies, and the single values of the login, which is cut as a
    whole. Raises RuntimeDatabaseError for a file that cannot be read; an unreadable copy is skipped, because its
    secrets were learned from the file itself."""
    own = [path for path in (settings_path(workspace), workspace / _CREDENTIALS) if path.exists()]
    for path in (*own, *sorted(workspace.glob(f"backups/{FILE}.backup.*"))):
        try:
            found = _secrets_in(profile, json.dumps(_without_history(_read(path))).encode())
        except (RuntimeDatabaseError, UnparsableSecrets) as error:
            if path in own:
                raise RuntimeDatabaseError(f"Lifeboat cannot search {path} for secrets: {error}") from error
            continue
        yield from (secret for secret in found if len(secret.value) >= _SHORTEST)


def _without_history(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings without the prompts that earlier releases kept for each project: megabytes without a
    setting."""
    projects = settings.get(_PROJECTS)
    if not isinstance(projects, dict):
        return settings
    kept = {path: {_SERVERS: part.get(_SERVERS)} for path, part in projects.items() if isinstance(part, dict)}
    return settings | {_PROJECTS: kept}


def _secrets_in(profile: FolderProfile, data: bytes) -> list[FileSecret]:
    return profile_credentials.find_profile_secrets(profile, FILE, data) or []


def find_secrets_in_rows(profile: FolderProfile, data: bytes) -> list[FileSecret]:
    """Return the spans to cut in the captured rows of MCP servers."""
    found, start = [], 0
    for line in data.splitlines(keepends=True):
        for secret in _secrets_in(profile, line):
            found.append(replace(secret, start=start + secret.start, end=start + secret.end))
        start += len(line)
    return found


def name_server(row: JsonObject) -> str:
    """Return what identifies a row: the project, "" for all of them, and the name of the server."""
    return f"{row.get('project', '')}\x1f{row.get('name', '')}"


def read_servers(workspace: Path) -> Iterator[RuntimeRow]:
    """Yield the MCP servers of the user and of each project. Raises RuntimeDatabaseError."""
    rows = {name_server(row): row for row in _rows_in(read_settings(workspace))}
    yield from (RuntimeRow(ROWS, key, rows[key]) for key in sorted(rows))


def plan_server_write(workspace: Path, order: WriteOrder) -> Iterator[DatabaseWrite]:
    """Plan the file with the MCP servers of a state added. A server that is there stays as it is. Raises
    RuntimeDatabaseError."""
    data = order.tables.get(ROWS)
    if not data:
        return
    path, found = settings_path(workspace), read_settings(workspace)
    known = {name_server(row) for row in _rows_in(found)}
    captured = [json.loads(line) for line in data.splitlines()]
    wanted: list[JsonObject] = [row | {"project": map_path(row["project"], order.paths)} for row in captured]
    added = [row for row in wanted if name_server(row) not in known]
    fates = tuple(
        ItemFate("row", f"{ROWS}#{number}", ItemOutcome.ACCEPTED if row in added else ItemOutcome.DEDUPLICATED)
        for number, row in enumerate(wanted, start=1)
    )
    for row in added:
        part = found.setdefault(_PROJECTS, {}).setdefault(row["project"], {}) if row["project"] else found
        part.setdefault(_SERVERS, {})[row["name"]] = row["server"]
    made = json.dumps(found, indent=2, ensure_ascii=False)
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else _MODE

    def write(target: Path) -> None:
        target.touch(mode)
        target.write_text(made, "utf-8")

    yield DatabaseWrite(path, bool(added), write, fates)


def _rows_in(values: JsonObject) -> Iterator[JsonObject]:
    projects = values.get(_PROJECTS)
    parts = {"": values} | (projects if isinstance(projects, dict) else {})
    for project, part in parts.items():
        servers = part.get(_SERVERS) if isinstance(part, dict) else None
        for name, server in servers.items() if isinstance(servers, dict) else ():
            yield {"project": project, "name": name, "server": server}


def _read(path: Path) -> dict[str, Any]:
    try:
        values = json.loads(read_small(path, limit=LARGEST))
    except OSError as error:
        raise RuntimeDatabaseError(f"{path}: {refusal_reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise RuntimeDatabaseError(f"{path} is not valid JSON") from error
    if not isinstance(values, dict):
        raise RuntimeDatabaseError(f"{path} does not contain a JSON object")
    return values
