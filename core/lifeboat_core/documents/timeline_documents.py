"""`lifeboat timeline`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class Entry(msgspec.Struct, frozen=True):
    """One kept sequence."""

    sequence: int
    created_at: str
    kind: str = "capture"
    changes: JsonObject = {}
    files: int = 0
    records_changed: int = 0
    trigger: str | None = None
    verified: tuple[str, ...] = ()
    on: tuple[str, ...] = ()
    bytes: int | None = None
    label: str | None = None
    pins: tuple[str, ...] = ()
    signed: bool = False


class Activity(msgspec.Struct, frozen=True):
    """How much happened when: a count an hour or a day, the last one is now."""

    unit: str = "hour"
    start: str | None = msgspec.field(default=None, name="from")
    counts: tuple[int, ...] = ()


class Aside(msgspec.Struct, frozen=True):
    """A history that gave way; `name` is what `restore --from` calls it."""

    name: str = msgspec.field(name="from")
    since: str | None = None
    until: str | None = None


class Timeline(msgspec.Struct, frozen=True):
    """Newest first."""

    agent: str = ""
    total: int = 0
    entries: tuple[Entry, ...] = ()
    activity: Activity = Activity()
    set_aside: tuple[Aside, ...] = ()
