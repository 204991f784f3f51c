"""Read transcripts that are stored as files: those of 2026.2, those that a later release has not imported, and those
that it archived (cold storage).

Each becomes a file of rows in an archive; the index of the sessions is another one.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import RuntimeRow
from lifeboat_adapters.database_reading import row_key_text
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.guarded_files import GuardedFolders
from lifeboat_adapters.openclaw import openclaw_paths
from lifeboat_adapters.small_files import read_small, sort_newest_first
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

INDEX = "sessions.json"
LARGEST = 256 * 1024 * 1024
"""Bytes of one transcript, decompressed."""

_INDEX_ROWS = f"{openclaw_paths.SESSION_FILES}sessions.jsonl"
_PACKED = ".zst"


def session_folder_of(state_dir: Path, agent: str) -> Path:
    """Return the folder with the transcripts of an agent."""
    return state_dir / "agents" / agent / "sessions"


def list_session_files(state_dir: Path, agent: str) -> list[Path]:
    """Return the existing transcripts and the index, sorted."""
    folder = session_folder_of(state_dir, agent)
    index = [folder / INDEX] if os.path.lexists(folder / INDEX) else []
    found = [*folder.glob("*.jsonl"), *folder.glob(f"cold/*.jsonl{_PACKED}"), *index]
    return sorted(
        path for path in found if not path.is_dir()
    )  # anything but a regular file is reported when it is read


def read_session_rows(state_dir: Path, agent: str, grounds: GuardedFolders) -> Iterator[RuntimeRow]:
    """Yield the entry of each session in the index with each line of its transcript, the newest transcript first, then
    entries without a transcript. Raises RuntimeDatabaseError for a file that cannot be read completely now."""
    folder = session_folder_of(state_dir, agent)
    files = list_session_files(state_dir, agent)
    entries: defaultdict[str, list[RuntimeRow]] = defaultdict(list)
    path = folder / INDEX
    try:
        for number, values in enumerate(_of_index(_read(path, grounds)) if path in files else ()):
            session = _session_of(values)
            entries[session].append(RuntimeRow(_INDEX_ROWS, row_key_text((number,)), values, session))
        for path in sort_newest_first(each for each in files if each.name != INDEX):
            name = path.relative_to(folder).as_posix().removesuffix(_PACKED)
            session = name.removesuffix(".jsonl")
            yield from entries.pop(session, ())
            for number, values in enumerate(_of_transcript(_read(path, grounds))):
                yield RuntimeRow(f"{openclaw_paths.SESSION_FILES}{name}", row_key_text((number,)), values, session)
    except (OSError, ValueError, RecursionError, zstd.ZstdError) as error:
        raise RuntimeDatabaseError(f"{path}: {refusal_reason(error)}") from error
    for found in entries.values():
        yield from found


def find_session_folder_problem(state_dir: Path, agent: str) -> str:
    """Return why a missing transcript does not count as deleted, "" when the folder is there."""
    folder = session_folder_of(state_dir, agent)
    return "" if folder.is_dir() else f"{folder} does not exist"


def _of_transcript(data: bytes) -> Iterator[JsonObject]:
    """Yield the events of a transcript. A line that is no event is kept as text."""
    for line in data.decode("utf-8", "replace").split("\n"):
        if line.strip():
            value = _parsed(line)
            yield value if isinstance(value, dict) else {"line": line}


def _of_index(data: bytes) -> list[JsonObject]:
    """Yield the entry of each session by its key. Raises ValueError for a half-written index."""
    index = json.loads(data)
    if not isinstance(index, dict):
        raise ValueError("the line is not a JSON object")
    return [{"session_key": key, "entry": entry} for key, entry in sorted(index.items())]


def _session_of(row: JsonObject) -> str:
    """Return the id of the session of an index entry, its key when the entry does not name one."""
    entry = row["entry"]
    return str((entry.get("sessionId") if isinstance(entry, dict) else None) or row["session_key"])


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _read(path: Path, grounds: GuardedFolders) -> bytes:
    """Return the bytes of a file. Raises OSError for anything but a regular file of at most `LARGEST` bytes, ZstdError
    for one that does not decompress."""
    data = read_small(path, grounds, limit=LARGEST)
    if path.suffix == _PACKED:
        data = zstd.ZstdDecompressor().decompress(data, max_length=LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(f"the file is larger than the limit of {LARGEST >> 20} MB")
    return data
