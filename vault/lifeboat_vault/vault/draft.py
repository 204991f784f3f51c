"""The changes that a capture wants to make on top of the head."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.redaction.redactions import NONE, Redactions
from lifeboat_alf.states.agent_state import Entry, GoneRecord, Leaf, Operation, Record, State, record_place
from lifeboat_vault.errors import DraftInvalid

Body = bytes | Path | Callable[[], bytes]


class EntryPut(NamedTuple):
    """A new or changed entry.

    `body` None: the bytes stay those of the head and only `meta` is new. A path names a staged file, which is read
    whole and never removed here; a callable is called when its turn comes. `leaf` is given when a state is taken over
    with its commitments (an import); then `body` may be None or raise BodyAbsent, and `size` (bytes) and `sha256` (hex)
    describe it.
    """

    meta: JsonObject
    body: Body | None = None
    leaf: Leaf | None = None
    size: int = 0
    sha256: str | None = None


class RecordPut(NamedTuple):
    """One record line (JSON without newline) and its operation.

    `create` appends to the partition. `update` replaces the line of a known id. `delete` replaces it too or, for an
    unknown id, appends a tombstone (ALF §3.1.8). `leaf` as in `EntryPut`. `line` None is a gone record, of which a
    redaction left only the leaf.
    """

    operation: Operation
    id: str
    partition: str
    line: bytes | None
    leaf: Leaf | None = None


@dataclass(frozen=True)
class Draft:
    """Changes on top of the head. `entries` by path; None removes one.

    `records` may be an iterator of any length, read once, in the order of appending; each id occurs once. It is read to
    its end before `entries` is used, so producing records may still complete the entries. `redactions` are those known
    to the sender; they are not trusted, and name what the vault lacks. `counts` says in numbers what changed; it is
    read after `records`. `purges` is how many redactions were known when the draft was begun, because it may contain
    what a later one destroyed.
    """

    entries: Mapping[str, EntryPut | None] = field(default_factory=dict)
    records: Iterable[RecordPut] = ()
    redactions: Redactions = NONE
    counts: JsonObject | None = None
    purges: int | None = None


def draft_of_state(state: State) -> Draft:
    """Return the draft that makes an empty vault hold exactly `state`, leaf by leaf, so that digest and signature stay
    valid.

    Bodies are read from the state one at a time during the commit; keep it open until then.
    """
    entries = {
        entry.path: EntryPut(entry.meta, partial(state.body, entry.path), entry.leaf, entry.size, entry.sha256)
        for entry in state.entries()
    }
    return Draft(entries, (_record_put("create", item) for item in _every_record(state)), state.redactions)


def _every_record(state: State) -> Iterator[Record | GoneRecord]:
    """Yield all records in the order of their places, including gone ones."""
    streams: tuple[Iterator[Record | GoneRecord], ...] = (state.records(), state.gone())
    return heapq.merge(*streams, key=record_place)


def draft_of_delta(state: AppliedState) -> Draft:
    """Return the draft that leads a vault from the delta's base, which is its head, to `state`, leaf by leaf.

    Bodies are read from the delta during the commit, so keep it open. Raises DraftInvalid for a delta that removes
    records, which never happens between two sequences of one agent.
    """
    if state.removed_records:
        raise DraftInvalid(
            "a delta between two sequences marks removed records with tombstones, but this delta removes "
            f"{len(state.removed_records)} records without them"
        )
    entries = {path: None if entry is None else _put(state, entry) for path, entry in state.changed_entries.items()}
    return Draft(entries, _changed_records(state), state.redactions)


def _changed_records(state: AppliedState) -> Iterator[RecordPut]:
    """Yield changes in place first, then appended records in the order of their places, including gone ones."""
    appended: list[Record | GoneRecord] = []
    for operation, record in state.changed_records():
        if operation == "create":
            appended.append(record)
        else:
            yield _record_put(operation, record)
    before = {each.id: each for each in state.base.gone()}
    for gone in state.gone():
        if gone.id in before or state.base.record(gone.id) is not None:
            if before.get(gone.id) != gone:
                yield _record_put("update", gone)
        else:
            appended.append(gone)
    yield from (_record_put("create", each) for each in sorted(appended, key=record_place))


def _record_put(operation: Operation, item: Record | GoneRecord) -> RecordPut:
    line = item.line if isinstance(item, Record) else None
    return RecordPut(operation, item.id, item.partition, line, item.leaf)


def _put(state: AppliedState, entry: Entry) -> EntryPut:
    before = state.base.entry(entry.path)
    unchanged = before is not None and before.leaf == entry.leaf
    body = None if unchanged else partial(state.body, entry.path)
    return EntryPut(entry.meta, body, entry.leaf, entry.size, entry.sha256)
