"""The JSON of `lifeboat diff`."""

from __future__ import annotations

import msgspec


class Moment(msgspec.Struct, frozen=True):
    """A sequence, or the workspace as it stands."""

    sequence: int | None = None
    time: str | None = None
    workspace: str | None = None


class File(msgspec.Struct, frozen=True):
    """What happened to a file or a document."""

    path: str
    operation: str = "changed"
    """which file, and what happened to it"""
    diff: str | None = None
    cut: bool = False
    """the changed lines of a text, and whether there are more than these: with `--path` there are all"""
    damaged: bool = False
    """true where the bytes of a version do not decode; else it is missing"""
    omitted: bool = False
    """true where its lines were left out because of `--limit`; else it is missing"""


class Record(msgspec.Struct, frozen=True):
    """What happened to a memory."""

    id: str
    operation: str = "updated"
    """which memory, and what happened to it"""
    content: str | None = None
    previous: str | None = None
    """its text now and before"""
    omitted: bool = False
    """true where its text was left out because of `--limit`; else it is missing"""


class Total(msgspec.Struct, frozen=True):
    """The number of all changes, including those left out."""

    files: int = 0
    records: int = 0
    documents: int = 0
    """how many there are, told or not"""


class Difference(msgspec.Struct, frozen=True):
    """The document of `diff`: what changed between two sequences."""

    agent: str = ""
    """the agent's id"""
    first: Moment = msgspec.field(default=Moment(), name="from")
    """from where: `sequence` and `time`"""
    second: Moment = msgspec.field(default=Moment(), name="to")
    """to where: `sequence` and `time`; for the workspace as it stands `workspace`, its folder, instead"""
    files: tuple[File, ...] = ()
    records: tuple[Record, ...] = ()
    documents: tuple[File, ...] = ()
    """identity, profiles and other documents that changed; none with `--path`"""
    truncated: bool = False
    """whether something was left out because of `--limit`: such items have no text and are `omitted`, and the last ones
    are missing"""
    total: Total | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.files or self.records or self.documents or self.truncated)
