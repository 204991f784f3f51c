"""Reading a file that others may be writing: either whole, or not at all."""

from __future__ import annotations

import os
import stat
import time
from typing import NamedTuple

from lifeboat_alf.seams.file_operations import FileOperations, StrPath
from lifeboat_alf.states import entry_metas
from lifeboat_core.capture.scan_cache import StatKey

TRIES = 3
PAUSE_SECONDS = 0.005
TICKS_NS = 20_000_000
"""Nanoseconds that are surely more than a tick."""


class FileContent(NamedTuple):
    """The bytes of a file and the stat they belong to. `is_share`: only what is one agent's of a file of several."""

    data: bytes
    key: StatKey
    is_share: bool = False


class OverLimit(Exception):
    """The file is larger than what is read."""


class Unstable(Exception):
    """The file changed during every try."""


def read_file(files: FileOperations, path: StrPath, limit: int) -> FileContent:
    """The bytes of a regular file, at most `limit`, that did not change while they were read.

    An append-only log (`.jsonl`) that keeps growing is taken up to its last whole line. Raises OverLimit, Unstable,
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
    """Whether a write at this very moment could leave the stat as it is: file systems count time in ticks, so a second
    write within one tick shows in no stat."""
    return abs(time.time_ns() - key.ctime_ns) < TICKS_NS


def _is_still(files: FileOperations, path: StrPath, limit: int, data: bytes, key: StatKey) -> bool:
    """Whether a second look, a moment later, finds the same bytes under the same stat. While it waits all other fresh
    files grow old: in all a capture waits no longer than that takes, however many there are."""
    time.sleep(PAUSE_SECONDS)
    again, before, after = _read_once(files, path, limit)
    return before == after == key and again == data


def _read_once(files: FileOperations, path: StrPath, limit: int) -> tuple[bytes, StatKey, StatKey]:
    """One byte more than the file says it has is read, to see it grow; never all that somebody may go on writing."""
    descriptor = files.open_regular(path)
    with os.fdopen(descriptor, "rb") as stream:
        before = key_of(os.fstat(descriptor))
        if before.size > limit:
            raise OverLimit(os.fspath(path))
        data = stream.read(before.size + 1)
        return data, before, key_of(os.fstat(descriptor))


def key_of(found: os.stat_result) -> StatKey:
    return StatKey(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode)


def file_meta(key: StatKey, name_hex: str | None) -> dict[str, object]:
    """What the bytes of a file do not say (see `lifeboat_alf.states.entry_metas`)."""
    meta: dict[str, object] = {"mtime_ns": str(key.mtime_ns)}
    if key.mode & stat.S_IXUSR:
        meta["executable"] = True
    if not key.mode & (stat.S_IRWXG | stat.S_IRWXO):
        meta["private"] = True
    if name_hex is not None:
        meta["name_hex"] = name_hex
    return _with_mode(meta, key.mode)


def link_meta(files: FileOperations, path: StrPath, name_hex: str | None) -> dict[str, object]:
    """A link is its target as text, never what it leads to. Raises OSError."""
    target = files.read_link(path)
    meta: dict[str, object] = {"type": "link", "target": os.fsencode(target).decode(errors="replace")}
    if os.fsencode(target).decode(errors="replace") != target:
        meta["target_hex"] = os.fsencode(target).hex()
    if name_hex is not None:
        meta["name_hex"] = name_hex
    return meta


def folder_meta(mode: int, name_hex: str | None) -> dict[str, object]:
    """A folder; its time is not kept, every visitor changes it."""
    meta: dict[str, object] = {"type": "folder"} if name_hex is None else {"type": "folder", "name_hex": name_hex}
    return _with_mode(meta, mode)


def has_usual_rights(mode: int) -> bool:
    """Whether a folder has the rights that one is made with, so that it needs no entry while something is in it."""
    return os.name == "nt" or mode & 0o777 == entry_metas.mode_of({"type": "folder"})


def _with_mode(meta: dict[str, object], mode: int) -> dict[str, object]:
    """Windows has no such rights: what it says of them would make a file writable for everyone elsewhere."""
    return meta if os.name == "nt" else entry_metas.with_mode(meta, mode)
