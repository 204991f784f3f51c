"""Classify files of a ZeroClaw agent: state, artifacts, and files that are never captured (ALF §3.1.9).

Databases of the runtime are read row by row, or hold the history of this machine. In the early layout they are in the
workspace. The key that decrypts the configuration is in no archive: the decrypted values are sealed instead.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from lifeboat_adapters.contract import Installation, Placement
from lifeboat_adapters.exclusion_rules import STATE_SUFFIXES, ExclusionRules, file_suffix
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_alf.archive import archive_layout

HOME_FILES = (zeroclaw_paths.CONFIG, zeroclaw_paths.AUTH_PROFILES, "otp-secret", "webauthn_credentials.json", ".env")
"""The captured files of any home."""
SHARED_FOLDERS = ("shared/skills/", "playbooks/")
"""Further captured folders of a home of the current layout. The early layout keeps them in the workspace."""

_BY_ROWS = "database of the runtime, captured row by row"
_HERE = "log file, which belongs to this machine only"
_TRANSCRIPT = "transcript, captured line by line if the setting `transcripts` is on"
_COPY = "backup copy that ZeroClaw made"

_LITTER = ExclusionRules(
    ((zeroclaw_paths.SECRET_KEY, "encryption key of this machine; captured credentials do not need it"),)
)

_LEFT_OUT = (
    ("memory/audit.db", _HERE),
    ("memory/response_cache.db", "cache"),
    ("memory/migrations", _COPY),
    ("memory/brain.db*", _BY_ROWS),
    ("cron/jobs.db", _BY_ROWS),
    ("cron/jobs.db.*", _COPY),
    ("sessions/*.db", _TRANSCRIPT),
    ("sessions/*.jsonl*", _TRANSCRIPT),
    ("sop/runs.db", _HERE),
    ("devices.db", _HERE),
    ("control_plane.db", _HERE),
    ("knowledge.db", _BY_ROWS),
    ("state/costs.jsonl", _HERE),
    ("state/runtime-trace.jsonl*", _HERE),
    ("state/memory_hygiene_state.json", _HERE),
    ("state/daemon_state.json", _HERE),
    ("state/models_cache.json", "cache"),
    ("delegate_results", _HERE),
    ("backups/backup-*", _COPY),
)
"""Excluded in a workspace: files of the early layout, or files that an upgrade left in one of the current layout."""

_STATE_FOLDERS = ("memory", "skills", "sops", "playbooks")
_STATE_FILES = frozenset((".env",))
_AIEOS = re.compile(r".*(?:identity|aieos|persona).*\.json", re.IGNORECASE)
"""The usual names of the document that the configuration names. A document with another name is an artifact."""


def zeroclaw_home_files(installation: Installation) -> tuple[str, ...]:
    """Return the captured files of a home for one agent, as globs."""
    if installation.layout != zeroclaw_paths.CURRENT:
        return HOME_FILES
    return (*HOME_FILES, *(f"{folder}**" for folder in SHARED_FOLDERS))


def place_zeroclaw_path(path: str, *, is_folder: bool) -> Placement:
    """Return where a path belongs. A folder that is EXCLUDED is not entered."""
    if zeroclaw_exclusion_reason(path, is_folder=is_folder) is not None:
        return Placement.EXCLUDED
    relative = in_workspace(path)
    if relative is None or is_zeroclaw_state(relative):
        return Placement.MANAGED
    return Placement.ARTIFACT


def zeroclaw_exclusion_reason(path: str, *, is_folder: bool) -> str | None:
    """Return why a path is excluded, as text for users; None when it is not."""
    relative = in_workspace(path)
    if relative is not None:
        return _exclusion_in_workspace(relative, is_folder=is_folder)
    if not path.startswith(zeroclaw_paths.HOME):
        return "not a file of ZeroClaw"
    if path.startswith(zeroclaw_paths.DATABASES):
        return None
    home = path.removeprefix(zeroclaw_paths.HOME)
    if not (_may_hold_wanted(home) if is_folder else _is_wanted(home)):
        return "data that the runtime needs only on this machine"
    return _LITTER.reason(home, is_folder=is_folder)


def in_workspace(path: str) -> str | None:
    """Return the workspace-relative path of an archive path (raw or artifact), None for any other path."""
    return next(
        (path[len(prefix) :] for prefix in (zeroclaw_paths.RAW, archive_layout.ARTIFACTS) if path.startswith(prefix)),
        None,
    )


def is_zeroclaw_state(relative: str) -> bool:
    """Return whether a workspace file is read and written by the runtime itself: its notes at the top, memories,
    skills."""
    top, _, below = relative.partition("/")
    if not below:
        return relative.endswith(".md") or relative in _STATE_FILES or _AIEOS.fullmatch(relative) is not None
    return top in _STATE_FOLDERS and file_suffix(below) in STATE_SUFFIXES


def _exclusion_in_workspace(relative: str, *, is_folder: bool) -> str | None:
    for pattern, reason in _LEFT_OUT:
        if relative.count("/") == pattern.count("/") and fnmatchcase(relative, pattern):
            return reason
    return _LITTER.reason(relative, is_folder=is_folder)


def _is_wanted(home: str) -> bool:
    return home in HOME_FILES or home.startswith(SHARED_FOLDERS)


def _may_hold_wanted(home: str) -> bool:
    return home in ("", "db") or any(
        f"{home}/".startswith(each) or each.startswith(f"{home}/") for each in SHARED_FOLDERS
    )
