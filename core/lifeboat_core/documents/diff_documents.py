"""`lifeboat diff`."""

from __future__ import annotations

import msgspec


class Moment(msgspec.Struct, frozen=True):
    """A sequence, or the workspace as it stands."""

    sequence: int | None = None
    time: str | None = None
    workspace: str | None = None


class File(msgspec.Struct, frozen=True):
    """What happened to a file or a document. `cut`: it has more changed lines; `omitted`: its lines were left out."""

    path: str
    operation: str = "changed"
    diff: str | None = None
    cut: bool = False
    omitted: bool = False


class Record(msgspec.Struct, frozen=True):
    """What happened to a memory."""

    id: str
    operation: str = "updated"
    content: str | None = None
    previous: str | None = None
    omitted: bool = False


class Total(msgspec.Struct, frozen=True):
    files: int = 0
    records: int = 0
    documents: int = 0


class Difference(msgspec.Struct, frozen=True):
    """What changed between two moments. `truncated`: not everything is in here; `total` counts everything."""

    agent: str = ""
    first: Moment = msgspec.field(default=Moment(), name="from")
    second: Moment = msgspec.field(default=Moment(), name="to")
    files: tuple[File, ...] = ()
    records: tuple[Record, ...] = ()
    documents: tuple[File, ...] = ()
    truncated: bool = False
    total: Total | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.files or self.records or self.documents or self.truncated)
