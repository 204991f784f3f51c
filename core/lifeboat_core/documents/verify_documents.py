"""The JSON of `lifeboat verify`."""

from __future__ import annotations

import msgspec


class Verified(msgspec.Struct, frozen=True):
    """The document of `verify`."""

    agent: str
    sequence: int
    """the verified sequence"""
    files: int = 0
    """number of files and memories that were written and compared"""
    mismatches: tuple[object, ...] = ()
    """mismatches"""
    healed: tuple[object, ...] = ()
    """repaired bytes and rows, with their source"""
    rows: int = 0
    """number of compared database rows"""
    compared_live: int = 0
    """number of files that were also compared with the workspace"""
    absent: tuple[object, ...] = ()
    """large files without captured content"""
    damaged: tuple[object, ...] = ()
    """databases with damage reported by SQLite that are the same in the workspace"""
    not_captured: tuple[str, ...] = ()
    over_limit: int = 0
    unread: int = 0
    """files missing from the newest sequence; how many of them wait for a higher limit; how many could not be read.
    With one of the last two the exit status is 1"""
    signed: bool = True
    whole: bool = False
    """whether the sequence is signed; whether every sequence was checked"""
    remote: str | None = None
    """with `--remote`: the remote"""
    mended: tuple[object, ...] = ()
    """with `--remote`: damage that a new snapshot repaired"""
