"""What the last capture saw of a file, as the scan and the stat cache share it."""

from __future__ import annotations

from typing import NamedTuple

from lifeboat_adapters.stable_reads.file_reading import StatKey

OURS = ".lifeboat-"
"""Prefix of the staging and undo folders that a restore keeps inside a workspace. They are never captured."""


class KnownFile(NamedTuple):
    """What the last capture saw under a native name."""

    path: str
    key: StatKey
    racy: bool
