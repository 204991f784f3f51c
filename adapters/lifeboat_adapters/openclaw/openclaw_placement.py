"""Classify files of an OpenClaw agent: state, artifacts, and files that are never captured (ALF §3.1.9).

Excluded are files that can be made again (caches, packages, indexes), that belong to a running process (locks,
half-written files), and that identify this machine. A database that the agent made for itself is an artifact like any
other file. Only its side files are excluded, because a write-ahead log that does not match its database damages it.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from lifeboat_adapters.contract import FolderCap, Installation, Placement
from lifeboat_adapters.exclusion_rules import STATE_SUFFIXES, ExclusionRules, file_suffix
from lifeboat_adapters.openclaw import openclaw_paths

HOME_FILES = (
    "openclaw.json",
    ".env",
    "secrets.json",
    "skills/**",
    "hooks/**",
    "extensions/**",
    "settings/**",
    "wiki/**",
    "media/inbound/**",
    "media/outbound/**",
    "memory/lancedb/**",
    "credentials/**",
    "agents/*/agent/auth-profiles.json",
)
"""The captured files of the state directory, as globs. Files that the configuration includes are added."""

# fmt: off
_OF_THE_RUNTIME = frozenset((
    "agents", "backups", "browser", "cache", "completions", "credentials", "cron", "db", "dev", "devices", "extensions",
    "git", "hooks", "identity", "logs", "matrix", "media", "memory", "migration", "models", "npm", "npm-runtime",
    "plugin-skills", "sandboxes", "session-sqlite-migration-runs", "settings", "skills", "state", "tmp", "tools",
    "wiki", "workspace",
))
# fmt: on
"""Folders of the state directory that cannot hold a part of the configuration."""

_AUTH_PROFILES = re.compile(r"agents/[^/]+/agent/auth-profiles\.json")
_RATCHET = "connection state of a channel; a restored copy would not work"
_LEFT_OUT_OF_LOGINS = (
    ("session-*", _RATCHET),
    ("pre-key-*", _RATCHET),
    ("sender-key-*", _RATCHET),
    ("app-state-sync-*", _RATCHET),
    ("device-list-*", _RATCHET),
    ("lid-mapping-*", _RATCHET),
    ("tctoken-*", _RATCHET),
    *((f"*.{kind}", _RATCHET) for kind in ("sqlite", "sqlite3", "db", "db3")),
    ("*.bak*", "backup copy of a channel login"),
    ("*.tmp*", "file that the runtime is still writing"),
    ("*.lock", "lock"),
)

CAPS = (
    FolderCap(
        openclaw_paths.CHANNEL_LOGINS,
        size=1 << 20,
        count=200,
        seconds=3600,
        noise=tuple(name for name, _ in _LEFT_OUT_OF_LOGINS),
    ),
    FolderCap("media/", size=None, count=200),
    FolderCap("memory/lancedb/", size=None, count=2000),
)
"""Limits for folders of channels. A channel updates its login all the time, and a busy one receives more media than
anything else of an agent."""

_LITTER = ExclusionRules(
    (
        ("*.memory-reindex-*", "file of an interrupted rebuild of the search index"),
        ("openclaw*.sqlite", "database of the runtime, captured row by row"),
        ("*-lock.sqlite", "lock"),
        (".generation-*.sqlite", "lock"),
        ("auth-profiles.json*", "credential store of the runtime, captured separately"),
    )
)

_LEFT_OUT_PATHS = (
    (".openclaw/workspace-state.json", "data about the set-up of OpenClaw on this machine"),
    (".openclaw/.attested", "data about the set-up of OpenClaw on this machine"),
    (".openclaw/agents", "data that the runtime needs only on this machine"),
    (".openclaw/state", "data that the runtime needs only on this machine"),
    (".openclaw/credentials", "data that the runtime needs only on this machine"),
    (".openclaw/identity", "data that the runtime needs only on this machine"),
    (".openclaw/devices", "data that the runtime needs only on this machine"),
    (".openclaw/secrets.json", "credential store of the runtime, captured separately"),
    ("memory/*.sqlite", "search index, which the runtime rebuilds"),
)

_REASONS = (
    ("state", "databases of the runtime, captured row by row"),
    ("agents", "data of the runtime; sessions are captured if the setting `transcripts` is on"),
    ("workspace*", "workspace of another agent, captured with that agent"),
    ("identity", "identity of this machine, which must not be copied"),
    ("devices", "identity of this machine, which must not be copied"),
    ("matrix", _RATCHET),
    ("*.bak*", "backup of the configuration, made by the runtime"),
    ("backups", "backups that the runtime made"),
    (
        "hooks",
        "Lifeboat's own hook, which is not copied between machines. To install it on a machine: lifeboat agents hook",
    ),
    ("media", "data that the runtime rebuilds"),
    ("memory", "search index, which the runtime rebuilds"),
    ("logs", "log"),
    *((name, "data that the runtime rebuilds") for name in ("cache", "completions", "models", "plugin-skills", "tmp")),
    *(
        (name, "software that the runtime reinstalls")
        for name in ("browser", "dev", "git", "npm", "npm-runtime", "tools")
    ),
)
"""Why a path of the state directory is excluded, by its first part."""

_OWN_HOOK = "hooks/lifeboat"
_STATE_FOLDERS = ("memory", "skills", ".agents", "hooks", ".openclaw")
_ENTERED = ("", "skills", "hooks", "extensions", "settings", "wiki", "credentials", "db")
_STATE_FILES = frozenset((".env", openclaw_paths.CONFIG))


def openclaw_home_files(installation: Installation) -> tuple[str, ...]:
    """Return the captured files of a state directory for one agent. Of the files that each agent has, only its own are
    included."""
    agent = re.sub(r"([*?\[])", r"[\1]", installation.native_id)
    own = (pattern.replace("agents/*/", f"agents/{agent}/") for pattern in HOME_FILES)
    return (*own, *(re.sub(r"([*?\[])", r"[\1]", name) for name in installation.included))


def place_openclaw_path(path: str, *, is_folder: bool) -> Placement:
    """Return where a path belongs. A folder that is EXCLUDED is not entered."""
    if openclaw_exclusion_reason(path, is_folder=is_folder) is not None:
        return Placement.EXCLUDED
    relative = openclaw_paths.in_workspace(path)
    if relative is None or is_openclaw_state(relative):
        return Placement.MANAGED
    return Placement.ARTIFACT


def openclaw_exclusion_reason(path: str, *, is_folder: bool) -> str | None:
    """Return why a path is excluded, as text for users; None when it is not."""
    relative = openclaw_paths.in_workspace(path)
    if relative is not None:
        return _exclusion_in_workspace(relative, is_folder)
    home = openclaw_paths.in_home(path)
    if home is None:
        return "not a file of OpenClaw"
    return None if path.startswith(openclaw_paths.DATABASES) else _exclusion_in_home(home, is_folder)


def is_openclaw_state(relative: str) -> bool:
    """Return whether a workspace file is read and written by the runtime itself: its notes at the top, memories,
    skills."""
    top, _, below = relative.partition("/")
    if not below:
        return (
            relative.endswith(".md") or relative in _STATE_FILES or relative.startswith(f"{openclaw_paths.CONFIG}.bak")
        )
    return top in _STATE_FOLDERS and file_suffix(below) in STATE_SUFFIXES


def _exclusion_in_workspace(relative: str, is_folder: bool) -> str | None:
    if relative.startswith((".openclaw/", "memory/")):
        for pattern, reason in _LEFT_OUT_PATHS:
            if fnmatchcase(relative, pattern) and relative.count("/") == pattern.count("/"):
                return reason
    return _LITTER.reason(relative, is_folder=is_folder)


def _exclusion_in_home(home: str, is_folder: bool) -> str | None:
    is_own_hook = f"{home}/".startswith(f"{_OWN_HOOK}/")
    if is_own_hook or not (_may_hold_wanted(home) if is_folder else _is_wanted(home)):
        top = home.partition("/")[0]
        named = (reason for pattern, reason in _REASONS if fnmatchcase(top, pattern))
        return next(named, "data that the runtime needs only on this machine")
    if not is_folder and _AUTH_PROFILES.fullmatch(home):
        return None
    if not is_folder and home.startswith(openclaw_paths.CHANNEL_LOGINS):
        name = home.rpartition("/")[2]
        reason = next((reason for pattern, reason in _LEFT_OUT_OF_LOGINS if fnmatchcase(name, pattern)), None)
        if reason is not None:
            return reason
    return _LITTER.reason(home, is_folder=is_folder)


def _is_wanted(home: str) -> bool:
    if home.startswith("agents/"):
        return _AUTH_PROFILES.fullmatch(home) is not None
    return may_be_included(home) or any(fnmatchcase(home, pattern) for pattern in HOME_FILES)


def _may_hold_wanted(home: str) -> bool:
    parts = home.split("/")
    if parts[0] == "agents":
        return len(parts) < 3 or (len(parts) == 3 and parts[2] == "agent")
    if parts[0] in ("media", "memory"):
        return len(parts) == 1 or "/".join(parts[:2]) in ("media/inbound", "media/outbound", "memory/lancedb")
    return parts[0] in _ENTERED or may_be_included(f"{home}/any.json")


def may_be_included(home: str) -> bool:
    """Return whether a file of the state directory may be an included part of the configuration (`$include`). The
    runtime's own files are not."""
    top = home.partition("/")[0]
    of_runtime = top in _OF_THE_RUNTIME or top.startswith((".", "workspace-"))
    return not of_runtime and "/." not in home and home.endswith((".json", ".json5"))
