"""What the last capture saw of a file, as the scan and the stat cache share it."""

from __future__ import annotations

from typing import NamedTuple


class StatKey(NamedTuple):
    """The stat values that must be equal for a file to be unchanged. `mode` is included because it is part of
    the meta."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int


class KnownFile(NamedTuple):
    """What the last capture saw under a native name."""

    path: str
    key: StatKey
    racy: bool
