"""What the watcher says: that something happened to an agent's files, and how well it would notice."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

CHANGED = "changed"
"""Something that matters changed."""
RESCAN = "rescan"
"""Changes may have gone unnoticed: only a scan can tell."""
GONE = "gone"
"""The workspace is not there."""


class WatchSignal(NamedTuple):
    """`agent` is an id, `kind` one of CHANGED, RESCAN and GONE."""

    agent: str
    kind: str


class WatchCoverage(msgspec.Struct, frozen=True):
    """How well an agent is watched. `mode`: `events` (every change is noticed), `partial` (some folders are not
    watched), `polling` (the file system tells nothing: a scan a minute), `none`. `folders` are those to watch,
    `watches` those that are watched; `reason` says why it is not `events`. `is_missing`: the folder is not there."""

    mode: str
    folders: int = 0
    watches: int = 0
    reason: str | None = None
    is_missing: bool = False


EVENTS, PARTIAL, POLLING, NONE = "events", "partial", "polling", "none"
