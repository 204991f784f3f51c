"""Collect the changes of memories between two sequences, one for each memory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.states.agent_state import Record, State
from lifeboat_vault.vault import SequenceRow, Vault

CREATED, UPDATED, DELETED = "created", "updated", "deleted"


@dataclass(frozen=True, slots=True)
class TextChange:
    """How one memory differs between two sequences.

    `before` and `after` are its texts, None for none. `sequence` wrote the present text; it may have been thinned
    since. `time` and `kind` are those of the first kept sequence with it. `session` is the one that the runtime named,
    None if it stored none.
    """

    id: str
    operation: str
    before: str | None
    after: str | None
    sequence: int
    time: str
    kind: str
    writer: str
    origin_file: str
    memory_type: str
    session: str | None

    @property
    def size(self) -> int:
        """Return how many bytes the memory has now."""
        return len((self.after or "").encode())

    @property
    def changed_bytes(self) -> int:
        """Return how many bytes of the former text are gone."""
        old, new = self.before or "", self.after or ""
        start = _common(old, new)
        kept = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - start)
        return len(old[start : len(old) - kept].encode())


def _common(one: str, other: str) -> int:
    """Return how many characters at the beginning are equal."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # the longest equal beginning, by halving: comparing slices is fast
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def collect_changes(vault: Vault, base: int, new: int) -> list[TextChange]:
    """Return the memories whose text differs between two kept sequences, the newest change first. Purged texts,
    changes of blank lines around a text and of other properties are left out. Raises UnknownSequence."""
    pairs = [(one, other) for one, other in vault.record_pairs(base, new) if other is not None]
    parsed = {other.id: memory_records.parse_record(other.line) for _, other in pairs}
    former = {other.id: _text_of(one) for one, other in pairs}
    superseded = {str(record["supersedes"]) for record in parsed.values() if record.get("supersedes")}
    purged = vault.redactions.record_ids
    before_state = vault.state(base)
    found: list[tuple[str, JsonObject, str | None]] = []
    for record_id, record in parsed.items():
        if record_id in superseded or record_id in purged:
            continue
        before = _text_before(record, parsed, former, before_state)
        if _is_other_text(before, _visible_text(record)):
            found.append((record_id, record, before))
    return _described(vault, found)


def _is_other_text(before: str | None, after: str | None) -> bool:
    """Return whether a text changed in more than the blank lines around it: a memory that is added behind another one
    adds such a line."""
    if before is None or after is None:
        return before is not after
    return before.strip() != after.strip()


def _text_before(
    record: JsonObject, parsed: Mapping[str, JsonObject], former: Mapping[str, str | None], state: State
) -> str | None:
    """Return the text that a memory had at the base: its own, or that of the record which its chain superseded."""
    seen = set()
    while record.get("supersedes") and former.get(str(record["id"])) is None:
        earlier = str(record["supersedes"])
        if earlier in seen:
            return None
        seen.add(earlier)
        if earlier not in parsed:
            item = state.record(earlier)
            return None if item is None else _text_of(item)
        record = parsed[earlier]
    return former.get(str(record["id"]))


def _text_of(item: Record | None) -> str | None:
    return None if item is None else _visible_text(memory_records.parse_record(item.line))


def _visible_text(record: JsonObject) -> str | None:
    if memory_records.is_deleted(record) or memory_records.is_missing(record):
        return None
    return str(record.get("content", ""))


def _described(vault: Vault, found: Iterable[tuple[str, JsonObject, str | None]]) -> list[TextChange]:
    listed = list(found)
    written = vault.written_by([record_id for record_id, _, _ in listed])
    rows = vault.sequences()
    numbers = [row.number for row in rows]
    changes = [
        _change(record, before, written[record_id], rows[min(bisect_left(numbers, written[record_id]), len(rows) - 1)])
        for record_id, record, before in listed
        if record_id in written
    ]
    return sorted(changes, key=lambda change: (-change.sequence, change.origin_file, change.id))


def _change(record: JsonObject, before: str | None, number: int, row: SequenceRow) -> TextChange:
    after = _visible_text(record)
    source = as_object(record.get("source"))
    session = source.get("session_id")
    operation = DELETED if after is None else CREATED if before is None else UPDATED
    return TextChange(
        id=str(record["id"]),
        operation=operation,
        before=before,
        after=after,
        sequence=number,
        time=row.recorded_at,
        kind=row.kind,
        writer=row.writer,
        origin_file=memory_records.origin_file(record),
        memory_type=str(record.get("memory_type", "semantic")),
        session=session if isinstance(session, str) else None,
    )
