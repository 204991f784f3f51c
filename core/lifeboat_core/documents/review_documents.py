"""The JSON of `lifeboat review`."""

from __future__ import annotations

import msgspec


class Mark(msgspec.Struct, frozen=True):
    """Why a change deserves a look."""

    kind: str
    """`secret`, `instruction`, `duplicate`, `contradiction`, `rewrite` (of a file) or `cleanup` (several memories
    removed at once)"""
    quote: str = ""
    """the part of the text, or the file, in one line without control characters"""
    other: str | None = None
    """id of the other memory of a `duplicate` or `contradiction`, or null"""


class Changed(msgspec.Struct, frozen=True):
    """A memory whose text differs from the one at the last look."""

    agent: str
    name: str = ""
    """agent id and name; newest change first"""
    id: str = ""
    operation: str = "updated"
    """the memory; `created`, `updated` or `deleted`"""
    before: str | None = None
    after: str | None = None
    """its texts, null for none"""
    sequence: int = 0
    time: str = ""
    kind: str = "capture"
    """the sequence that wrote the present text, its time and kind, as in `timeline`"""
    writer: str = ""
    session: str | None = None
    """id of the device key, and the session that the runtime named, or null"""
    origin_file: str = ""
    memory_type: str = ""
    """its file, or empty, and its type"""
    bytes: int = 0
    """size of the present text"""
    marks: tuple[Mark, ...] = ()


class Looked(msgspec.Struct, frozen=True):
    """An agent of the review."""

    id: str
    name: str = ""
    """agent"""
    since: str | None = None
    """time of the last look, or of `--since`; null before the first look"""
    base: int | None = None
    until: int | None = None
    """the sequence with the texts before, and the newest one (for `--until`); null without a capture"""
    total: int = 0
    """number of changes"""


class Inbox(msgspec.Struct, frozen=True):
    """The document of `review`."""

    changes: tuple[Changed, ...] = ()
    total: int = 0
    truncated: bool = False
    """number of changes, and whether some were left out (`--limit`; all are with `--count`)"""
    agents: tuple[Looked, ...] = ()


class Approved(msgspec.Struct, frozen=True):
    """The document of `review --approve` and `--approve-all`."""

    agents: tuple[str, ...] = ()
    """agent ids"""
    approved: tuple[str, ...] = ()
    """ids of the approved memories; empty with `--approve-all`"""
    everything: bool = False
    """whether all changes were approved (`--approve-all`)"""
