"""What the last capture saw of a file: the words that the scan and its cache share."""

from __future__ import annotations

from typing import NamedTuple


class StatKey(NamedTuple):
    """What has to be equal for a file to count as unchanged; `mode` is compared too, it is part of the meta."""

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
