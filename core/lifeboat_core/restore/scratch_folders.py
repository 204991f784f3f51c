"""Create folders for temporary data of drills, exports and imports in the home, not in the system's temporary folder,
which other users can read."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import psutil

from lifeboat_core.agents.locks import REFUSALS
from lifeboat_core.home.context import Context
from lifeboat_core.restore import journal_moves

_LITTLE_ROOM = 64 << 20
"""Bytes. With less free space, a disk counts as full if the temporary folder has more."""
_LEFT_BEHIND_AFTER = timedelta(days=1)
_STAMP = "%Y%m%dT%H%M%S"


@contextmanager
def make_scratch_folder(context: Context, purpose: str, *, becomes_history: bool = False) -> Iterator[Path]:
    """Create an empty 0700 folder that is removed afterwards, and remove those that killed processes left behind.

    It is in the home, or in the system's temporary folder if the home is not writable or its disk is full. With
    `becomes_history` it is always in a writable home, because a folder cannot be moved from another disk. Raises
    OSError.
    """
    stays = becomes_history and not context.home.is_read_only
    folder = _new_in_home(context, purpose, stays=stays) if stays or _has_room(context) else None
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="lifeboat-") as elsewhere:
            yield Path(elsewhere)
        return
    try:
        yield folder
    finally:
        journal_moves.remove_own_tree(context.files, folder)


def _new_in_home(context: Context, purpose: str, *, stays: bool) -> Path | None:
    """Create a new folder in the home; return None if the home is not writable, unless it `stays`. Raises OSError."""
    parent = _parent(context)
    folder = parent / f"{context.clock.now():{_STAMP}}-{purpose}-{secrets.token_hex(4)}-{os.getpid()}"
    try:
        context.files.make_folders(parent, 0o700)
        remove_left_scratch(context)
        context.files.make_folders(folder, 0o700)
    except OSError as error:
        if stays or error.errno not in REFUSALS:
            raise
        return None
    return folder


def _has_room(context: Context) -> bool:
    if context.home.is_read_only:
        return False
    free = context.files.free_space(context.home.folder)
    return free >= _LITTLE_ROOM or free >= context.files.free_space(Path(tempfile.gettempdir()))


def remove_left_scratch(context: Context) -> None:
    """Remove what killed processes left behind, mostly complete histories. Raises OSError."""
    parent, limit = _parent(context), f"{context.clock.now() - _LEFT_BEHIND_AFTER:{_STAMP}}"
    # A folder may disappear while it is removed, because another process removes it too.
    for entry in context.files.scan(parent) if parent.is_dir() else ():
        if entry.name < limit or not _is_used(entry.name):
            with contextlib.suppress(FileNotFoundError):
                journal_moves.remove_own_tree(context.files, Path(entry.path))


def _parent(context: Context) -> Path:
    return context.home.restore_folder / "tmp"


def _is_used(name: str) -> bool:
    """Return whether the process that created a scratch folder still runs, or another one with its number."""
    pid = name.rpartition("-")[2]
    return pid.isdecimal() and psutil.pid_exists(int(pid))
