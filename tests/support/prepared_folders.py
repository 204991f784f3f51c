"""Folders that many tests begin from: built once in each process, and restored to the same path for each test.

The path stays the same because prepared folders hold absolute paths: an agent's workspace, the configuration of its
runtime. A test may change its folder as it likes; the next test gets the prepared state again.

A restore must not be part of what is prepared if a test takes it back: `lifeboat undo` compares inodes and change
times, and a copied file has others.
"""

from __future__ import annotations

import copy
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class PreparedFolder(NamedTuple):
    """A folder as `build` left it. `inodes` are the inodes of its files at that time, by relative path."""

    value: Any
    inodes: dict[str, int]
    state_databases: list[str]


@dataclass
class PreparedFolders:
    """The prepared folders of one process, below `base`."""

    base: Path
    _prepared: dict[str, PreparedFolder] = field(default_factory=dict)

    def restore(self, name: str, build: Callable[[Path], T]) -> T:
        """Put the folder `name` into the state in which `build` leaves it, and return what `build` returned.

        `build` runs once, on an empty folder. What it returns is copied deeply for each test, and must not hold open
        files, connections or processes.
        """
        folder, original = self.base / name, self.base / f"{name}.original"
        shutil.rmtree(folder, ignore_errors=True)
        if name not in self._prepared:
            folder.mkdir(parents=True, mode=0o700)
            value = build(folder)
            inodes = {path: os.lstat(folder / path).st_ino for path in _paths(folder)}
            databases = [path for path in inodes if path.endswith(".db") and Path(path).parent.name == "state"]
            folder.rename(original)
            self._prepared[name] = PreparedFolder(value, inodes, databases)
        prepared = self._prepared[name]
        _copy_folder(str(original), str(folder))
        for database in prepared.state_databases:
            _refresh_seen_files(folder / database, folder, prepared.inodes)
        value = copy.deepcopy(prepared.value)
        return value  # type: ignore[no-any-return]


def _paths(folder: Path) -> list[str]:
    """Return every path below a folder, and the folder itself as `.`."""
    found = ["."]
    for parent, folders, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(parent, name), folder) for name in (*folders, *names)]
    return found


def _copy_folder(source: str, target: str) -> None:
    """Copy files, links and folders with modes and modification times.

    `shutil.copytree` takes three times as long, for attributes that no prepared folder has.
    """
    os.mkdir(target)
    with os.scandir(source) as entries:
        for entry in entries:
            copied = os.path.join(target, entry.name)
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), copied)
                _copy_stat(entry.stat(follow_symlinks=False), copied, is_link=True)
            elif entry.is_dir():
                _copy_folder(entry.path, copied)
            else:
                shutil.copyfile(entry.path, copied)
                _copy_stat(entry.stat(), copied)
    _copy_stat(os.stat(source), target)


def _copy_stat(found: os.stat_result, path: str, *, is_link: bool = False) -> None:
    if not is_link:
        os.chmod(path, found.st_mode & 0o7777)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns), follow_symlinks=False)


def _refresh_seen_files(database: Path, folder: Path, inodes: dict[str, int]) -> None:
    """Tell a state database the inodes and change times of the copied files.

    Without this the next capture would read every file of the workspace again, and take the workspace for another
    folder.
    """
    copies = {inode: os.lstat(folder / path) for path, inode in inodes.items()}
    with closing(sqlite3.connect(database)) as connection, connection:
        rows = connection.execute("select native, inode from seen").fetchall()
        found = [(copies[int(inode)], native) for native, inode in rows if int(inode) in copies]
        connection.executemany(
            "update seen set inode = ?, ctime_ns = ? where native = ?",
            [(each.st_ino, each.st_ctime_ns, native) for each, native in found],
        )
        for (root,) in connection.execute("select value from fact where key = 'root'").fetchall():
            each = copies.get(int(root.strip('"').partition(":")[2]))
            if each is not None:
                connection.execute("update fact set value = ? where key = 'root'", (f'"{each.st_dev}:{each.st_ino}"',))
