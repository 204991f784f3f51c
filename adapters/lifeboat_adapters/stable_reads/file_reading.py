"""Read a file that other programs may be writing: completely, or not at all."""

from __future__ import annotations

import os
import stat
import time
from typing import NamedTuple

from lifeboat_alf.seams.file_operations import FileOperations, StrPath
from lifeboat_alf.states import entry_metas

TRIES = 3
PAUSE_SECONDS = 0.005
TICKS_NS = 20_000_000
"""More nanoseconds than a tick of any file system's clock."""


class StatKey(NamedTuple):
    """The stat values that must be equal for a file to be unchanged. `mode` is included because it is part of
    the meta."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int


class FileContent(NamedTuple):
    """The bytes of a file and the stat they belong to. `is_share`: only this agent's part of a file of several
    agents."""

    data: bytes
    key: StatKey
    is_share: bool = False


class OverLimit(Exception):
    """The file is larger than the limit."""


class Unstable(Exception):
    """The file changed during every attempt."""


def read_file(files: FileOperations, path: StrPath, limit: int) -> FileContent:
    """Return the bytes of a regular file, at most `limit`, that did not change while they were read.

    An append-only log (`.jsonl`) that keeps growing is read up to its last complete line. Raises OverLimit, Unstable,
    OSError.
    """
    for _ in range(TRIES):
        data, before, after = _read_once(files, path, limit)
        if before == after and len(data) == before.size:
            if not _is_fresh(after) or _is_still(files, path, limit, data, after):
                return FileContent(data, after)
            continue
        grown = os.fspath(path).endswith(".jsonl") and before.inode == after.inode and after.size >= before.size
        if grown and len(data) >= before.size:
            return FileContent(data[: data.rfind(b"\n", 0, before.size) + 1], before)
    raise Unstable(os.fspath(path))


def _is_fresh(key: StatKey) -> bool:
    """Return whether a write at this moment could leave the stat unchanged: file systems count time in ticks."""
    return abs(time.time_ns() - key.ctime_ns) < TICKS_NS


def _is_still(files: FileOperations, path: StrPath, limit: int, data: bytes, key: StatKey) -> bool:
    """Return whether a second read a moment later finds the same bytes and stat. Other fresh files age during that
    wait, so a capture waits about once, however many there are."""
    time.sleep(PAUSE_SECONDS)
    again, before, after = _read_once(files, path, limit)
    return before == after == key and again == data


def _read_once(files: FileOperations, path: StrPath, limit: int) -> tuple[bytes, StatKey, StatKey]:
    """Read one byte more than the size, to notice growth, but not everything that another program goes on writing."""
    descriptor = files.open_regular(path)
    with os.fdopen(descriptor, "rb") as stream:
        before = stat_key_of(os.fstat(descriptor))
        if before.size > limit:
            raise OverLimit(os.fspath(path))
        data = stream.read(before.size + 1)
        return data, before, stat_key_of(os.fstat(descriptor))


def stat_key_of(found: os.stat_result) -> StatKey:
    """Return what changes when a file is written."""
    return StatKey(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode)


def file_meta(key: StatKey, name_hex: str | None) -> dict[str, object]:
    """Return what the bytes of a file do not say (see `lifeboat_alf.states.entry_metas`)."""
    meta: dict[str, object] = {"mtime_ns": str(key.mtime_ns)}
    if key.mode & stat.S_IXUSR:
        meta["executable"] = True
    if not key.mode & (stat.S_IRWXG | stat.S_IRWXO):
        meta["private"] = True
    if name_hex is not None:
        meta["name_hex"] = name_hex
    return _with_mode(meta, key.mode)


def link_meta(files: FileOperations, path: StrPath, name_hex: str | None) -> dict[str, object]:
    """Return the meta of a link: its target as text, never the contents of the target. Raises OSError."""
    target = files.read_link(path)
    meta: dict[str, object] = {"type": "link", "target": os.fsencode(target).decode(errors="replace")}
    if os.fsencode(target).decode(errors="replace") != target:
        meta["target_hex"] = os.fsencode(target).hex()
    if name_hex is not None:
        meta["name_hex"] = name_hex
    return meta


def folder_meta(mode: int, name_hex: str | None) -> dict[str, object]:
    """Return the meta of a folder. Its time is not kept, because it changes whenever a program lists or touches it."""
    meta: dict[str, object] = {"type": "folder"} if name_hex is None else {"type": "folder", "name_hex": name_hex}
    return _with_mode(meta, mode)


def has_usual_rights(mode: int) -> bool:
    """Return whether a folder has default rights, so that it needs no entry while something is in it."""
    return os.name == "nt" or mode & 0o777 == entry_metas.mode_of({"type": "folder"})


def _with_mode(meta: dict[str, object], mode: int) -> dict[str, object]:
    """Add the mode, except on Windows, where it would make a file writable for everyone after a restore elsewhere."""
    return meta if os.name == "nt" else entry_metas.with_mode(meta, mode)
