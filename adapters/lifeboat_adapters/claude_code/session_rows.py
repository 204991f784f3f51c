"""Transcripts of Claude Code: files of lines, read as rows on request, and put back where they are missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from lifeboat_adapters.claude_code.path_spelling import map_slug, replace_path
from lifeboat_adapters.contract import RuntimeRow
from lifeboat_adapters.database_reading import row_key_text
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite, WriteOrder
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason

PROJECTS, MEMORY = "projects", "memory"
ROWS = "raw/claude-code-home/db/transcripts/"
LARGEST = 256 << 20
"""Bytes of one transcript."""

CWD = b'"cwd":'
"""The key of a line with the folder in which the session ran."""

_TIME = re.compile(rb'(?<!\\)"timestamp":"(\d{4}-[^"\\]{1,40})"')
_LINE = "line"
_MODE = 0o600


def list_transcripts(workspace: Path) -> list[Path]:
    """Return the transcripts of all projects, sorted."""
    return sorted(path for path in (workspace / PROJECTS).glob("*/*.jsonl") if not path.is_dir())


def find_missing_source(workspace: Path) -> Path | None:
    """Return the folder of all transcripts if it is missing. Claude Code itself deletes old ones."""
    folder = workspace / PROJECTS
    return None if folder.is_dir() else folder


def read_transcripts(workspace: Path) -> Iterator[RuntimeRow]:
    """Yield each line of each transcript. Raises RuntimeDatabaseError."""
    for path in list_transcripts(workspace):
        archived = f"{ROWS}{path.parent.name}/{path.name}"
        try:
            data = read_small(path, workspace, limit=LARGEST)
        except OSError as error:
            raise RuntimeDatabaseError(f"{path}: {refusal_reason(error)}") from error
        # The last line of a running session may be half-written.
        for number, line in enumerate(data.decode("utf-8", "replace").split("\n")[:-1]):
            yield RuntimeRow(archived, row_key_text((number,)), _row_of(line))


def plan_transcript_writes(workspace: Path, order: WriteOrder) -> Iterator[DatabaseWrite]:
    """Plan the transcripts of a state that are missing, the oldest first, because the program continues the session
    whose file is the newest. An existing one stays as it is."""
    if not order.choice.sessions:
        return
    for path in sorted((path for path in order.tables if path.startswith(ROWS)), key=partial(_last_time, order)):
        slug, _, file = path.removeprefix(ROWS).partition("/")
        target = workspace / PROJECTS / _mapped(slug, order) / file
        lines = order.tables[path].splitlines()
        exists = target.exists()
        outcome = ItemOutcome.DEDUPLICATED if exists else ItemOutcome.ACCEPTED
        fates = tuple(ItemFate("row", f"{path}#{number}", outcome) for number in range(1, len(lines) + 1))
        yield DatabaseWrite(target, not exists, _writer(lines, order), fates)


def _last_time(order: WriteOrder, path: str) -> tuple[bytes, str]:
    """Return when the last line of a transcript was written, as text, and its path."""
    return max(_TIME.findall(order.tables[path]), default=b""), path


def _mapped(slug: str, order: WriteOrder) -> str:
    found = (map_slug(slug, old, new) for old, new in order.paths)
    return next((mapped for mapped in found if mapped != slug), slug)


def _writer(lines: list[bytes], order: WriteOrder) -> Callable[[Path], None]:
    data = b"".join(_line_of(line) + b"\n" for line in lines)
    for old, new in order.paths:
        data = replace_path(data, old, new, key=CWD)
    return partial(_write, data)


def _write(data: bytes, target: Path) -> None:
    target.touch(_MODE)
    target.write_bytes(data)


def _row_of(line: str) -> JsonObject:
    """Return a line as values. A line that would not come back with the same bytes is kept as text."""
    try:
        value: Any = json_codec.decode_json(line.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {_LINE: line}
    is_same = isinstance(value, dict) and value.keys() != {_LINE} and json_codec.encode_json(value).decode() == line
    return value if is_same else {_LINE: line}


def _line_of(row: bytes) -> bytes:
    value = json_codec.decode_json(row)
    return str(value[_LINE]).encode("utf-8", "surrogatepass") if value.keys() == {_LINE} else row
