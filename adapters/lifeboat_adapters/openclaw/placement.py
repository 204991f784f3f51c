"""Which files of an OpenClaw agent are its state, which are artifacts, and which are never captured (ALF §3.1.9).

Left out is what can be made again (caches, packages, indexes), what belongs to a running process (locks, half-written
files) and what names this machine. A database that the agent made for itself is an artifact like any other file; only
its side files are left out, because a write-ahead log that does not fit its database damages it.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase, translate

from lifeboat_adapters.contract import Placement
from lifeboat_adapters.openclaw import paths

HOME_FILES = ("openclaw.json", "openclaw.json.bak*", ".env", "skills/**")
"""What is captured of the state folder, as globs."""

_LEFT_OUT_FOLDERS = {
    ".git": "version control data",
    ".hg": "version control data",
    ".svn": "version control data",
    "node_modules": "packages, installed again from their list",
    "__pycache__": "cache",
    ".venv": "packages, installed again from their list",
    ".tox": "cache",
    ".nox": "cache",
    ".cache": "cache",
    ".mypy_cache": "cache",
    ".pytest_cache": "cache",
    ".ruff_cache": "cache",
}

_DATABASES = ("sqlite", "sqlite3", "db", "db3")
_OF_A_RESTORE = (".*.lifeboat-*", "left by a restore, removed by it")

_LEFT_OUT_FILES = (
    _OF_A_RESTORE,
    (".DS_Store", "written by the desktop"),
    ("._*", "written by the desktop"),
    ("Thumbs.db", "written by the desktop"),
    ("desktop.ini", "written by the desktop"),
    *((f"*.{kind}-{end}", "side file of a database") for kind in _DATABASES for end in ("wal", "shm", "journal")),
    ("*.memory-reindex-*", "left over from an interrupted re-index"),
    ("openclaw*.sqlite", "database of the runtime, read row by row"),
    ("*-lock.sqlite", "lock"),
    (".generation-*.sqlite", "lock"),
    ("*.md.lock", "lock"),
    ("*.json.lock", "lock"),
    ("*.jsonl.lock", "lock"),
    (".~lock.*", "lock"),
    ("*.md.*.tmp", "half-written file of the runtime"),
    (".*.sw[op]", "half-written file of an editor"),
    ("*.sock", "socket"),
    ("auth-profiles.json*", "credential store of the runtime"),
)

# A scan asks for every file: one pattern says whether a closer look is worth it.
_LEFT_OUT_NAME = re.compile("|".join(translate(pattern) for pattern, _ in _LEFT_OUT_FILES))

_LEFT_OUT_PATHS = (
    (".openclaw/workspace-state.json", "set-up state of this machine"),
    (".openclaw/.attested", "set-up state of this machine"),
    (".openclaw/agents", "state of the runtime on this machine"),
    (".openclaw/state", "state of the runtime on this machine"),
    (".openclaw/credentials", "state of the runtime on this machine"),
    (".openclaw/identity", "state of the runtime on this machine"),
    (".openclaw/devices", "state of the runtime on this machine"),
    (".openclaw/secrets.json", "credential store of the runtime"),
    ("memory/*.sqlite", "search index, rebuilt by the runtime"),
)

_STATE_FOLDERS = ("memory", "skills", ".agents", "hooks", ".openclaw")
_STATE_SUFFIXES = frozenset(
    (
        "",
        ".md",
        ".txt",
        ".json",
        ".json5",
        ".jsonl",
        ".yaml",
        ".yml",
        ".toml",
        ".ini",
        ".sh",
        ".py",
        ".js",
        ".ts",
        ".mjs",
    )
)
_STATE_FILES = frozenset((".env", paths.CONFIG))


def place(path: str, *, is_folder: bool) -> Placement:
    """Where a path belongs. EXCLUDED for a folder means it is not entered."""
    if exclusion(path, is_folder=is_folder) is not None:
        return Placement.EXCLUDED
    relative = paths.in_workspace(path)
    if relative is None or is_state(relative):
        return Placement.MANAGED
    return Placement.ARTIFACT


def exclusion(path: str, *, is_folder: bool) -> str | None:
    """Why a path is not captured, in people's words; None when it is."""
    relative = paths.in_workspace(path)
    if relative is not None:
        return _exclusion_in_workspace(relative, is_folder)
    home = paths.in_home(path)
    if home is None:
        return "not a file of OpenClaw"
    if not _wanted_of_home(home, is_folder):
        return "state of the runtime on this machine"
    return None if path.startswith(paths.DATABASES) else _exclusion_by_name(home, is_folder)


def is_state(relative: str) -> bool:
    """Whether a workspace file is what the runtime itself reads and writes: its notes at the top, memories, skills."""
    top, _, below = relative.partition("/")
    if not below:
        return relative.endswith(".md") or relative in _STATE_FILES or relative.startswith(f"{paths.CONFIG}.bak")
    return top in _STATE_FOLDERS and _suffix(below) in _STATE_SUFFIXES


def _suffix(relative: str) -> str:
    """`.md` of `a/b.MD`, "" of `a/LICENSE` and of `a/.env`."""
    stem, dot, ending = relative.rpartition("/")[2].rpartition(".")
    return f".{ending.lower()}" if stem and dot else ""


def _exclusion_in_workspace(relative: str, is_folder: bool) -> str | None:
    if relative.startswith((".openclaw/", "memory/")):
        for pattern, reason in _LEFT_OUT_PATHS:
            if fnmatchcase(relative, pattern) and relative.count("/") == pattern.count("/"):
                return reason
    return _exclusion_by_name(relative, is_folder)


def _exclusion_by_name(relative: str, is_folder: bool) -> str | None:
    folders, _, name = relative.rpartition("/")
    for folder in f"{folders}/{name}".split("/") if is_folder else folders.split("/"):
        reason = _LEFT_OUT_FOLDERS.get(folder)
        if reason is None and ".lifeboat-" in folder and fnmatchcase(folder, _OF_A_RESTORE[0]):
            reason = _OF_A_RESTORE[1]
        if reason is not None:
            return reason
    if is_folder or _LEFT_OUT_NAME.fullmatch(name) is None:
        return None
    return next(reason for pattern, reason in _LEFT_OUT_FILES if fnmatchcase(name, pattern))


def _wanted_of_home(home: str, is_folder: bool) -> bool:
    if is_folder:
        return home.split("/", 1)[0] in ("", "skills", "db")
    return home.startswith("db/") or any(fnmatchcase(home, pattern) for pattern in HOME_FILES)
