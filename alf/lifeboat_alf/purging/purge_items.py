"""What a purge is planned over, and the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import LeafReplacement
from lifeboat_alf.states.agent_state import Leaf


class PurgeItem(NamedTuple):
    """One object of a history, as often as a row names it: `path` and `meta` of an entry, `record_id` and `partition`
    of a record. `body` reads the bytes that stand there now; it raises KeyError where they are not held."""

    leaf: Leaf
    body: Callable[[], bytes]
    path: str | None = None
    meta: JsonObject = {}  # noqa: RUF012 - a default that nobody changes
    record_id: str | None = None
    partition: str | None = None


@dataclass(frozen=True, slots=True)
class PurgeOptions:
    """`only`: not the chains of the records. `passage`: of what holds a match, the match alone. `derived`: what was
    derived from nothing else goes too. More than `most_records` are refused: a search term too many."""

    only: bool = False
    passage: bool = False
    derived: bool = False
    most_records: int = 10_000


class PurgeMatch(NamedTuple):
    """One place of a match. `where` is a path or a record's id, `line` counts from 1 in a file, `masked` shows the last
    two characters at most."""

    where: str
    line: int | None
    masked: str
    kind: Literal["record", "file", "name"]


@dataclass(frozen=True, slots=True)
class CutPlan:
    """What a purge does to a history.

    leaves       what stands in the place of each named leaf; None where a record is gone
    record_ids   of the records that go (or become tombstones); with a passage, records that only lose it are not here
    partitions   archive paths of those that lose something
    files        {path: matches in all its versions}
    hits         where, masked, each place once
    names        paths whose name holds a match, and entries whose meta does: both are covered by digests and stay
    dropped      paths whose body goes whole in some version, for it could not be read without the match
    spared       ids of records that were derived from purged ones and from others
    """

    leaves: dict[bytes, LeafReplacement | None] = field(default_factory=dict)
    record_ids: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    files: dict[str, int] = field(default_factory=dict)
    hits: list[PurgeMatch] = field(default_factory=list)
    names: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
