"""Read `openclaw.json`: JSON5, with agents as a map (2026.9) or as a list (2026.2)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters import json5_editing
from lifeboat_adapters.contract import AgentFiles
from lifeboat_adapters.errors import RuntimeConfigError
from lifeboat_adapters.nested_values import get_nested as get_nested
from lifeboat_adapters.nested_values import get_nested_text as get_nested_text
from lifeboat_adapters.openclaw import openclaw_paths
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason

MAIN = "main"


@dataclass(frozen=True, slots=True)
class OpenClawAgent:
    """One configured agent. `workspace` is as written, None when the default applies; `values` is its object."""

    id: str
    workspace: str | None
    values: JsonObject
    default: bool

    @property
    def name(self) -> str | None:
        """Return the configured name. That of the identity takes precedence over that of the entry."""
        return get_nested_text(self.values, "identity", "name") or get_nested_text(self.values, "name")


def read_openclaw_config(path: Path) -> JsonObject:
    """Return the configuration in a file, {} when there is none. Raises RuntimeConfigError."""
    try:
        return parse_openclaw_config(read_small(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise RuntimeConfigError(f"{path}: {refusal_reason(error)}", fix="openclaw doctor --fix") from error


def read_config_or_backup(path: Path) -> JsonObject:
    """Return the configuration, or while the file is half-written or broken the copy that OpenClaw made before its last
    change.

    Raises RuntimeConfigError when neither can be read.
    """
    try:
        return read_openclaw_config(path)
    except RuntimeConfigError:
        backup = path.with_name(f"{path.name}.bak")
        if not backup.is_file():
            raise
        return read_openclaw_config(backup)


def parse_openclaw_config(data: bytes) -> JsonObject:
    """Parse a configuration, also one whose secrets were cut out. Raises ValueError when it is not one JSON5 object."""
    return json5_editing.parse_json5_object(data)


def list_openclaw_agents(values: JsonObject) -> list[OpenClawAgent]:
    """Return every configured agent, the default one first, or `main` alone when none is configured."""
    entries = _entries(values)
    if not entries:
        return [OpenClawAgent(MAIN, None, {}, True)]
    default = _default_id(entries)
    found = [
        OpenClawAgent(id, get_nested_text(entry, "workspace"), entry, id == default) for id, entry in entries.items()
    ]
    return sorted(found, key=lambda agent: not agent.default)


def find_openclaw_agent(values: JsonObject, native_id: str) -> OpenClawAgent | None:
    """Return one agent by its id, None when it is not configured."""
    return next((found for found in list_openclaw_agents(values) if found.id == native_id), None)


def _entries(values: JsonObject) -> dict[str, JsonObject]:
    mapped = get_nested(values, "agents", "entries")
    found = {key: entry for key, entry in mapped.items() if isinstance(entry, dict)} if isinstance(mapped, dict) else {}
    listed = get_nested(values, "agents", "list")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            found.setdefault(entry["id"], entry)
    return found


def _default_id(entries: dict[str, JsonObject]) -> str:
    marked = (id for id, entry in entries.items() if entry.get("default") is True)
    return next(marked, MAIN if MAIN in entries else next(iter(entries)))


def captured_config_of(files: AgentFiles) -> JsonObject:
    """Return the captured configuration, {} when there is none that can be read."""
    data = files.read(openclaw_paths.HOME + openclaw_paths.CONFIG)
    try:
        return parse_openclaw_config(data) if data else {}
    except ValueError:
        return {}
