"""What the daemon watches of an agent: plain data, made by a worker, which knows the runtime, and used by the daemon,
which does not."""

from __future__ import annotations

import msgspec


class PlannedFolder(msgspec.Struct, frozen=True):
    """One folder. `folder` is absolute and real (no links in it). `recursive`: with everything below it. `only`: globs
    of `fnmatch` (their `*` crosses `/`) for the names, relative to `folder`, that matter; None for all. `ignored`:
    folders (ending with `/`) and files, relative, that are never captured: what happens in them is no change. `noise`:
    globs of names, whatever folder they are in, that come and go and are never captured."""

    folder: str
    recursive: bool = True
    only: tuple[str, ...] | None = None
    ignored: tuple[str, ...] = ()
    noise: tuple[str, ...] = ()


class WatchPlan(msgspec.Struct, frozen=True):
    """Everything to watch of one agent. The first one is its workspace."""

    folders: tuple[PlannedFolder, ...]
