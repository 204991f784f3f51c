"""Small files of `state/` that the daemon can do without.

They are read with caution: after a crash, a restored backup or an edit they may contain anything. A cache that cannot
be read counts as missing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from lifeboat_alf.seams.file_operations import FileOperations

T = TypeVar("T")

LARGEST = 16 * 1024 * 1024
"""Bytes. These files are smaller; a larger one was written by another program."""


def read_cache(
    files: FileOperations, path: Path, kind: type[T], is_sane: Callable[[T], bool] = lambda _: True
) -> T | None:
    """Return what a cache says, None if it cannot be used. `is_sane` may refuse it, also by a ValueError, a TypeError
    or an OverflowError. Never raises."""
    try:
        found: T = msgspec.json.decode(_bytes(files, path), type=kind)
        return found if is_sane(found) else None
    except (OSError, ValueError, TypeError, OverflowError, RecursionError):  # errors of msgspec are ValueErrors
        return None


def _bytes(files: FileOperations, path: Path) -> bytes:
    """Raises OSError, ValueError for a file that is too large."""
    with os.fdopen(files.open_regular(path), "rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError("the file is too large for a cache")
    return data
