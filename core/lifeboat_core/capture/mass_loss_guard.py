"""Decide whether what a capture removes looks like an accident. The capture is committed all the same and marked as
held.

Losses are added up since the last accepted or verified sequence, and over one day, because an accident can happen in
small steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from lifeboat_alf.common import times
from lifeboat_alf.memory.mass_removal import MassRemovalLimits, is_file_loss, is_memory_loss
from lifeboat_vault.vault import SequenceRow

DECISION = "held"
ACCEPTED = "accepted"
PIN = "held"
DAY = timedelta(days=1)
MOST_OF_A_FILE = 0.8
MEMORIES, FILES = "memories", "files"
"""What a decision says was removed. A decision of an earlier release has no such field and means memories."""


class MemoryTurnover(NamedTuple):
    """Memories before this capture, created and deleted by it, and by file: lost, `held` before and `left` after."""

    before: int
    created: int
    deleted: int
    lost: Counter[str]
    held: Mapping[str, int]
    left: Mapping[str, int]


class FileTurnover(NamedTuple):
    """Files of the workspace before this capture, created and removed by it."""

    before: int
    created: int
    deleted: int


def judge_memories(
    change: MemoryTurnover, rows: Iterable[SequenceRow], since: int, now: datetime, limits: MassRemovalLimits
) -> str | None:
    """Return the reason to hold for the user; None when the loss is small. `since` is the last accepted or verified
    sequence."""
    if not change.deleted:
        return None
    for window, period in _windows(rows, since, now):
        reason = _share(change, window, limits, period)
        if reason is not None:
            return reason
    return _template(change, limits)


def judge_files(
    change: FileTurnover, rows: Iterable[SequenceRow], since: int, now: datetime, limits: MassRemovalLimits
) -> str | None:
    """Return the reason to hold for the files of a workspace, as `judge_memories` does for memories. New files are
    counted against removed ones, because a renamed folder removes and creates files."""
    if not change.deleted:
        return None
    for window, period in _windows(rows, since, now):
        created = change.created + sum(_count(row, FILES, "put") for row in window)
        deleted = change.deleted + sum(_count(row, FILES, "removed") for row in window)
        at_start = change.before - change.deleted + change.created + deleted - created
        if is_file_loss(at_start, created, deleted, limits):
            return f"{deleted - created} of {at_start} files were removed {period}"
    return None


def _windows(rows: Iterable[SequenceRow], since: int, now: datetime) -> Iterator[tuple[list[SequenceRow], str]]:
    later = [row for row in rows if row.number > since and row.kind == "capture" and row.base is not None]
    yield [row for row in later if now - times.parse_time(row.time) <= DAY], "within a day"
    yield later, "since the agent was last verified or accepted"


def is_loss_over(before: set[str], now: set[str], lost: int, limits: MassRemovalLimits) -> bool:
    """Return whether the loss of a held sequence is undone: fewer of the memories or files before it are missing than
    would be reported, and fewer than it took. `now` has every id of each memory's chain."""
    missing = len(before - now)
    return not missing or missing < min(lost, limits.minimum)


def _share(change: MemoryTurnover, window: list[SequenceRow], limits: MassRemovalLimits, period: str) -> str | None:
    deleted = change.deleted + sum(_count(row, "records", "deleted") for row in window)
    created = sum(_count(row, "records", "created") for row in window)
    at_start = max(change.before + deleted - change.deleted - created, 1)
    if not is_memory_loss(at_start, created + change.created, deleted, limits):
        return None
    # counts memories that were created and removed in between
    return f"{deleted} of {at_start + created} memories were removed {period}"


def _count(row: SequenceRow, kind: str, name: str) -> int:
    return int(row.counts.get(kind, {}).get(name, 0))


def _template(change: MemoryTurnover, limits: MassRemovalLimits) -> str | None:
    """Return the reason to hold when a file that held memories lost nearly all of them, as when a template overwrote
    it."""
    for path, lost in sorted(change.lost.items()):
        before, after = change.held.get(path, 0), change.left.get(path, 0)
        if before >= limits.minimum and lost >= MOST_OF_A_FILE * before and 0 < after < before / 2:
            return f"the file {path.rpartition('/')[2]} was replaced: {lost} of its {before} memories are missing"
    return None
