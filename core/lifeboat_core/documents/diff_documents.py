"""The JSON of `lifeboat diff`."""

from __future__ import annotations

import msgspec


class Moment(msgspec.Struct, frozen=True):
    """A sequence, or the current workspace."""

    sequence: int | None = None
    time: str | None = None
    workspace: str | None = None


class File(msgspec.Struct, frozen=True):
    """What happened to a file or a document."""

    path: str
    operation: str = "changed"
    """file and change"""
    diff: str | None = None
    cut: bool = False
    """changed lines; `truncated`: there are more (with `--path` all are shown)"""
    damaged: bool = False
    """true if the bytes of a version cannot be decoded; otherwise absent"""
    omitted: bool = False
    """true if its lines were omitted because of `--limit`; otherwise absent"""


class Record(msgspec.Struct, frozen=True):
    """What happened to a memory."""

    id: str
    operation: str = "updated"
    """memory and change"""
    content: str | None = None
    previous: str | None = None
    """text after and before"""
    omitted: bool = False
    """true if its text was omitted because of `--limit`; otherwise absent"""


class Total(msgspec.Struct, frozen=True):
    """The number of all changes, including those left out."""

    files: int = 0
    records: int = 0
    documents: int = 0
    """number of changes, including omitted ones"""


class Difference(msgspec.Struct, frozen=True):
    """The document of `diff`: what changed between two sequences."""

    agent: str = ""
    """agent id"""
    first: Moment = msgspec.field(default=Moment(), name="from")
    """the older state: `sequence`, `time`"""
    second: Moment = msgspec.field(default=Moment(), name="to")
    """the newer state: `sequence`, `time`; for the current workspace `workspace`, its folder"""
    files: tuple[File, ...] = ()
    records: tuple[Record, ...] = ()
    documents: tuple[File, ...] = ()
    """changed identity, profiles and other documents; none with `--path`"""
    truncated: bool = False
    """whether `--limit` omitted something: such items have no text and are `omitted`, and the last ones are missing"""
    total: Total | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.files or self.records or self.documents or self.truncated)
