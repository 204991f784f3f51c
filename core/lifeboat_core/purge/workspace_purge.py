"""Remove purged lines from live files (`--workspace`), each file atomically and only as it was shown.

Rows of an agent's database belong to the runtime: its own command removes them.
"""

from __future__ import annotations

import contextlib
import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from lifeboat_adapters.contract import Adapter, CaptureRoot
from lifeboat_adapters.database_reading import read_database
from lifeboat_adapters.errors import AdapterError
from lifeboat_adapters.memory_stores import MemoryRows, MemoryStore
from lifeboat_adapters.stable_reads.file_reading import (
    FileContent,
    OverLimit,
    StatKey,
    Unstable,
    read_file,
    stat_key_of,
)
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.purging.unescaped_views import is_binary
from lifeboat_alf.seams.file_operations import FileOperations, write_atomic
from lifeboat_alf.seams.held_folder import FolderReplaced, LinkInPath
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture import ignore_file, root_scan
from lifeboat_core.capture.file_capture import LARGEST
from lifeboat_core.capture.root_scan import FILE
from lifeboat_core.errors import RestoreError
from lifeboat_core.home.context import Context
from lifeboat_core.purge.keep_out import KeepOut, let_in
from lifeboat_core.restore.runtime_file_locks import hold_runtime_locks
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_core.texts.safe_text import name_text
from lifeboat_core.texts.unified_diffs import unified_diff_lines
from lifeboat_vault.vault import Vault


@dataclass(frozen=True, slots=True)
class WorkspaceRemoval:
    """What is removed from one live file: its archive `path`, the number of `spans`, and the `diff` for the user's
    terminal, "" for a binary file. `command` is what the user has to run instead, for a row of the runtime's database
    or a binary file that would be empty. `file` and `key` are the file as it was examined; `files` reaches it without
    following a link."""

    path: str
    spans: int
    diff: str
    command: str | None = None
    file: Path | None = None
    key: StatKey | None = None
    files: FileOperations | None = field(default=None, compare=False, repr=False)


def plan_workspace_purge(
    context: Context, agent: Agent, vault: Vault, planned: KeepOut | None = None
) -> list[WorkspaceRemoval]:
    """Return what in the live workspace is kept out of captures, or would be after a purge. Reads every file; writes
    nothing."""
    keep_out = planned or KeepOut.of(context, vault)
    if not keep_out:
        return []
    return [*_of_files(context, agent, keep_out), *_of_rows(context, agent, keep_out)]


def _of_files(context: Context, agent: Agent, keep_out: KeepOut) -> Iterator[WorkspaceRemoval]:
    for files, path, file in _files(context, agent):
        content = _read(files, file)
        if content is not None:
            made, spans = keep_out.cut(path, content.data)
            if spans and not made and is_binary(content.data):
                yield WorkspaceRemoval(path, spans, "", f"rm {quote_argument(str(file))}")
            elif spans:
                yield WorkspaceRemoval(path, spans, _diff(path, content.data, made), None, file, content.key, files)


def _files(context: Context, agent: Agent) -> Iterator[tuple[FileOperations, str, Path]]:
    """Yield every file that a capture would read, including files that agents share."""
    adapter = context.adapter(agent.runtime)
    try:
        roots = list(adapter.roots(context.installation(agent)))
    except (AdapterError, OSError):
        return
    held = root_scan.HeldRoots(context.files, roots)
    rules = ignore_file.parse_ignore_file(_ignore_text(held, roots[0]))
    for found in root_scan.scan_roots(held, roots, adapter, rules, {}).found.values():
        if found.kind == FILE:
            yield held, found.path, Path(found.real)


def _ignore_text(files: root_scan.HeldRoots, workspace: CaptureRoot) -> str:
    try:
        return files.read_ignore_file(workspace).decode("utf-8", "replace")
    except (OSError, OverLimit, Unstable):
        return ""


def _read(files: FileOperations, file: Path) -> FileContent | None:
    """Read a file; return None if a capture could not read it either."""
    try:
        return read_file(files, file, LARGEST)
    except (OSError, OverLimit, Unstable):
        return None


