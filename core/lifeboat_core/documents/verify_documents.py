"""The JSON of `lifeboat verify`."""

from __future__ import annotations

import msgspec


class Verified(msgspec.Struct, frozen=True):
    """The document of `verify`."""

    agent: str
    sequence: int
    """what was tried out"""
    files: int = 0
    """how many were written and compared"""
    mismatches: tuple[object, ...] = ()
    """what was not as it should be"""
    healed: tuple[object, ...] = ()
    """which damaged bytes and rows were read again, and from where"""
    rows: int = 0
    """how many rows of databases were made and compared"""
    compared_live: int = 0
    """how many were compared with the workspace too"""
    absent: tuple[object, ...] = ()
    """large files whose bytes are not kept"""
    damaged: tuple[object, ...] = ()
    """databases that SQLite finds damaged, and that are the same in the workspace"""
    not_captured: tuple[str, ...] = ()
    over_limit: int = 0
    unread: int = 0
    """what the last capture left out of this sequence, where it is the newest; how many of these files stay out until
    you raise a limit; how many could not be read. With one of the last two the exit status is 1"""
    signed: bool = True
    whole: bool = False
    """whether the sequence is signed; whether every kept sequence was checked"""
    remote: str | None = None
    """with `--remote`: which one the files came from"""
    mended: tuple[object, ...] = ()
    """with `--remote`: what was wrong there until it got a new snapshot"""
