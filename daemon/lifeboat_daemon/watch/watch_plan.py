"""What the daemon watches of an agent: plain data from a worker. The worker knows the runtime; the daemon does not."""

from __future__ import annotations

import msgspec


class PlannedFolder(msgspec.Struct, frozen=True):
    """One directory. `folder` is absolute and contains no links. `recursive`: with everything below it. `only`: globs
    of `fnmatch` (their `*` matches `/` too) for the relevant names, relative to `folder`; None for all. `ignored`:
    relative directories (ending with `/`) and files that are never captured; events in them are no changes. `noise`:
    globs of names in any directory that come and go and are never captured."""

    folder: str
    recursive: bool = True
    only: tuple[str, ...] | None = None
    ignored: tuple[str, ...] = ()
    noise: tuple[str, ...] = ()


class WatchPlan(msgspec.Struct, frozen=True):
    """Everything to watch of one agent. The first entry is its workspace."""

    folders: tuple[PlannedFolder, ...]
