"""What lies in the folder of any agent and belongs into no archive: caches, packages, locks, half-written files, what
the desktop writes. A write-ahead log that does not fit its database damages it, so side files stay out as well."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate

Pattern = tuple[str, str]
"""A file name as `fnmatch` pattern, and why such a file is left out, in people's words."""

STATE_SUFFIXES = frozenset(
    (
        *("", ".md", ".txt", ".json", ".json5", ".jsonl", ".yaml", ".yml", ".toml", ".ini"),
        *(".sh", ".py", ".js", ".ts", ".mjs"),
    )
)
"""Of files that a runtime reads and writes itself, in folders that are its own."""

VERSION_CONTROL = "version control data"
_VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".bzr", ".jj", "git~1"})
"""`git~1` is the short name of `.git` on Windows."""
_FOLDERS = {
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
_FILES: tuple[Pattern, ...] = (
    _OF_A_RESTORE,
    (".DS_Store", "written by the desktop"),
    ("._*", "written by the desktop"),
    ("Thumbs.db", "written by the desktop"),
    ("desktop.ini", "written by the desktop"),
    *((f"*.{kind}-{end}", "side file of a database") for kind in _DATABASES for end in ("wal", "shm", "journal")),
    ("*.md.lock", "lock"),
    ("*.json.lock", "lock"),
    ("*.jsonl.lock", "lock"),
    (".~lock.*", "lock"),
    ("*.md.*.tmp", "half-written file of the runtime"),
    (".*.sw[op]", "half-written file of an editor"),
    ("*.sock", "socket"),
)

COMMON = tuple(name for name, _ in _FILES)
"""The names of such files of everybody, as globs."""


class ExclusionRules:
    """`own` are further files that a runtime leaves lying, before those of everybody."""

    def __init__(self, own: tuple[Pattern, ...] = ()) -> None:
        self._files = (*own, *_FILES)
        # A scan asks for every file: one pattern says whether a closer look is worth it.
        self._any = re.compile("|".join(translate(pattern) for pattern, _ in self._files))

    def reason(self, relative: str, *, is_folder: bool) -> str | None:
        """Why a path is left out, by its names; None when it is not."""
        if any(map(is_version_control, relative.split("/"))):
            return VERSION_CONTROL
        folders, _, name = relative.rpartition("/")
        for folder in f"{folders}/{name}".split("/") if is_folder else folders.split("/"):
            reason = _FOLDERS.get(folder)
            if reason is None and ".lifeboat-" in folder and fnmatchcase(folder, _OF_A_RESTORE[0]):
                reason = _OF_A_RESTORE[1]
            if reason is not None:
                return reason
        if is_folder or self._any.fullmatch(name) is None:
            return None
        return next(reason for pattern, reason in self._files if fnmatchcase(name, pattern))


def is_version_control(part: str) -> bool:
    """Return whether a part of a path is the data of a version control system: a folder, or a file or link that leads
    to one. Compared as the most lenient file system reads a name: without case, characters that cannot be seen, and
    dots or spaces at its end."""
    return _as_lenient(part) in _VERSION_CONTROL


def repository_heads(names: Iterable[str]) -> frozenset[str]:
    """Return the spellings of `HEAD` among the names of a folder that Git would take for a repository by it.

    Git does so where `objects` and `refs` lie beside it, or `commondir`, and then runs what `config` names. Without
    `HEAD` the folder is none, and everything else in it can stay.
    """
    read = {name: _as_lenient(name) for name in names}
    if {"objects", "refs"} <= set(read.values()) or "commondir" in read.values():
        return frozenset(name for name, part in read.items() if part == "head")
    return frozenset()


def _as_lenient(part: str) -> str:
    if not part.isascii():
        seen = "".join(letter for letter in part if unicodedata.category(letter) != "Cf")
        part = unicodedata.normalize("NFKC", seen)
    return part.casefold().rstrip(". ")


def file_suffix(relative: str) -> str:
    """`.md` of `a/b.MD`, "" of `a/LICENSE` and of `a/.env`."""
    stem, dot, ending = relative.rpartition("/")[2].rpartition(".")
    return f".{ending.lower()}" if stem and dot else ""
