"""Decide which files of any agent's folder are never captured: caches, packages, locks, partial downloads, files of the
desktop.

A write-ahead log that does not match its database damages it, so side files of databases are excluded as well.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate

Pattern = tuple[str, str]
"""A file name as `fnmatch` pattern, and the reason for users why such a file is excluded."""

STATE_SUFFIXES = frozenset(
    (
        *("", ".md", ".txt", ".json", ".json5", ".jsonl", ".yaml", ".yml", ".toml", ".ini"),
        *(".sh", ".py", ".js", ".ts", ".mjs"),
    )
)
"""Suffixes of files that a runtime reads and writes itself in its own folders."""

VERSION_CONTROL = "version control data"
_VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".bzr", ".jj", "git~1"})
"""Names of version control data. `git~1` is the short name of `.git` on Windows."""
_FOLDERS = {
    "node_modules": "installed packages; a package list can restore them",
    "__pycache__": "cache",
    ".venv": "installed packages; a package list can restore them",
    ".tox": "cache",
    ".nox": "cache",
    ".cache": "cache",
    ".mypy_cache": "cache",
    ".pytest_cache": "cache",
    ".ruff_cache": "cache",
}
_DATABASES = ("sqlite", "sqlite3", "db", "db3")
_OF_A_RESTORE = (".*.lifeboat-*", "temporary folder of a running restore")
_FILES: tuple[Pattern, ...] = (
    _OF_A_RESTORE,
    (".DS_Store", "file that the desktop environment creates"),
    ("._*", "file that the desktop environment creates"),
    ("Thumbs.db", "file that the desktop environment creates"),
    ("desktop.ini", "file that the desktop environment creates"),
    *((f"*.{kind}-{end}", "journal file of a database") for kind in _DATABASES for end in ("wal", "shm", "journal")),
    ("*.md.lock", "lock"),
    ("*.json.lock", "lock"),
    ("*.jsonl.lock", "lock"),
    (".~lock.*", "lock"),
    ("*.md.*.tmp", "file that the runtime is still writing"),
    (".*.sw[op]", "temporary file of an editor"),
    ("*.sock", "socket"),
)

COMMON = tuple(name for name, _ in _FILES)
"""Excluded names for every runtime, as globs."""


class ExclusionRules:
    """The exclusion rules of one runtime. `own` are its own patterns, which are tried before the common ones."""

    def __init__(self, own: tuple[Pattern, ...] = ()) -> None:
        self._files = (*own, *_FILES)
        # A scan calls this for every file, so one combined pattern is tried first.
        self._any = re.compile("|".join(translate(pattern) for pattern, _ in self._files))

    def reason(self, relative: str, *, is_folder: bool) -> str | None:
        """Return why a path is excluded, judged by its names; None when it is not."""
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
    """Return whether a part of a path is data of a version control system: a folder, or a file or link that leads to
    one.

    Names are compared as the most lenient file system does: without case, invisible characters, and dots or spaces at
    the end.
    """
    return _as_lenient(part) in _VERSION_CONTROL


def repository_heads(names: Iterable[str]) -> frozenset[str]:
    """Return the spellings of `HEAD` among the names of a folder that Git would treat as a repository.

    Git does so where `objects` and `refs`, or `commondir`, lie beside it. It then runs the commands that `config`
    names. Without `HEAD` the folder is no repository, and everything else in it can be kept.
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
    """Return the suffix of a file name in lower case: `.md` of `a/b.MD`, "" of `a/LICENSE` and of `a/.env`."""
    stem, dot, ending = relative.rpartition("/")[2].rpartition(".")
    return f".{ending.lower()}" if stem and dot else ""
