"""Input and result of planning a purge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import LeafReplacement
from lifeboat_alf.states.agent_state import Leaf


class PurgeItem(NamedTuple):
    """One object of a history, once for each row that names it: `path` and `meta` of an entry, or `record_id` and
    `partition` of a record.

    `body` reads the current bytes and raises KeyError where they are not held.
    """

    leaf: Leaf
    body: Callable[[], bytes]
    path: str | None = None
    meta: JsonObject = {}  # noqa: RUF012 - a default that is never changed
    record_id: str | None = None
    partition: str | None = None


@dataclass(frozen=True, slots=True)
class PurgeOptions:
    """Options of a purge. `only`: leave the chains of the records. `passage`: remove only the match from what holds it.
    `derived`: also remove records derived from nothing else. More than `most_records` records are refused, as a sign of
    a term that is too broad."""

    only: bool = False
    passage: bool = False
    derived: bool = False
    most_records: int = 10_000


class PurgeMatch(NamedTuple):
    """One place of a match. `where` is a path or a record id, `line` counts from 1 in a file, `masked` shows at most
    the last two characters."""

    where: str
    line: int | None
    masked: str
    kind: Literal["record", "file", "name"]


@dataclass(frozen=True, slots=True)
class CutPlan:
    """Effects of a purge on a history.

    leaves       replacement of each named leaf; None where a record is gone
    record_ids   records that are removed or become tombstones; records that only lose a passage are not listed
    partitions   archive paths of the partitions that lose something
    files        {path: matches in all its versions}
    hits         masked places, each once
    names        paths whose name or meta holds a match; digests cover both, so they stay
    dropped      paths whose body is removed whole in some version, because it could not be read without the match
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
