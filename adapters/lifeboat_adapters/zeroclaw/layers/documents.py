"""ZeroClaw's configuration and AIEOS document as the derivations read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from lifeboat_adapters.contract import Files
from lifeboat_adapters.zeroclaw import config, paths
from lifeboat_alf import codec, layout
from lifeboat_alf.errors import BadJson
from lifeboat_alf.json_types import JsonObject

CONFIG = paths.HOME + paths.CONFIG
AIEOS = "aieos"
_DEEPEST = 64


def config_of(files: Files) -> JsonObject | None:
    """The configuration as captured; {} when there is none, None when there is one that cannot be read."""
    data = files.read(CONFIG)
    try:
        return config.parse(data) if data else {}
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Aieos:
    """The AIEOS document that an agent is configured with. `path` is its archive path, "" where it stands in the
    configuration; `text` is None when it is not there, `document` when it cannot be read."""

    path: str
    text: bytes | None
    document: JsonObject | None


def identity_settings(values: JsonObject, alias: str) -> JsonObject:
    """The `identity` table of an agent."""
    is_current = config.schema(values) >= config.CURRENT_SCHEMA
    found = config.get(values, *(("agents", alias) if is_current else ()), "identity")
    return found if isinstance(found, dict) else {}


def aieos_of(files: Files, values: JsonObject, alias: str, workspace: str = "") -> Aieos | None:
    """The document of an agent, None where it is configured to have none. A file counts before what stands in the
    configuration."""
    settings = identity_settings(values, alias)
    if config.text(settings, "format") != AIEOS:
        return None
    name = config.text(settings, "aieos_path")
    if name is None:
        inline = config.text(settings, "aieos_inline")
        return _read("", inline.encode("utf-8", "replace") if inline else None)
    return aieos_at(files, _archive_path(name, workspace))


def aieos_at(files: Files, path: str) -> Aieos:
    """The document at an archive path."""
    return _read(path, _first(files, path))


def _archive_path(name: str, workspace: str) -> str:
    """Where a configured path stands in an archive: in raw/, unless it leads out of the workspace."""
    relative = name.replace("\\", "/")
    if workspace and relative.startswith(f"{workspace.rstrip('/')}/"):
        relative = relative[len(workspace.rstrip("/")) + 1 :]
    parts = [part for part in PurePosixPath(relative).parts if part != "."]
    is_inside = bool(parts) and ".." not in parts and not relative.startswith("/")
    return paths.RAW + "/".join(parts) if is_inside else relative


def _first(files: Files, path: str) -> bytes | None:
    inside = path.removeprefix(paths.RAW)
    if inside == path:
        return None
    found = files.read(path)
    return files.read(layout.ARTIFACTS + inside) if found is None else found


def _read(path: str, text: bytes | None) -> Aieos:
    return Aieos(path, text, parse(text))


def parse(text: bytes | None) -> JsonObject | None:
    """A document from its text, None for what is no JSON object."""
    try:
        found = None if text is None else codec.decode_strict(text.removeprefix(b"\xef\xbb\xbf"), entry=AIEOS)
    except BadJson:
        return None
    return found if isinstance(found, dict) and _is_shallow(found) else None


def _is_shallow(value: Any) -> bool:
    """Whether a value is nested as documents are, and not to break whoever reads it."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [item for each in level if isinstance(each, dict | list) for item in _inside(each)]
    return not level


def _inside(value: JsonObject | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value
