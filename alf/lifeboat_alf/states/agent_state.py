"""Types of a state (everything an agent is at one sequence) and of the changes between two states.

A state has two kinds of items. *Entries* are files and documents by archive path; *records* are memory records by
id, in order, in partitions. An open vault, a snapshot archive and "archive plus deltas" all are a `State`; the
snapshot writer, restore, diff and verification take any of them.

These paths are entries (the rest of an archive is derived when it is written, see `archive_layout`):

    manifest.json                     the manifest's head: every field that does not follow from the content
    identity.json  principals.json  credentials.json  history/...
    raw/<runtime>/...  raw/<runtime>-home/...  artifacts/...
    memory/embeddings/...             vectors and their index
    anything unknown                  carried as bytes
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from lifeboat_alf.common.json_types import JsonObject

if TYPE_CHECKING:
    from lifeboat_alf.redaction.redactions import Redactions

NO_SALT = b""
SALT_BYTES = 16
LEAF_BYTES = 32
NUMBER_LIMIT = 1 << 53
"""Upper bound of sequence numbers that JSON and every database represent exactly."""
ABSENT_LEAF = bytes(LEAF_BYTES)
"""Leaf of an entry whose bytes were never held (a reference-only artifact of a foreign archive)."""


class Leaf(NamedTuple):
    """A salted commitment to bytes: `digest` = SHA-256(salt + bytes). `salt` is empty after it was destroyed."""

    digest: bytes
    salt: bytes = NO_SALT


class Entry(NamedTuple):
    """One file or document of a state.

    `meta` holds everything that is not in the bytes (see `entry_metas`). `size` counts bytes; `sha256` is the hex
    digest of the bytes as captured (secrets cut), None when unknown or destroyed.
    """

    path: str
    meta: JsonObject
    leaf: Leaf
    size: int
    sha256: str | None


class Record(NamedTuple):
    """One memory record of a state. `line` is its stored JSON without newline; `position` counts from 0 in the
    partition and never changes."""

    id: str
    partition: str
    position: int
    leaf: Leaf
    line: bytes


class GoneRecord(NamedTuple):
    """The place of a record whose line a purge destroyed. Digests still cover it."""

    id: str
    partition: str
    position: int
    leaf: Leaf


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition of the memory. `file` is its archive path, `first` and `last` are days (`YYYY-MM-DD`); `last` is
    None while it is open. `extra` keeps unknown fields of a foreign manifest."""

    file: str
    first: str
    last: str | None
    sealed: bool
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sequence:
    """A numbered, dated state with its digest. `digest` is the Merkle root (see `merkle`), b"" when unknown.

    `signature` is the document of `lifeboat_keys.signed.sequence_signatures`, None for a foreign state.
    """

    agent_id: str
    number: int
    base: int | None
    epoch: int
    time: str
    digest: bytes
    signature: JsonObject | None = None


class State(Protocol):
    """Everything an agent is at one sequence. Each iterator can be consumed once; nothing is held in memory."""

    @property
    def sequence(self) -> Sequence: ...

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        """Yield the entries whose path begins with `prefix`, sorted by the path's UTF-8 bytes."""
        ...

    def entry(self, path: str) -> Entry | None: ...

    def body(self, path: str) -> bytes:
        """Return the bytes of an entry. Raises KeyError for an unknown path, BodyAbsent where the bytes are not
        held."""
        ...

    def records(self, partition: str | None = None) -> Iterator[Record]:
        """Yield records in (partition file, position) order, of one partition if given, without the gone ones."""
        ...

    def record(self, record_id: str) -> Record | None: ...

    def gone(self) -> Iterator[GoneRecord]:
        """Yield records whose lines a purge destroyed, in the same order."""
        ...

    @property
    def redactions(self) -> Redactions:
        """Return at least the redactions that name a leaf of this state. `lifeboat_keys.signed.redaction_signatures`
        checks their signatures."""
        ...


class StateView:
    """Another state. Subclasses override what differs."""

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def sequence(self) -> Sequence:
        return self._state.sequence

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        return self._state.entries(prefix)

    def entry(self, path: str) -> Entry | None:
        return self._state.entry(path)

    def body(self, path: str) -> bytes:
        return self._state.body(path)

    def records(self, partition: str | None = None) -> Iterator[Record]:
        return self._state.records(partition)

    def record(self, record_id: str) -> Record | None:
        return self._state.record(record_id)

    def gone(self) -> Iterator[GoneRecord]:
        return self._state.gone()

    @property
    def redactions(self) -> Redactions:
        return self._state.redactions


@runtime_checkable
class BatchQueryState(Protocol):
    """A state for which every query is a network request, so that queries are batched."""

    def unknown_records(self, record_ids: Collection[str]) -> Set[str]:
        """Return those of these ids for which `record` finds nothing. The result may be incomplete."""
        ...


class BodyAbsent(KeyError):
    """The entry is known but its bytes are missing (tier 3 in an archive, purged, never captured)."""


Operation = Literal["create", "update", "delete"]


class RecordChange(NamedTuple):
    """One whole record of a delta. `create` appends, `update` replaces in place, `delete` marks a deletion: in place
    (open partition) or as an appended tombstone."""

    operation: Operation
    record: Record


@dataclass(frozen=True, slots=True)
class EntryChange:
    """One entry of a delta. `entry` is None for a removed path. `body` reads the new bytes; None when they equal the
    base's and bundles carry those, or when they are missing.

    `base` and `base_body` are the old entry, for patches; None when there was none.
    """

    path: str
    entry: Entry | None
    body: Callable[[], bytes] | None = None
    base: Entry | None = None
    base_body: Callable[[], bytes] | None = None


@dataclass(frozen=True, slots=True)
class StateChanges:
    """Everything that leads from the state `base` to the state `new`.

    Entries are sorted by path. Records are in delta order: updates and deletes in place by (partition, position), then
    appended ones. `removed` are ids that the new state lacks; that happens between archives, never between two
    sequences of one agent. `gone` are records of `new` whose lines a purge destroyed and that differ in `base`.
    `redactions` name every leaf of `new` without a salt.
    """

    base: Sequence
    new: Sequence
    entries: list[EntryChange]
    records: list[RecordChange]
    removed: list[str] = field(default_factory=list)
    gone: list[GoneRecord] = field(default_factory=list)
    redactions: Redactions | None = None

    def __bool__(self) -> bool:
        return bool(self.entries or self.records or self.removed or self.gone)


def path_key(path: str) -> bytes:
    """Return the sort key of entries: the path's UTF-8 bytes."""
    return path.encode()


def record_place(record: Record | GoneRecord) -> tuple[bytes, int]:
    """Return the sort key of records: partition, then position."""
    return path_key(record.partition), record.position
