"""The last status that a dashboard showed, so that the next one shows something before the first answer.

It is in `state/dashboard.json` of the home, and is a cache: that it is missing, damaged or cannot be written is no
failure.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import FileOperations, write_atomic
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.state import state_cache

_FILE = "dashboard.json"
_FORMAT = 1


class _KeptStatus(msgspec.Struct):
    format: int
    status: JsonObject


def save_status(home: Home, files: FileOperations, document: JsonObject) -> None:
    """Keep a status document for the next time. Never raises; makes no home."""
    kept = _encoded(document)
    if kept is not None and home.state_folder.is_dir():
        with contextlib.suppress(OSError):
            write_atomic(files, _path(home), kept)


def load_status(home: Home, files: FileOperations) -> JsonObject | None:
    """Return the last stored status, None if it cannot be used. Never raises."""
    kept = state_cache.read_cache(files, _path(home), _KeptStatus, lambda found: found.format == _FORMAT)
    return None if kept is None else kept.status


def forget_status(home: Home, files: FileOperations) -> None:
    """Remove the stored status: it may name an agent that was purged. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        files.remove(_path(home))


def _encoded(document: JsonObject) -> bytes | None:
    try:
        data = msgspec.json.encode(_KeptStatus(_FORMAT, document))
    except (TypeError, ValueError, RecursionError):
        return None
    return data if len(data) <= state_cache.LARGEST else None


def _path(home: Home) -> Path:
    return home.state_folder / _FILE
