"""The JSON of `lifeboat search --history`."""

from __future__ import annotations

import msgspec


class Hit(msgspec.Struct, frozen=True):
    """A match, in the sequences `first` to `last`."""

    kind: str = "file"
    """`memory`, or `file` for a line of a file"""
    id: str | None = None
    path: str | None = None
    line: int | None = None
    """the memory, otherwise null; file and line in the newest version that contains it, otherwise null"""
    first: int | None = None
    last: int | None = None
    """the first and last kept sequence that contain it; `sequence` equals `last`"""
    present: bool = False
    """whether it is in the current state"""
    snippet: str = ""
    origin_file: str | None = None
    memory_type: str | None = None
    """as above; null for a file"""
    sequence: int | None = None
    namespace: str | None = None
    """as above"""


class Found(msgspec.Struct, frozen=True):
    """The document of `search --history`, newest first."""

    agent: str = ""
    """agent id"""
    history: bool = True
    """true"""
    total: int = 0
    truncated: bool = False
    """number of matches, and whether there are, or may be, more"""
    unread: int = 0
    """number of old file versions not searched: one search reads at most 512 MB of them, for 5 seconds"""
    hits: tuple[Hit, ...] = ()
