"""`lifeboat records list`, `records show`, and what `records forget`, `restore`, `pin` and `unpin` say."""

from __future__ import annotations

import msgspec


class Memory(msgspec.Struct, frozen=True):
    """A memory in a list; `snippet` is its beginning."""

    id: str
    memory_type: str = ""
    status: str = "active"
    namespace: str = ""
    created_at: str = ""
    observed_at: str | None = None
    origin_file: str = ""
    snippet: str = ""
    identity_version: int | None = None
    pinned: bool = False
    forgotten: bool = False
    tags: tuple[str, ...] = ()

    @property
    def is_gone(self) -> bool:
        """Whether the agent does not remember it any more."""
        return self.forgotten or self.status == "deleted"


class Page(msgspec.Struct, frozen=True):
    """`total` fit the filters; `next` is where the next page begins, None on the last one. The counts are those of the
    whole memory."""

    sequence: int | None = None
    total: int = 0
    next: str | None = None
    types: dict[str, int] = {}
    statuses: dict[str, int] = {}
    identity_versions: dict[str, int] = {}
    records: tuple[Memory, ...] = ()


class Before(msgspec.Struct, frozen=True):
    """One record of a chain, from `sequence` on."""

    id: str
    sequence: int | None = None
    time: str | None = None
    current: bool = False
    purged: bool = False


class Link(msgspec.Struct, frozen=True):
    """`target` is the memory that counts now, None where there is none; `state` says what became of it."""

    id: str
    relation: str = ""
    confidence: float | None = None
    target: str | None = None
    state: str = "missing"
    snippet: str = ""


class Provenance(msgspec.Struct, frozen=True):
    runtime: str | None = None
    runtime_version: str | None = None
    origin: str | None = None
    origin_file: str | None = None
    session_id: str | None = None
    interaction_id: str | None = None
    extraction_method: str | None = None
    identity_version: int | None = None


class Stats(msgspec.Struct, frozen=True):
    last_accessed_at: str | None = None
    access_count: int | None = None


class About(msgspec.Struct, frozen=True):
    """What is known of a memory beside its record; `text` is what it says, of a deleted one what it said."""

    text: str = ""
    first_sequence: int | None = None
    last_sequence: int | None = None
    present: bool = False
    chain: tuple[Before, ...] = ()
    links: tuple[Link, ...] = ()
    provenance: Provenance = Provenance()
    confidence: float | None = None
    stats: Stats | None = None


class Moments(msgspec.Struct, frozen=True):
    created_at: str = ""
    observed_at: str | None = None


class Shown(msgspec.Struct, frozen=True):
    """The record that counts in a memory's chain."""

    id: str
    memory_type: str = ""
    status: str = "active"
    namespace: str = ""
    temporal: Moments = Moments()
    tags: tuple[str, ...] = ()
    pinned: bool = False
    forgotten: bool = False
    about: About = About()


class Showing(msgspec.Struct, frozen=True):
    records: tuple[Shown, ...] = ()


class Change(msgspec.Struct, frozen=True):
    """`changed` is false where it was so before; `sequence` is the one that the change made."""

    sequence: int | None = None
    changed: bool = False
