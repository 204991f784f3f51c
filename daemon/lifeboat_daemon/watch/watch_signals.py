"""The watcher's reports: something happened to an agent's files, and how completely they are watched."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

CHANGED = "changed"
"""A relevant change."""
RESCAN = "rescan"
"""Changes may have been missed, so a scan is needed."""
GONE = "gone"
"""The workspace does not exist."""


class WatchSignal(NamedTuple):
    """A report about an agent. `agent` is an id, `kind` one of CHANGED, RESCAN and GONE."""

    agent: str
    kind: str


class WatchCoverage(msgspec.Struct, frozen=True):
    """How completely an agent is watched. `mode`: `events` (every change is noticed), `partial` (some directories are
    not watched), `polling` (the file system reports nothing; a scan every minute), `none`. `folders` counts the
    directories to watch, `watches` the watched ones; `reason` explains any mode but `events`. `is_missing`: the
    workspace does not exist."""

    mode: str
    folders: int = 0
    watches: int = 0
    reason: str | None = None
    is_missing: bool = False


EVENTS, PARTIAL, POLLING, NONE = "events", "partial", "polling", "none"
