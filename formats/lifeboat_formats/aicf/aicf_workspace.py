"""A folder of `.aicf` files as an agent's workspace: where one is, and which of its files are kept as what."""

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
"""Kept byte for byte; nothing is read from them."""

_LITTER = ExclusionRules((("*.aicf.lock", "lock"), ("*.aicf.*.tmp", "half-written file of the runtime")))
_DOTENV = re.compile(r"\.env(\.(?!example|sample|template)[\w.-]+)?")
_OF_OTHERS = (
    *("SOUL.md", "IDENTITY.md", "AGENTS.md", "MEMORY.md", "USER.md", "TOOLS.md", "HEARTBEAT.md", "BOOT.md"),
    *("openclaw.json", "config.toml", "memory", ".openclaw"),
)
"""What stands in the workspace of another runtime, in which files of this format are only files."""
_INNER = ("", "recent", "sessions", "medium", "old", "archive")
"""Folders in which tools of this format keep their files."""


def has_aicf_files(workspace: Path) -> bool:
    """Whether files of this format stand in a folder, or in one of the folders that its tools make there."""
    return any(
        entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False)
        for inner in _INNER
        for entry in entries_of(workspace / inner)
    )


def score_workspace(workspace: Path) -> int:
    """1 for a folder of such files and of no other runtime's; nobody's configuration names one."""
    if any((workspace / name).exists() for name in _OF_OTHERS):
        return 0
    return int(has_aicf_files(workspace))


def discover_agents(environment: Mapping[str, str], user_home: Path) -> Iterator[DiscoveredAgent]:
    """The folder `.aicf` in the user's home."""
    workspace = user_home / HOME
    if score_workspace(workspace):
        found = locate_installation(workspace)
        yield DiscoveredAgent(RUNTIME, found.native_id, found.name, workspace, None)


def locate_installation(workspace: Path) -> Installation:
    """The folder itself: there is nothing around it. Raises NotAWorkspace."""
    if not has_aicf_files(workspace):
        raise NotAWorkspace(f"{workspace} holds no {SUFFIX} files")
    name = workspace.name if workspace.name != HOME else workspace.absolute().parent.name
    return Installation(RUNTIME, workspace, name or RUNTIME, name or RUNTIME)


def workspace_name_of(path: str) -> str | None:
    """The workspace-relative path of an archive path (raw or artifact), None for anything else."""
    return next((path[len(prefix) :] for prefix in (RAW, archive_layout.ARTIFACTS) if path.startswith(prefix)), None)


def is_readable(name: str) -> bool:
    """Whether a file is one that memories are read from."""
    return name.lower().endswith(SUFFIX)


def is_safe(name: str) -> bool:
    """Whether a name from a record may become a file: inside the workspace, and of this format."""
    parts = name.split("/")
    is_plain = name.isprintable() and len(name) < 500
    return is_readable(name) and is_plain and all(part not in ("", ".", "..") for part in parts)


def place_path(path: str, *, is_folder: bool) -> Placement:
    """Where a path belongs. EXCLUDED for a folder means it is not entered."""
    if explain_exclusion(path, is_folder=is_folder) is not None:
        return Placement.EXCLUDED
    name = (workspace_name_of(path) or "").rpartition("/")[2]
    is_own = name.lower().endswith((SUFFIX, *PACKED, ".meta"))
    return Placement.MANAGED if is_folder or is_own or _may_hold_secrets(name) else Placement.ARTIFACT


def explain_exclusion(path: str, *, is_folder: bool) -> str | None:
    """Why a path is not captured, in people's words; None when it is."""
    name = workspace_name_of(path)
    return "not a file of this folder" if name is None else _LITTER.reason(name, is_folder=is_folder)


def find_file_secrets(path: str, data: bytes) -> list[FileSecret] | None:
    """Secrets in files that are made for them and lie beside. Raises UnparsableSecrets."""
    name = path.rpartition("/")[2]
    if workspace_name_of(path) is None:
        return None
    if _DOTENV.fullmatch(name):
        return secret_finder.add_secret_matches(name, data, secret_finder.secrets_in_dotenv(data))
    return settings_files.find_settings_secrets(name, data)


def _may_hold_secrets(name: str) -> bool:
    return _DOTENV.fullmatch(name) is not None or settings_files.find_settings_secrets(name, b"") is not None
