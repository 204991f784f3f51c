"""The JSON of `lifeboat sync`, and the capture in the documents of other commands."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class Memories(msgspec.Struct, frozen=True):
    """The number of memories that a capture changed."""

    created: int = 0
    updated: int = 0
    deleted: int = 0
    """memories"""


class RawFiles(msgspec.Struct, frozen=True):
    """The number of files that a capture changed."""

    put: int = 0
    patched: int = 0
    removed: int = 0
    """files"""


class Pushed(msgspec.Struct, frozen=True):
    """The push to one remote."""

    name: str
    optional: bool = False
    """a second copy"""
    state: str = "ok"
    """`ok`; `held`: it stays at the state before the removal; `waiting`: it is tried again; `fenced`, `error`: somebody
    has to do something"""
    sequence: int | None = None
    """the newest that it has now, or null"""
    bytes: int = 0
    """what was sent"""
    message: str | None = None
    code: str | None = None
    fix: str | None = None
    """why it is not `ok`, and the command that helps, or null"""


class Capture(msgspec.Struct, frozen=True):
    """What was captured of one agent, and pushed."""

    id: str
    name: str
    """the agent"""
    state: str = "ok"
    """`ok`, `held` or `error`"""
    code: str | None = None
    fix: str | None = None
    """of one that was not captured: the error and the command that helps, see [Errors](errors.md)"""
    outcome: str = "captured"
    """`captured`, `unchanged` or `root_missing`"""
    sequence: int | None = None
    """the newest sequence"""
    changed: bool = False
    """whether this capture made it"""
    records: Memories = Memories()
    raw: RawFiles = RawFiles()
    delta_bytes: int = 0
    """what the vault grew by"""
    unread: dict[str, str] = {}
    unread_files: int = 0
    """files and databases that could not be read, with the reason, and the number of the files that stay as they were
    captured last; with one of them, or one of the next two rows, or over a limit, the exit status is 1"""
    unstable: dict[str, str] = {}
    """files that changed while they were read: their last version stays"""
    waiting: dict[str, str] = {}
    """files that may hold secrets and do not parse: their last version stays"""
    left_out: dict[str, str] = {}
    """files that are not kept, or not as they are now, with the reason"""
    over_limit: tuple[str, ...] = ()
    """those of them that stay out until you raise a limit, or let them in after a purge"""
    due_in: float | None = None
    """in how many seconds the first of the others may be captured, or null"""
    looks_like_secret: JsonObject = {}
    """files that hold what looks like a secret: of which kind, on which line"""
    kept_out: dict[str, int] = {}
    """files and databases in which lies what was purged, and in how many places: it is left out of every capture"""
    purged_again: dict[str, int] = {}
    """those in which a purged value came back in other words, and in how many places: it is captured, with
    `purge.again` set to `notice`"""
    held: JsonObject | None = None
    """a removal that looks like an accident, or null"""
    sealed: tuple[str, ...] = ()
    """partitions whose period ended"""
    warnings: tuple[str, ...] = ()
    """what to know"""
    remotes: tuple[Pushed, ...] = ()


class Sync(msgspec.Struct, frozen=True):
    """The document of `sync`."""

    agents: tuple[Capture, ...] = ()
