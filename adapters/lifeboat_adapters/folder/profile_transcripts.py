"""Transcripts of a profile: files of lines, read as rows on request, and written where they are missing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import msgspec

from lifeboat_adapters.contract import DatabaseSupport, Installation, RuntimeRow
from lifeboat_adapters.database_reading import row_key_text
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.folder.folder_profile import FolderProfile
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite, WriteOrder
from lifeboat_adapters.small_files import read_small, sort_newest_first
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason

LARGEST = 256 << 20
"""Bytes of one transcript."""

_TIME = re.compile(rb'(?<!\\)"timestamp":"(\d{4}-[^"\\]{1,40})"')
_LINE, _BYTES = "line", "bytes"
_MODE = 0o600


class ProfileTranscripts(DatabaseSupport):
    """The conversations that a profile lists as `transcripts`."""

    def __init__(self, profile: FolderProfile) -> None:
        self._profile = profile
        self._rows = f"{profile.raw_home}db/transcripts/"

    def files(self, installation: Installation) -> list[Path]:
        return list_transcripts(self._profile, installation.workspace)

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        # The newest first, as the contract asks.
        workspace = installation.workspace
        found = list_transcripts(self._profile, workspace, _refuse_unreadable) if transcripts else []
        for path in sort_newest_first(found):
            name = path.relative_to(workspace).as_posix()
            try:
                data = read_small(path, workspace, limit=LARGEST)
            except OSError as error:
                raise RuntimeDatabaseError(f"{path}: {refusal_reason(error)}") from error
            # The last line of a running session may be half-written.
            for number, line in enumerate(data.split(b"\n")[:-1]):
                yield RuntimeRow(self._rows + name, row_key_text((number,)), _row_of(line), name)

    def unreadable_rows(self, installation: Installation, path: str, data: bytes) -> str:
        # Runtimes delete old transcripts by themselves, but never the folder of all of them.
        if not path.startswith(self._rows):
            return ""
        folder = installation.workspace / path.removeprefix(self._rows).split("/")[0]
        return "" if folder.is_dir() else f"{folder} does not exist"

    def plan_writes(self, installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        return list(self._plan(installation.workspace, order)) if order.choice.sessions else []

    def map_name(self, name: str, order: WriteOrder) -> str:
        """Return the name of a transcript after the projects of an order moved."""
        return name

    def map_data(self, data: bytes, order: WriteOrder) -> bytes:
        """Return a transcript after the projects of an order moved."""
        return data

    def _plan(self, workspace: Path, order: WriteOrder) -> Iterator[DatabaseWrite]:
        """Plan the transcripts of a state that are missing, the oldest first, because a runtime continues the session
        whose file is the newest. An existing one stays as it is."""
        for path in sorted((path for path in order.tables if path.startswith(self._rows)), key=partial(_last, order)):
            target = workspace / self.map_name(path.removeprefix(self._rows), order)
            lines = order.tables[path].splitlines()
            exists = target.exists()
            outcome = ItemOutcome.DEDUPLICATED if exists else ItemOutcome.ACCEPTED
            fates = tuple(ItemFate("row", f"{path}#{number}", outcome) for number in range(1, len(lines) + 1))
            yield DatabaseWrite(target, not exists, self._writer(lines, order), fates)

    def _writer(self, lines: list[bytes], order: WriteOrder) -> Callable[[Path], None]:
        return partial(_write, self.map_data(b"".join(_line_of(line) + b"\n" for line in lines), order))


def list_transcripts(
    profile: FolderProfile, workspace: Path, refuse: Callable[[OSError], None] | None = None
) -> list[Path]:
    """Return the transcripts in a workspace, sorted by name. `refuse` is called for a folder that cannot be listed."""
    found: set[Path] = set()
    for glob in profile.transcripts.globs:
        for folder, _, names in os.walk(workspace / glob.split("/")[0], onerror=refuse):
            above = Path(folder).relative_to(workspace).as_posix()
            found.update(Path(folder, name) for name in names if fnmatchcase(f"{above}/{name}", glob))
    return sorted(found)


def _refuse_unreadable(error: OSError) -> None:
    """Raise RuntimeDatabaseError: transcripts in a folder that cannot be listed are not deleted ones."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise RuntimeDatabaseError(f"{error.filename}: {refusal_reason(error)}") from error


def _last(order: WriteOrder, path: str) -> tuple[bytes, str]:
    """Return when the last line of a transcript was written, as text, and its path."""
    return max(_TIME.findall(order.tables[path]), default=b""), path


def _write(data: bytes, target: Path) -> None:
    target.touch(_MODE)
    target.write_bytes(data)


def _row_of(line: bytes) -> JsonObject:
    """Return a line as values. A line that would not come back with the same bytes is kept as text, or in
    hexadecimal."""
    try:
        text = line.decode()
        value = json_codec.decode_json(line)
    except UnicodeDecodeError:
        return {_BYTES: line.hex()}
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {_LINE: text}
    is_plain = isinstance(value, dict) and value.keys() not in ({_LINE}, {_BYTES})
    return value if is_plain and json_codec.encode_json(value) == line else {_LINE: text}


def _line_of(row: bytes) -> bytes:
    value = json_codec.decode_json(row)
    if value.keys() == {_BYTES}:
        return bytes.fromhex(value[_BYTES])
    return str(value[_LINE]).encode() if value.keys() == {_LINE} else row
