"""`lifeboat log`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class Entry(msgspec.Struct, frozen=True):
    """One thing that was done."""

    time: str
    kind: str
    text: str = ""
    agent: str = ""
    name: str = ""
    sequence: int | None = None
    receipt: str | None = None
    details: JsonObject = {}


class Log(msgspec.Struct, frozen=True):
    entries: tuple[Entry, ...] = ()