def _diff(path: str, before: bytes, after: bytes) -> str:
    if b"\0" in before:
        return ""
    old, new = (side.decode("utf-8", "replace").splitlines() for side in (before, after))
    return "\n".join(unified_diff_lines(old, new, name_text(path), name_text(path), context=0))


def _of_rows(context: Context, agent: Agent, keep_out: KeepOut) -> Iterator[WorkspaceRemoval]:
    """Yield rows of the runtime's memory. What cannot be read now is found later."""
    databases = context.adapter(agent.runtime).databases
    with contextlib.suppress(AdapterError, OSError):
        store = databases.memory_store(context.installation(agent)) if databases is not None else None
        if store is not None:
            content = store.columns.index(store.content)
            key = store.columns.index(store.key if store.key in store.columns else store.id)
            for values in _values(store):
                if keep_out.cut_row(store, values) != values:
                    command = f"{agent.runtime} memory clear --key {quote_argument(str(values[key]))}"
                    yield WorkspaceRemoval(store.name, 1, f"-{values[content]}", command)


def _values(store: MemoryStore) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a store. Raises AdapterError."""
    if isinstance(store, MemoryRows):
        return (tuple(row.values.get(name) for name in store.columns) for row in store.rows())
    names = ", ".join(f'"{name}"' for name in store.columns)
    query = f'select {names} from "{store.table}" where {store.where}'
    read = partial(_rows, query=query, parameters=store.parameters)
    return read_database(store.database, read, workspace=store.workspace)


def _rows(opened: sqlite3.Connection, query: str, parameters: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    return iter(opened.execute(query, parameters).fetchall())


def purge_workspace(
    context: Context, agent: Agent, vault: Vault, cuts: list[WorkspaceRemoval], planned: KeepOut | None = None
) -> list[str]:
    """Remove the planned text, each file atomically with its mode and time; return the archive paths that were written.
    A file that changed since is skipped. Raises OSError."""
    keep_out, adapter = planned or KeepOut.of(context, vault), context.adapter(agent.runtime)
    done = [one.path for one in cuts if one.files and one.file and _cut(one.files, adapter, keep_out, one, one.file)]
    let_in(vault, done)  # these files have no purged text any more
    return done


def _cut(files: FileOperations, adapter: Adapter, keep_out: KeepOut, one: WorkspaceRemoval, file: Path) -> bool:
    content = _read(files, file)
    if content is None or content.key != one.key:
        return False
    made, spans = keep_out.cut(one.path, content.data)
    if spans != one.spans:
        return False
    mended = _mended(adapter, one.path, made)
    mode, time = stat.S_IMODE(content.key.mode), content.key.mtime_ns
    locked = adapter.lock_name(one.path.removeprefix(archive_layout.raw_prefix(adapter.runtime)))
    locks = [] if locked is None else [file.with_name(PurePosixPath(locked).name)]
    try:
        with hold_runtime_locks(files, adapter, locks):
            check = partial(_check_key, files, file, one.key)
            check()
            write_atomic(files, file, mended, mode=mode, mtime_ns=time, check=check)
    except (LinkInPath, FolderReplaced, RestoreError, Unstable):
        return False
    return True


def _check_key(files: FileOperations, file: Path, expected: StatKey | None) -> None:
    """Raise Unstable if the file is another one, or another version of it."""
    if _key(files, file) != expected:
        raise Unstable(file)


def _mended(adapter: Adapter, path: str, body: bytes) -> bytes:
    """Return a changed file with valid checksums, which a removal of bytes does not update. A runtime whose files have
    none gets them unchanged."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return body
    said = [section.text for section in adapter.split(path, text) or [] if section.text]
    places = [str(number) for number in range(len(said))]
    made = adapter.rejoin(path, text, places, list(zip(places, said, strict=True)))
    return body if made is None else made.encode()


def _key(files: FileOperations, file: Path) -> StatKey | None:
    try:
        return stat_key_of(files.lstat(file))
    except OSError:
        return None
