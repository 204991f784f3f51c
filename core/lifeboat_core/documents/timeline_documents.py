"""The JSON of `lifeboat timeline`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject


class Entry(msgspec.Struct, frozen=True):
    """One kept sequence."""

    sequence: int
    """newest first"""
    created_at: str
    """when"""
    kind: str = "capture"
    """`capture`, `restore`, `adopt`, `snapshot`, `import` or `rotate`"""
    changes: JsonObject = {}
    """counts, as in `sync`, and `files`: how many files of the workspace came (`put`) and went (`removed`)"""
    files: int = 0
    records_changed: int = 0
    """how many files it wrote or removed, and how many memories it changed"""
    trigger: str | None = None
    """`user` when somebody changed memories by hand, else null"""
    verified: tuple[str, ...] = ()
    """where this very sequence was read back and held: `local` and names of second copies"""
    on: tuple[str, ...] = ()
    """second copies whose newest state it is"""
    bytes: int | None = None
    """what the vault grew by"""
    label: str | None = None
    """a name that somebody gave it, or null"""
    pins: tuple[str, ...] = ()
    """why it is never thinned"""
    digest: str = ""
    """the digest of the state"""
    signed: bool = False
    """whether it is signed"""


class Activity(msgspec.Struct, frozen=True):
    """The number of sequences per hour or day; the last one is now."""

    unit: str = "hour"
    start: str | None = msgspec.field(default=None, name="from")
    counts: tuple[int, ...] = ()
    """how many sequences were made in each `hour` of the last 48, or with `--days` on each `day` of this machine's
    calendar, up to now; those too that were thinned since"""


class Aside(msgspec.Struct, frozen=True):
    """A displaced history; `name` is what `restore --from` calls it."""

    name: str = msgspec.field(name="from")
    """a history that gave way: what `restore --from` calls it"""
    since: str | None = None
    until: str | None = None
    """since when, and how long it stays"""


class Timeline(msgspec.Struct, frozen=True):
    """The document of `timeline`, newest first."""

    agent: str = ""
    """the agent's id"""
    entries: tuple[Entry, ...] = ()
    total: int = 0
    """how many sequences are kept, whatever the options"""
    activity: Activity = Activity()
    set_aside: tuple[Aside, ...] = ()


class Labelled(msgspec.Struct, frozen=True):
    """The document of `label`."""

    agent: str
    """the agent's id"""
    entry: Entry
    """the sequence as it is now, as in `timeline`"""
