"""Rules for a folder of `.aicf` files as a workspace: where one is found, and how each of its files is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from lifeboat_adapters.contract import DiscoveredAgent, Installation, Placement
from lifeboat_adapters.credential_types import FileSecret
from lifeboat_adapters.errors import NotAWorkspace
from lifeboat_adapters.exclusion_rules import ExclusionRules
from lifeboat_adapters.secrets import secret_finder, settings_files
from lifeboat_adapters.small_files import entries_of
from lifeboat_alf.archive import archive_layout
from lifeboat_formats.aicf.aicf_mapping import RAW, RUNTIME

HOME = ".aicf"
SUFFIX = ".aicf"
PACKED = (".aicf.gz", ".aicf.age", ".aicf.gz.age")
"""Files that are kept byte for byte and never parsed."""

_LITTER = ExclusionRules((("*.aicf.lock", "lock"), ("*.aicf.*.tmp", "file that the runtime is still writing")))
_DOTENV = re.compile(r"\.env(\.(?!example|sample|template)[\w.-]+)?")
_OF_OTHERS = (
    *("SOUL.md", "IDENTITY.md", "AGENTS.md", "MEMORY.md", "USER.md", "TOOLS.md", "HEARTBEAT.md", "BOOT.md"),
    *("openclaw.json", "config.toml", "memory", ".openclaw"),
)
"""Names that mark the workspace of another runtime, where `.aicf` files are ordinary files."""
_INNER = ("", "recent", "sessions", "medium", "old", "archive")
"""Folders in which AICF tools keep their files."""


def has_aicf_files(workspace: Path) -> bool:
    """Return whether a folder, or one of the folders that AICF tools create in it, holds `.aicf` files."""
    return any(
        entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False)
        for inner in _INNER
        for entry in entries_of(workspace / inner)
    )


def score_workspace(workspace: Path) -> int:
    """Return 1 for a folder of AICF files that is not the workspace of another runtime, else 0. No configuration names
    such folders."""
    if any((workspace / name).exists() for name in _OF_OTHERS):
        return 0
    return int(has_aicf_files(workspace))


def discover_agents(environment: Mapping[str, str], user_home: Path) -> Iterator[DiscoveredAgent]:
    """Yield the agent in the folder `.aicf` of the user's home, if it exists."""
    workspace = user_home / HOME
    if score_workspace(workspace):
        found = locate_installation(workspace)
        yield DiscoveredAgent(RUNTIME, found.native_id, found.name, workspace, None)


def locate_installation(workspace: Path) -> Installation:
    """Return the installation for a workspace, which has no state directory around it. Raises NotAWorkspace."""
    if not has_aicf_files(workspace):
        raise NotAWorkspace(f"{workspace} contains no {SUFFIX} files")
    name = workspace.name if workspace.name != HOME else workspace.absolute().parent.name
    return Installation(RUNTIME, workspace, name or RUNTIME, name or RUNTIME)


def workspace_name_of(path: str) -> str | None:
    """Return the workspace-relative path for an archive path below raw or artifacts, or None for other paths."""
    return next((path[len(prefix) :] for prefix in (RAW, archive_layout.ARTIFACTS) if path.startswith(prefix)), None)


def is_readable(name: str) -> bool:
    """Return whether memories are read from a file."""
    return name.lower().endswith(SUFFIX)


def is_safe(name: str) -> bool:
    """Return whether a file name from a record may be written: it is an AICF file inside the workspace."""
    parts = name.split("/")
    is_plain = name.isprintable() and len(name) < 500
    return is_readable(name) and is_plain and all(part not in ("", ".", "..") for part in parts)


def place_path(path: str, *, is_folder: bool) -> Placement:
    """Return how a path is kept. A folder that is EXCLUDED is not entered."""
    if explain_exclusion(path, is_folder=is_folder) is not None:
        return Placement.EXCLUDED
    name = (workspace_name_of(path) or "").rpartition("/")[2]
    is_own = name.lower().endswith((SUFFIX, *PACKED, ".meta"))
    return Placement.MANAGED if is_folder or is_own or _may_hold_secrets(name) else Placement.ARTIFACT


def explain_exclusion(path: str, *, is_folder: bool) -> str | None:
    """Return why a path is not captured, in words for the user, or None if it is captured."""
    name = workspace_name_of(path)
    return (
        "not a file that Lifeboat captures from this folder"
        if name is None
        else _LITTER.reason(name, is_folder=is_folder)
    )


def find_file_secrets(path: str, data: bytes) -> list[FileSecret] | None:
    """Return the secrets in credential and settings files of the workspace. Raises UnparsableSecrets."""
    name = path.rpartition("/")[2]
    if workspace_name_of(path) is None:
        return None
    if _DOTENV.fullmatch(name):
        return secret_finder.add_secret_matches(name, data, secret_finder.secrets_in_dotenv(data))
    return settings_files.find_settings_secrets(name, data)


def _may_hold_secrets(name: str) -> bool:
    return _DOTENV.fullmatch(name) is not None or settings_files.find_settings_secrets(name, b"") is not None
