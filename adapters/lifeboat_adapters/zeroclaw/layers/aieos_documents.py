"""Read ZeroClaw's captured configuration and AIEOS document for derivations.

AIEOS is the JSON form in which ZeroClaw can keep an agent's identity, in place of Markdown files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from lifeboat_adapters.contract import AgentFiles
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadJson

CONFIG = zeroclaw_paths.HOME + zeroclaw_paths.CONFIG
AIEOS = "aieos"
_DEEPEST = 64


def captured_zeroclaw_config(files: AgentFiles) -> JsonObject | None:
    """Return the captured configuration, {} when there is none, None when it cannot be read."""
    data = files.read(CONFIG)
    try:
        return zeroclaw_config.parse_zeroclaw_config(data) if data else {}
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class AieosDocument:
    """The AIEOS document that an agent is configured with. `path` is its archive path, "" for a document inside the
    configuration. `text` is None when it does not exist, `document` when it cannot be read."""

    path: str
    text: bytes | None
    document: JsonObject | None


def identity_settings(values: JsonObject, alias: str) -> JsonObject:
    """Return the `identity` table of an agent."""
    is_current = zeroclaw_config.schema_version_of(values) >= zeroclaw_config.CURRENT_SCHEMA
    found = zeroclaw_config.get_nested(values, *(("agents", alias) if is_current else ()), "identity")
    return found if isinstance(found, dict) else {}


def find_agent_aieos(files: AgentFiles, values: JsonObject, alias: str, workspace: str = "") -> AieosDocument | None:
    """Return the document of an agent, None when none is configured. A file takes precedence over a document inside the
    configuration."""
    settings = identity_settings(values, alias)
    if zeroclaw_config.get_nested_text(settings, "format") != AIEOS:
        return None
    name = zeroclaw_config.get_nested_text(settings, "aieos_path")
    if name is None:
        inline = zeroclaw_config.get_nested_text(settings, "aieos_inline")
        return _read("", inline.encode("utf-8", "replace") if inline else None)
    return read_aieos_at(files, _archive_path(name, workspace))


def read_aieos_at(files: AgentFiles, path: str) -> AieosDocument:
    """Return the document at an archive path."""
    return _read(path, _first(files, path))


def _archive_path(name: str, workspace: str) -> str:
    """Return the archive path of a configured path: in raw/, unless it leads out of the workspace."""
    relative = name.replace("\\", "/")
    if workspace and relative.startswith(f"{workspace.rstrip('/')}/"):
        relative = relative[len(workspace.rstrip("/")) + 1 :]
    parts = [part for part in PurePosixPath(relative).parts if part != "."]
    is_inside = bool(parts) and ".." not in parts and not relative.startswith("/")
    return zeroclaw_paths.RAW + "/".join(parts) if is_inside else relative


def _first(files: AgentFiles, path: str) -> bytes | None:
    inside = path.removeprefix(zeroclaw_paths.RAW)
    if inside == path:
        return None
    found = files.read(path)
    return files.read(archive_layout.ARTIFACTS + inside) if found is None else found


def _read(path: str, text: bytes | None) -> AieosDocument:
    return AieosDocument(path, text, parse_aieos(text))


def parse_aieos(text: bytes | None) -> JsonObject | None:
    """Parse a document, None for text that is no JSON object."""
    try:
        found = None if text is None else json_codec.decode_strict(text.removeprefix(b"\xef\xbb\xbf"), entry=AIEOS)
    except BadJson:
        return None
    return found if isinstance(found, dict) and _is_shallow(found) else None


def _is_shallow(value: Any) -> bool:
    """Return whether the nesting of a value is within a limit, so that reading it cannot exhaust the stack."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [item for each in level if isinstance(each, dict | list) for item in _inside(each)]
    return not level


def _inside(value: JsonObject | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value
