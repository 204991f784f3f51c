"""The JSON of `lifeboat search --history`."""

from __future__ import annotations

import msgspec


class Hit(msgspec.Struct, frozen=True):
    """A place where the words are or were, from sequence `first` to `last`."""

    kind: str = "file"
    """`memory`, or `file` for a line of a file that is not divided into memories"""
    id: str | None = None
    path: str | None = None
    line: int | None = None
    """the memory, else null; the file and the line in its newest version that has it, else null"""
    first: int | None = None
    last: int | None = None
    """the first and the last kept sequence in which it stood there; `sequence` is the last, too"""
    present: bool = False
    """whether it stands there now"""
    snippet: str = ""
    origin_file: str | None = None
    memory_type: str | None = None
    """as above; no type for a file"""
    sequence: int | None = None
    namespace: str | None = None
    """as above"""


class Found(msgspec.Struct, frozen=True):
    """The document of `search --history`, newest first."""

    agent: str = ""
    """the agent's id"""
    history: bool = True
    """true"""
    total: int = 0
    truncated: bool = False
    """how many places were found, and whether there are, or may be, more than are told"""
    unread: int = 0
    """how many old versions of files were too much to read: one search reads 512 MB of them, for 5 seconds"""
    hits: tuple[Hit, ...] = ()
