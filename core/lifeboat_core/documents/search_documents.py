"""`lifeboat search --history`."""

from __future__ import annotations

import msgspec


class Hit(msgspec.Struct, frozen=True):
    """A place where the words stand or stood, from sequence `first` to `last`. `present`: they stand there now."""

    kind: str = "file"
    id: str | None = None
    path: str | None = None
    line: int | None = None
    snippet: str = ""
    origin_file: str | None = None
    memory_type: str | None = None
    first: int | None = None
    last: int | None = None
    present: bool = False
    sequence: int | None = None


class Found(msgspec.Struct, frozen=True):
    """Newest first. `truncated`: there is more than was asked for."""

    agent: str = ""
    hits: tuple[Hit, ...] = ()
    truncated: bool = False
