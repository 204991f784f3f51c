"""The JSON of `lifeboat blame`."""

from __future__ import annotations

import msgspec


class Line(msgspec.Struct, frozen=True):
    """A line of the file, and the sequence that wrote it."""

    line: int
    """number of the line, from 1"""
    sequence: int
    time: str = ""
    """the first kept sequence with this line, and its time"""
    kind: str = "capture"
    """kind of the sequence, as in `timeline`"""
    writer: str = ""
    """id of the device key that signed the sequence"""
    exact: bool = True
    """false if an older version could not be read, so that an earlier sequence may have written the line"""
    memory: str | None = None
    session: str | None = None
    """the memory that contains the line, and the session that the runtime named for it; otherwise null"""
    text: str = ""
    """the line as it was captured, without its line end"""


class Blame(msgspec.Struct, frozen=True):
    """The document of `blame`: one item of `lines` per line of the file."""

    agent: str = ""
    path: str = ""
    """agent id, archive path"""
    sequence: int = 0
    time: str = ""
    """the sequence whose version is shown, and its time"""
    lines: tuple[Line, ...] = ()
