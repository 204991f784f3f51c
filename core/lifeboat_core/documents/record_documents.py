"""The JSON of `lifeboat records list`, `records show`, and what `records forget`, `restore`, `pin` and `unpin` say."""

from __future__ import annotations

import msgspec


class Memory(msgspec.Struct, frozen=True):
    """A memory in a list; `snippet` is its beginning."""

    id: str
    memory_type: str = ""
    status: str = "active"
    namespace: str = ""
    tags: tuple[str, ...] = ()
    """the memory that counts, newest first"""
    created_at: str = ""
    observed_at: str | None = None
    """when it was made, and of which day or moment it speaks, or null"""
    origin_file: str = ""
    """the file it comes from, or "" """
    snippet: str = ""
    """its beginning in one line; of a deleted one what it said"""
    identity_version: int | None = None
    """the version of the identity under which it was made, or null"""
    pinned: bool = False
    forgotten: bool = False
    """whether it was pinned, or forgotten by `records forget`"""

    @property
    def is_gone(self) -> bool:
        """Whether the agent does not remember it any more."""
        return self.forgotten or self.status == "deleted"


class Page(msgspec.Struct, frozen=True):
    """`total` fit the filters; `next` is where the next page begins, None on the last one. The counts are those of the
    whole memory."""

    agent: str = ""
    sequence: int | None = None
    """the agent's id, and its newest sequence"""
    total: int = 0
    shown: int = 0
    """how many memories fit the filters, and how many of them this page has. A page has at most 15 MiB"""
    next: str | None = None
    """the id for `--after`, when there are more, or null"""
    types: dict[str, int] = {}
    statuses: dict[str, int] = {}
    identity_versions: dict[str, int] = {}
    namespaces: dict[str, int] = {}
    """how many memories there are of each kind, whatever the filters; deleted ones are counted in `statuses` only"""
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
    """what it says; of a deleted memory what it said, or "" when that was purged"""
    first_sequence: int | None = None
    last_sequence: int | None = None
    """the first and the last kept sequence in which it said that, or null"""
    present: bool = False
    """whether the last of them is the newest"""
    chain: tuple[Before, ...] = ()
    """every record that says, or said, what the memory is, in order: `id`, `current`, `purged`, and `sequence`, `time`
    of the first kept sequence that has it, or null"""
    supersedes: str | None = None
    superseded_by: str | None = None
    """the record before this one, and the one that came after the id that was asked for, or null"""
    links: tuple[Link, ...] = ()
    """links to other memories: `id` as written, `relation`, `confidence` or null, `target` (the record that counts now,
    or null), `state` (`present`, `deleted`, `missing`, `purged`), `snippet`"""
    provenance: Provenance = Provenance()
    """`runtime`, `runtime_version`, `origin`, `origin_file`, `session_id`, `interaction_id`, `extraction_method`,
    `identity_version`; null where nobody knows"""
    confidence: float | None = None
    """how sure its maker was, from 0 to 1, or null"""
    stats: Stats | None = None
    """`last_accessed_at` and `access_count`, or null"""


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
    """for each id the record that counts in its memory's chain, as it stands in an archive"""
    forgotten: bool = False
    """whether it was forgotten by `records forget`"""
    about: About = About()


class Showing(msgspec.Struct, frozen=True):
    records: tuple[Shown, ...] = ()


class Change(msgspec.Struct, frozen=True):
    """`changed` is false where it was so before; `sequence` is the one that the change made."""

    sequence: int | None = None
    changed: bool = False
