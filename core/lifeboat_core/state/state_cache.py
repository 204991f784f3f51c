"""Small files of `state/` that the daemon can do without: read warily, for anything may stand in them after a crash, a
restored backup or somebody's curiosity, and a cache that cannot be read is as good as none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from lifeboat_alf.seams.file_operations import FileOperations

T = TypeVar("T")

LARGEST = 16 * 1024 * 1024
"""Bytes. None of these files grows that large; one that is did not come from here."""


def read_cache(
    files: FileOperations, path: Path, kind: type[T], is_sane: Callable[[T], bool] = lambda _: True
) -> T | None:
    """What a cache says, None where there is none that can be used. `is_sane` may refuse it, also by a ValueError, a
    TypeError or an OverflowError. Never raises."""
    try:
        found: T = msgspec.json.decode(_bytes(files, path), type=kind)
        return found if is_sane(found) else None
    except (OSError, ValueError, TypeError, OverflowError, RecursionError):  # msgspec's errors are ValueErrors
        return None


def _bytes(files: FileOperations, path: Path) -> bytes:
    """Raises OSError, ValueError for a file that is too large."""
    with os.fdopen(files.open_regular(path), "rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError("it is too large for a cache")
    return data
