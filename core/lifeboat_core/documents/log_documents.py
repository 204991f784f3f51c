"""The JSON of `lifeboat log`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class Entry(msgspec.Struct, frozen=True):
    """One thing that was done."""

    time: str
    """newest first"""
    agent: str = ""
    name: str = ""
    """whose"""
    kind: str = ""
    """`capture`, `restore`, `undo`, `import`, `adopt`, `rotate`, `purge`, `thin`, `held`, `accepted`, `pin`, `verified`
    and others"""
    text: str = ""
    """description for people"""
    sequence: int | None = None
    """the sequence that it made or concerns, or null"""
    receipt: str | None = None
    """for a restore: name of its receipt, otherwise null"""
    details: JsonObject = {}
    """numbers and hashes"""


class Log(msgspec.Struct, frozen=True):
    """The document of `log`."""

    entries: tuple[Entry, ...] = ()
