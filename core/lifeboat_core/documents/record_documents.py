"""The JSON of `lifeboat records`: list, show, undo, forget, restore, pin and unpin."""

from __future__ import annotations

import msgspec


class Memory(msgspec.Struct, frozen=True):
    """A memory in a list; `snippet` is its beginning."""

    id: str
    memory_type: str = ""
    status: str = "active"
    namespace: str = ""
    tags: tuple[str, ...] = ()
    """current memories, newest first"""
    created_at: str = ""
    observed_at: str | None = None
    """when it was created, and the day or time it is about, or null"""
    origin_file: str = ""
    """its file, or empty"""
    snippet: str = ""
    """its beginning on one line; for a deleted memory its last text"""
    identity_version: int | None = None
    """version of the identity that created it, or null"""
    pinned: bool = False
    forgotten: bool = False
    """pinned; forgotten by `records forget`"""

    @property
    def is_gone(self) -> bool:
        """Whether the agent no longer has it."""
        return self.forgotten or self.status == "deleted"


class Page(msgspec.Struct, frozen=True):
    """`total` matches the filters; `next` is where the next page begins, None on the last one. The counts are those of
    the whole memory."""

    agent: str = ""
    sequence: int | None = None
    """agent id, newest sequence"""
    total: int = 0
    shown: int = 0
    """number of matching memories, and of those on this page (at most 15 MiB)"""
    next: str | None = None
    """id for `--after` if there are more, or null"""
    types: dict[str, int] = {}
    statuses: dict[str, int] = {}
    identity_versions: dict[str, int] = {}
    namespaces: dict[str, int] = {}
    """number of memories by kind, without filters; deleted ones only in `statuses`"""
    records: tuple[Memory, ...] = ()


class Before(msgspec.Struct, frozen=True):
    """One record of a chain, from `sequence` on."""

    id: str
    sequence: int | None = None
    time: str | None = None
    current: bool = False
    purged: bool = False


class Link(msgspec.Struct, frozen=True):
    """`target` is the current memory of its chain, or None; `state` says whether it still exists."""

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
    """Details of a memory beside its record; `text` is its text, or the last one of a deleted memory."""

    text: str = ""
    """its text; of a deleted memory its last text, or "" if that was purged"""
    first_sequence: int | None = None
    last_sequence: int | None = None
    """the first and last kept sequence with this text, or null"""
    present: bool = False
    """whether the last of them is the newest"""
    chain: tuple[Before, ...] = ()
    """all versions in order: `id`, `current`, `purged`, and `sequence`, `time` of the first kept sequence with it, or
    null"""
    supersedes: str | None = None
    superseded_by: str | None = None
    """the version before this one, and the one after the requested id, or null"""
    links: tuple[Link, ...] = ()
    """links to other memories: `id` as written, `relation`, `confidence` or null, `target` (current memory, or null),
    `state` (`present`, `deleted`, `missing`, `purged`), `snippet`"""
    provenance: Provenance = Provenance()
    """`runtime`, `runtime_version`, `origin`, `origin_file`, `session_id`, `interaction_id`, `extraction_method`,
    `identity_version`; null if unknown"""
    confidence: float | None = None
    """confidence from 0 to 1, or null"""
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
    """for each id the current record of its chain, in the archive format"""
    forgotten: bool = False
    """forgotten by `records forget`"""
    about: About = About()


class Showing(msgspec.Struct, frozen=True):
    records: tuple[Shown, ...] = ()


class Change(msgspec.Struct, frozen=True):
    """`changed` is false if nothing had to change; `sequence` is the one that the change made."""

    sequence: int | None = None
    changed: bool = False


class Undone(msgspec.Struct, frozen=True):
    """The document of `records undo`."""

    agent: str
    id: str = ""
    """agent id, id of the current version of the memory"""
    path: str = ""
    """archive path of the file"""
    operation: str = "replace"
    """`replace` for a changed text, `insert` for a memory that was removed, `remove` for one that was new"""
    sequence: int = 0
    """the sequence whose text returned"""
    before: str | None = None
    after: str | None = None
    """text before and after the undo, null for none"""
    safety: int | None = None
    captured: int | None = None
    """the sequence before, pinned for seven days, and the one with the result; null with `dry_run`"""
    dry_run: bool = False
    """whether nothing was written (`--dry-run`)"""
    warnings: tuple[str, ...] = ()
    """remarks, for example why the result was not captured yet"""
