"""Read what the reference client `alf` keeps: `~/.alf` with its settings and, for each agent, the number and the
archive of the last sync; and the agent's id in each workspace, in `.alf-agent-id`. Only that file is ever written."""

from __future__ import annotations

import contextlib
import os
import tomllib
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.seams.files_beneath import FilesBeneath
from lifeboat_core.errors import NoAlfClient

AGENT_FILE = ".alf-agent-id"
FOLDER = ".alf"
SERVICE = "https://api.agent-life.ai"
"""The service that the client uses when its settings name none."""
_LONGEST = 200
_LARGEST_FILE = 1 << 20
_NAMESPACES = (uuid.UUID(bytes=b"alf-agent-id-ns1"), uuid.UUID(bytes=b"alf-zclw-agent-1"))
"""The client makes the id of an agent from one of these, by runtime, and the path of the workspace."""


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The settings in `config.toml`. `workspace` is the client's default."""

    api_url: str = SERVICE
    api_key: str = field(default="", repr=False)
    workspace: Path | None = None


@dataclass(frozen=True, slots=True)
class TrackedAgent:
    """An agent of the client. `sequence` and `synced_at` are None if it was never synced. `snapshot` is the archive of
    the last sync, None when there is none; `is_exact`: it is the state of that sequence, which is untrue after a
    restore by the client."""

    id: str
    sequence: int | None = None
    synced_at: str | None = None
    snapshot: Path | None = None
    is_exact: bool = True


# Its folder ---------------------------------------------------------------------------------------------------------


def find_client_folder(environment: Mapping[str, str], user_home: Path) -> Path:
    """Return the folder of the client. Raises NoAlfClient when there is none."""
    folder = Path(environment.get("ALF_HOME") or user_home) / FOLDER
    if not folder.is_dir():
        raise NoAlfClient(f"the folder {folder} does not exist")
    return folder


def read_settings(folder: Path, environment: Mapping[str, str]) -> ClientSettings:
    """Return the client's settings. Raises NoAlfClient for a file that cannot be read."""
    document = _toml(folder / "config.toml") if os.path.lexists(folder / "config.toml") else {}
    service, defaults = _table(document, "service"), _table(document, "defaults")
    workspace = _text(defaults, "workspace")
    return ClientSettings(
        api_url=_text(service, "api_url") or SERVICE,
        api_key=_text(service, "api_key") or environment.get("ALF_API_KEY", ""),
        workspace=Path(workspace).expanduser() if workspace else None,
    )


def list_tracked_agents(folder: Path) -> tuple[list[TrackedAgent], list[str]]:
    """Return the agents in the client's state files, and the problems of files that cannot be read."""
    found, problems = [], []
    state = folder / "state"
    for file in sorted(state.glob("*.toml")) if state.is_dir() else ():
        try:
            found.append(_tracked(file))
        except NoAlfClient as error:
            problems.append(error.message)
    return found, problems


def _tracked(file: Path) -> TrackedAgent:
    document = _toml(file)
    agent_id, sequence = (_text(document, "agent_id") or file.stem).lower(), document.get("last_synced_sequence")
    if not ids.is_uuid(agent_id) or type(sequence) is not int or sequence < 0:
        raise NoAlfClient(f"{file} is not a valid state file of the ALF client")
    synced_at = _moment(document.get("last_synced_at"))
    named, usual = _text(document, "snapshot_path"), file.with_name(f"{agent_id}-snapshot.alf")
    places = [Path(named), usual] if named else [usual]
    snapshot = next((place for place in places if place.is_file()), None)
    synced = document.get("last_synced_at") is not None
    return TrackedAgent(agent_id, sequence if synced else None, synced_at, snapshot, is_exact=bool(named) and synced)


def _moment(value: Any) -> str | None:
    """Return the time of a sync, which the client writes as a text."""
    try:
        return times.to_text(value if isinstance(value, datetime) else times.parse_time(str(value)))
    except ValueError:
        return None


def _toml(file: Path) -> JsonObject:
    try:
        with file.open("rb") as stream:
            return tomllib.loads(stream.read(_LARGEST_FILE).decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise NoAlfClient(f"{file} cannot be read: {refusal_reason(error)}") from error


def _table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _text(document: Mapping[str, Any], name: str) -> str:
    found = document.get(name)
    return found if isinstance(found, str) else ""


# Its workspaces -----------------------------------------------------------------------------------------------------


def find_workspaces(tracked: Iterable[TrackedAgent], folders: Iterable[Path]) -> dict[str, Path]:
    """Return the workspace of each agent that has one among `folders`, as real paths by the agent's id.

    A missing folder counts if the id was made from its path.
    """
    wanted, found = {agent.id for agent in tracked}, dict[str, Path]()
    for folder in folders:
        real = Path(os.path.realpath(folder))
        named = read_agent_id(real)
        for agent_id in [named] if named is not None else ids_of_path(real):
            if agent_id in wanted:
                found.setdefault(agent_id, real)
    return found


def ids_of_path(workspace: Path) -> list[str]:
    """Return the ids that the client makes of a path, one for each of its runtimes."""
    return [str(uuid.uuid5(namespace, str(workspace))) for namespace in _NAMESPACES]


def read_agent_id(workspace: Path) -> str | None:
    """Return the id that the client gave the agent of a workspace; None when it left no UUID."""
    file = workspace / AGENT_FILE
    try:
        if not file.is_file():
            return None
        with file.open("rb") as stream:
            text = stream.read(_LONGEST).decode("utf-8", "replace").strip()
    except OSError:
        return None
    return text.lower() if ids.is_uuid(text) else None


def leave_agent_id(workspace: Path, agent_id: str) -> None:
    """Write the id where the client looks for it, unless there is one. Raises OSError."""
    real = Path(os.path.realpath(workspace))
    with contextlib.suppress(FileExistsError):
        FilesBeneath(SystemFiles(), [real]).write_new(real / AGENT_FILE, agent_id.encode(), mode=0o644)
