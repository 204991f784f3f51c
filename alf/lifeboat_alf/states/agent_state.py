"""A state: everything an agent is at one sequence, and what changed between two states.

A state has two kinds of items. *Entries* are files and documents by archive path; *records* are memory records by
id, in order, in partitions. An open vault, a snapshot archive and "archive plus deltas" all are a `State`; the
snapshot writer, restore, diff and verification take any of them.

Which paths are entries (the rest of an archive is derived from them when it is written, see `layout`):

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
"""Above every sequence number: JSON holds it exactly, and so does every database."""
ABSENT_LEAF = bytes(LEAF_BYTES)
"""The leaf of an entry whose bytes were never held (a foreign archive's reference-only artifact)."""


class Leaf(NamedTuple):
    """A salted commitment to bytes: `digest` = SHA-256(salt + bytes). `salt` is empty once it was destroyed."""

    digest: bytes
    salt: bytes = NO_SALT


class Entry(NamedTuple):
    """One file or document of a state.

    `meta` holds what bytes do not say (see `metas`). `size` counts bytes; `sha256` is the hex digest of the bytes
    as captured (secrets cut), None when it is not known or was destroyed.
    """

    path: str
    meta: JsonObject
    leaf: Leaf
    size: int
    sha256: str | None


class Record(NamedTuple):
    """One memory record of a state. `line` is its JSON as stored, without newline; `position` is its place in the
    partition, counted from 0, and never changes."""

    id: str
    partition: str
    position: int
    leaf: Leaf
    line: bytes


class GoneRecord(NamedTuple):
    """The place of a record whose line a purge destroyed. Digests cover it; nobody shows it."""

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
    """A numbered, dated, digested state. `digest` is the Merkle root (see `merkle`), b"" when it is not known.

    `signature` is the document that `lifeboat_keys.signed.sequence_signatures` makes and checks, None for a foreign
    state.
    """

    agent_id: str
    number: int
    base: int | None
    epoch: int
    time: str
    digest: bytes
    signature: JsonObject | None = None


class State(Protocol):
    """What an agent is at one sequence. Iterators may be consumed once each call; nothing is held in memory."""

    @property
    def sequence(self) -> Sequence: ...

    def entries(self, prefix: str = "") -> Iterator[Entry]:
        """Entries whose path begins with `prefix`, sorted by the path's UTF-8 bytes."""
        ...

    def entry(self, path: str) -> Entry | None: ...

    def body(self, path: str) -> bytes:
        """The bytes of an entry. Raises KeyError for an unknown path, BodyAbsent where the bytes are not held."""
        ...

    def records(self, partition: str | None = None) -> Iterator[Record]:
        """Records in (partition file, position) order; of one partition if named. Without the gone ones."""
        ...

    def record(self, record_id: str) -> Record | None: ...

    def gone(self) -> Iterator[GoneRecord]:
        """Records whose lines a purge destroyed, in the same order."""
        ...

    @property
    def redactions(self) -> Redactions:
        """Those that name a leaf of this state, at least. Who signed them is for
        `lifeboat_keys.signed.redaction_signatures` to show."""
        ...


@runtime_checkable
class BatchQueryState(Protocol):
    """A state of which every question costs a journey: many are asked together."""

    def unknown_records(self, record_ids: Collection[str]) -> Set[str]:
        """Those of these ids that `record` has nothing for; it may leave out some."""
        ...


class BodyAbsent(KeyError):
    """The entry is known, its bytes are not here (tier 3 in an archive, purged, never captured)."""


Operation = Literal["create", "update", "delete"]


class RecordChange(NamedTuple):
    """One record of a delta, whole. `create` appends; `update` replaces in place; `delete` is the record that dies,
    in place (open partition) or as an appended tombstone."""

    operation: Operation
    record: Record


@dataclass(frozen=True, slots=True)
class EntryChange:
    """One entry of a delta. `entry` None: the path is gone. `body` reads the new bytes, None when they are
    those of a base that bundles carry, or are not held. `base` and `base_body` are the old entry, for patches; None
    when there was none."""

    path: str
    entry: Entry | None
    body: Callable[[], bytes] | None = None
    base: Entry | None = None
    base_body: Callable[[], bytes] | None = None


@dataclass(frozen=True, slots=True)
class StateChanges:
    """Everything that leads from the state `base` to the state `new`. Entries sorted by path; records in the order
    a delta carries them: updates and deletes in place by (partition, position), then appended ones. `removed` are ids
    that the new state lacks: never between two sequences of one agent, but between any two archives. `gone` are
    records that `new` has and `base` has not, or has otherwise, whose lines a purge destroyed; `redactions` name every
    leaf of `new` that has no salt."""

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
    """The order of entries everywhere: the path's UTF-8 bytes."""
    return path.encode()
