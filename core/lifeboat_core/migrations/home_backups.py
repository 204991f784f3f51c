"""Backups of a home before a migration changes it: `backups/<layout>-<time>/`, for 30 days.

Small documents are always copied: settings, agents, the documents of state/. Keys and vaults are copied only before a
step that touches them: `keys rotate` does not reach another copy of a key, and another copy of a vault contains what is
purged later. Caches can be made again. A copy gets its name when it is whole.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.file_operations import read_all

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import folders_in, is_there, paths_in

KEPT_FOR = timedelta(days=30)
_ONE_ATTEMPT = timedelta(days=1)
_TIME = "%Y%m%dT%H%M%SZ"
_BEGUN = ".begun-"
_DOCUMENTS = ("config.toml", "id", "version", "release", "agents/*.toml", "state/*.json", "state/*.toml")
_KEYS = ("keys/*", "keys/*/*")
_VAULT = "vault.db"
_OLD_SCHEMA = f"vault/*/{_VAULT}.schema-*"


class BackupArea(StrEnum):
    """What a step may touch besides the small documents."""

    KEYS = "keys"
    VAULTS = "vaults"


def back_up_home(context: Context, layout: int, touched: Collection[BackupArea]) -> Path:
    """Copy what a step from `layout` could damage; return the folder of the copy.

    A repeated step has its copy already: the first one, from before any change. Raises OSError, VaultError.
    """
    before = _of_this_attempt(context, layout)
    if before is not None:
        return before
    name = f"{layout}-{context.clock.now().astimezone(UTC):{_TIME}}"
    begun = context.home.backups_folder / f"{_BEGUN}{name}"
    shutil.rmtree(begun, ignore_errors=True)
    try:
        context.files.make_folders(begun, 0o700)
        _copy_files(context, begun, (*_DOCUMENTS, *(_KEYS if BackupArea.KEYS in touched else ())))
        if BackupArea.VAULTS in touched:
            _copy_vaults(context, begun)
        reach_crash_point(CrashPoint.MIGRATE_COPYING)
        context.files.sync_file_system(begun)
        context.files.replace(begun, begun.with_name(name))
    except BaseException:
        shutil.rmtree(begun, ignore_errors=True)
        raise
    context.files.sync_folder(context.home.backups_folder)
    return begun.with_name(name)


def remove_old_backups(context: Context) -> list[Path]:
    """Remove copies that are older than 30 days, also those that a vault kept of its earlier schema, and incomplete
    copies; return them. Removes nothing while the clock is not trusted. Raises OSError."""
    from lifeboat_core.machine import clock_trust

    gone = list(_cut_off(context))
    if clock_trust.is_clock_trusted(context):
        oldest = context.clock.now() - KEPT_FOR
        gone += [folder for folder, made in _copies(context) if made < oldest]
        gone += [path for path in context.home.folder.glob(_OLD_SCHEMA) if _changed_at(path) < oldest]
    for path in gone:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            context.files.remove(path)
    return gone


def _of_this_attempt(context: Context, layout: int) -> Path | None:
    now = context.clock.now()
    found = (
        folder
        for folder, made in _copies(context)
        if folder.name.startswith(f"{layout}-") and abs(now - made) < _ONE_ATTEMPT
    )
    return min(found, key=lambda each: each.name, default=None)


def _copies(context: Context) -> Iterator[tuple[Path, datetime]]:
    """Yield every whole copy with the time at which it was made."""
    for path in _within(context):
        with contextlib.suppress(ValueError):
            yield path, datetime.strptime(path.name.partition("-")[2], _TIME).replace(tzinfo=UTC)


def _cut_off(context: Context) -> Iterator[Path]:
    """Yield incomplete copies. The home's lock is held by a copying process and by this caller, so they are abandoned,
    or old."""
    return (
        path
        for path in _within(context)
        if path.name.startswith(_BEGUN) and context.clock.now() - _changed_at(path) > _ONE_ATTEMPT
    )


def _within(context: Context) -> list[Path]:
    try:
        return [Path(entry.path) for entry in context.files.scan(context.home.backups_folder)]
    except FileNotFoundError:
        return []


def _copy_files(context: Context, target: Path, patterns: Collection[str]) -> None:
    """Copy regular files only, by their bytes: a hard link would change with its original."""
    home = context.home.folder
    for path in sorted(found for pattern in patterns for found in _matching(context, home, pattern)):
        if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
            copy = target / path.relative_to(home)
            context.files.make_folders(copy.parent, 0o700)
            context.files.write_new(copy, read_all(context.files, path), mode=0o600, sync=False)


def _matching(context: Context, folder: Path, pattern: str) -> Iterator[Path]:
    """Yield the paths that match a pattern. A folder that cannot be listed must not count as empty. Raises OSError."""
    first, _, rest = pattern.partition("/")
    if rest:
        for inner in folders_in(context.files, folder):
            if fnmatch(inner.name, first):
                yield from _matching(context, inner, rest)
    else:
        yield from (path for path in paths_in(context.files, folder) if fnmatch(path.name, first))


def _copy_vaults(context: Context, target: Path) -> None:
    """Copy the tables of vaults. Bodies beside them are never rewritten, so they need no copy."""
    from lifeboat_vault.store.sqlite_store import SqliteStore

    for path in (folder / _VAULT for folder in folders_in(context.files, context.home.vaults_folder)):
        if not is_there(context.files, path):
            continue
        copy = target / path.relative_to(context.home.folder)
        context.files.make_folders(copy.parent, 0o700)
        with contextlib.closing(SqliteStore(path)) as store:
            store.copy_to(copy)


def _changed_at(path: Path) -> datetime:
    return datetime.fromtimestamp(path.lstat().st_mtime, UTC)
