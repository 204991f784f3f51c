"""The JSON of `lifeboat timeline`."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject

_KIND_TEXTS = {
    **dict.fromkeys(("capture", "snapshot", "delta"), ""),
    "restore": "restored",
    "adopt": "adopted",
    "import": "imported",
    "rotate": "resealed",
    "undo": "undone change of a memory",
}


def describe_kind(kind: str) -> str:
    """Return what made a sequence, for people: "" for a capture. How a remote stores a sequence (`snapshot`, `delta`)
    says nothing about the agent."""
    return _KIND_TEXTS.get(kind, kind)


class Entry(msgspec.Struct, frozen=True):
    """One kept sequence."""

    sequence: int
    """newest first"""
    created_at: str
    """when"""
    kind: str = "capture"
    """`capture`, `restore`, `adopt`, `import`, `rotate` or `undo`; `snapshot` or `delta` if fetched from a sealed
    remote"""
    changes: JsonObject = {}
    """counts, as in `sync`, and `files`: added (`put`) and `removed` files of the workspace"""
    files: int = 0
    records_changed: int = 0
    """number of changed files and memories"""
    trigger: str | None = None
    """`user` if the user changed memories, otherwise null"""
    verified: tuple[str, ...] = ()
    """where it was verified: `local` and names of remotes"""
    on: tuple[str, ...] = ()
    """remotes whose newest state it is"""
    bytes: int | None = None
    """growth of the vault"""
    label: str | None = None
    """label, or null"""
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
    """number of sequences per `hour` of the last 48, or with `--days` per `day` of the local calendar, up to now; also
    thinned ones"""


class Aside(msgspec.Struct, frozen=True):
    """A replaced history; `name` is for `restore --from`."""

    name: str = msgspec.field(name="from")
    """a replaced history: its name for `restore --from`"""
    since: str | None = None
    until: str | None = None
    """since when, and until when it is kept"""


class Timeline(msgspec.Struct, frozen=True):
    """The document of `timeline`, newest first."""

    agent: str = ""
    """agent id"""
    entries: tuple[Entry, ...] = ()
    total: int = 0
    """number of kept sequences, without filters"""
    activity: Activity = Activity()
    set_aside: tuple[Aside, ...] = ()


class Labelled(msgspec.Struct, frozen=True):
    """The document of `label`."""

    agent: str
    """agent id"""
    entry: Entry
    """the sequence now, as in `timeline`"""
