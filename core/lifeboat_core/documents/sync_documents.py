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
    """a remote"""
    state: str = "ok"
    """`ok`; `held`: it stays at the state before the removal; `waiting`: retried later; `fenced`, `error`: needs you"""
    sequence: int | None = None
    """its newest sequence, or null"""
    bytes: int = 0
    """bytes sent"""
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
    """if it was not captured: error and command, see [Errors](errors.md)"""
    outcome: str = "captured"
    """`captured`, `unchanged` or `root_missing`"""
    sequence: int | None = None
    """newest sequence"""
    changed: bool = False
    """whether this capture made it"""
    records: Memories = Memories()
    raw: RawFiles = RawFiles()
    delta_bytes: int = 0
    """growth of the vault"""
    unread: dict[str, str] = {}
    unread_files: int = 0
    """unreadable files and databases with reasons, and their number; their last version is kept. With one of them, with
    one in the next two fields, or over a limit, the exit status is 1"""
    unstable: dict[str, str] = {}
    """files that changed while they were read: their last version is kept"""
    waiting: dict[str, str] = {}
    """files that may contain secrets and cannot be parsed: their last version is kept"""
    left_out: dict[str, str] = {}
    """files not captured, or not in their current version, with reasons"""
    over_limit: tuple[str, ...] = ()
    """those that wait for a higher limit or for `--let-in`"""
    due_in: float | None = None
    """seconds until the first of the others may be captured, or null"""
    looks_like_secret: JsonObject = {}
    """files with text that looks like a secret: kind and line"""
    kept_out: dict[str, int] = {}
    """files and databases with purged text, and the number of places, which captures leave out"""
    purged_again: dict[str, int] = {}
    """files in which a purged value came back in other words, and the number of places; captured (`purge.again` is
    `notice`)"""
    held: JsonObject | None = None
    """a removal that looks accidental, or null"""
    sealed: tuple[str, ...] = ()
    """partitions whose period ended"""
    warnings: tuple[str, ...] = ()
    """remarks"""
    remotes: tuple[Pushed, ...] = ()


class Sync(msgspec.Struct, frozen=True):
    """The document of `sync`."""

    agents: tuple[Capture, ...] = ()
