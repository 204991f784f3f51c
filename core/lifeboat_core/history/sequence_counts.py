"""What a sequence changed, in numbers. Captures count while they run; data from a remote is counted when it arrives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import msgspec

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State
from lifeboat_vault.vault import Draft, EntryPut, RecordPut

LINE_WORDS = {"create": "created", "update": "updated", "delete": "deleted"}
"""The word for people for each operation on a line."""


class _RecordChange(msgspec.Struct):
    """The fields of a record line that say whether it ends or replaces another record."""

    status: object = None
    supersedes: object = None


_decoder = msgspec.json.Decoder(_RecordChange)


def count_draft(draft: Draft, before: State | None) -> Draft:
    """Return the draft with counts of its memories and files, as a capture has them.

    `before` is the state below the draft, None for the first one. The counts are complete once the records were read.
    """
    raw = Counter(word for path, put in draft.entries.items() if (word := _file_change(path, put, before)))
    counts: JsonObject = {"records": {}, "raw": dict(raw)}
    return replace(draft, records=_counted(draft.records, counts, is_first=before is None), counts=counts)


def _file_change(path: str, put: EntryPut | None, before: State | None) -> str | None:
    if not path.startswith((archive_layout.RAW, archive_layout.ARTIFACTS)):
        return None
    if put is None:
        return "removed"
    if put.body is None:  # only its description changed
        return None
    return "put" if before is None or before.entry(path) is None else "patched"


def _counted(records: Iterable[RecordPut], counts: JsonObject, *, is_first: bool) -> Iterator[RecordPut]:
    found: Counter[str] = Counter()
    for put in records:
        found.update(_first_count(put) if is_first else _count(put))
        yield put
    counts["records"] = dict(found)


def _first_count(put: RecordPut) -> Mapping[str, int]:
    """Count a line of a whole state, which holds former memories with their successors and tombstones."""
    change = _read(put.line)
    if change is None:
        return {}
    is_alive, replaces = change.status != "deleted", change.supersedes is not None
    return {"created": int(is_alive) - int(replaces)}


def _count(put: RecordPut) -> Mapping[str, int]:
    """Count a line of a delta: a successor is an update, a tombstone a deletion."""
    change = _read(put.line)
    if change is None:
        return {}
    if change.status == "deleted":
        return {"deleted": 1}
    return {"updated" if change.supersedes is not None else LINE_WORDS[put.operation]: 1}


def _read(line: bytes | None) -> _RecordChange | None:
    """Return the fields of a line; None for a purged record or a line that is no JSON object."""
    try:
        return None if line is None else _decoder.decode(line)
    except msgspec.MsgspecError:
        return None


def read_counts(counts: JsonObject) -> JsonObject:
    """Return the counts of a kept sequence. A history that an older version fetched has counts of lines instead of
    memories, and none of files."""
    if "records" in counts or not counts.keys() & LINE_WORDS.keys():
        return counts
    return {**counts, "records": {word: counts.get(line, 0) for line, word in LINE_WORDS.items()}}
