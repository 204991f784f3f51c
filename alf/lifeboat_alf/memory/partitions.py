"""Decide which time partition a record belongs to, and when a partition is sealed (ALF §4.1.1).

The rules, all of them pure functions of the partition list and of the time of the capture:

- A partition covers the days `first`..`last`, by `temporal.created_at` in UTC. Ranges never overlap; `last` stays None
  until the partition is sealed.
- Only the first capture of an agent fills past periods. Later, a record goes where its own day belongs only while that
  partition is open; otherwise it is dated with the capture. So nothing is ever added to a closed period, not even a
  new file for an old one.
- Sealing is decided at a capture and written into its delta. No reader asks a clock.
- A switch to monthly partitions moves no record: the open quarter keeps the days it already has and is closed after
  them (`closes` in its manifest entry); the next day opens the file of its month. Back to quarterly: months go on
  until the quarter ends. Thus every file covers one unbroken range.
- If the clock has fallen behind the open partition (it had once been ahead), records are dated with that partition's
  first day: an open range must hold them, and a sealed one must not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, NamedTuple

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import Partition

Granularity = Literal["quarterly", "monthly"]

CLOSES = "closes"
"""Extension field of an open partition that ends before its period does: the last day that it covers."""

_NAME = re.compile(r"(\d{4})-(?:Q([1-4])|(\d{2}))\.jsonl")
_ONE_DAY = timedelta(days=1)


class PartitionPlace(NamedTuple):
    """Time and partition of a new record."""

    created_at: str
    partition: Partition


def from_head(head: JsonObject) -> list[Partition]:
    """Return the partitions that a head (or the memory layer of a manifest) lists, by time.

    Raises KeyError or TypeError for entries without `file` and `from`.
    """
    return in_order(_from_item(item) for item in head.get("partitions", []))


def _from_item(item: JsonObject) -> Partition:
    extra = {key: value for key, value in item.items() if key not in ("file", "from", "to", "sealed")}
    return Partition(item["file"], item["from"], item.get("to"), bool(item.get("sealed", False)), extra)


def to_item(partition: Partition) -> JsonObject:
    """Return a partition as a head lists it."""
    own = {"file": partition.file, "from": partition.first, "to": partition.last, "sealed": partition.sealed}
    return {**own, **partition.extra}


def from_name(file: str) -> Partition:
    """Return an open partition with the range that its name states. Raises ValueError for any other name."""
    match = _NAME.fullmatch(file.rsplit("/", 1)[-1])
    if match is None:
        raise ValueError(f"the name of the partition {file} contains no quarter or month, for example 2026-Q1")
    month = int(match[3] or 3 * int(match[2]) - 2)
    return Partition(file, date(int(match[1]), month, 1).isoformat(), None, False)


def day_of(moment: str) -> date:
    """Return the UTC day of a timestamp or of a day written `YYYY-MM-DD`. Raises ValueError."""
    return date.fromisoformat(moment) if len(moment) == len("2026-11-20") else times.parse_time(moment).date()


def name_for(created_at: str, granularity: Granularity = "quarterly") -> str:
    """Return the archive path of the partition that covers a timestamp: `memory/partitions/2026-Q4.jsonl` or
    `2026-11`."""
    return _path(day_of(created_at), granularity)


def _path(day: date, granularity: Granularity) -> str:
    part = f"{day.month:02}" if granularity == "monthly" else f"Q{_quarter(day)}"
    return f"{archive_layout.PARTITIONS}{day.year:04}-{part}.jsonl"


def _quarter(day: date) -> int:
    return (day.month + 2) // 3


def period_around(day: date, granularity: Granularity = "quarterly") -> tuple[date, date]:
    """Return the first and last day of the period around a day."""
    months = 1 if granularity == "monthly" else 3
    month = day.month if granularity == "monthly" else _quarter(day) * 3 - 2
    return date(day.year, month, 1), _last_of_month(day.year, month + months - 1)


def _last_of_month(year: int, month: int) -> date:
    following = date(year + month // 12, month % 12 + 1, 1) if (year, month) != (date.max.year, 12) else None
    return following - _ONE_DAY if following else date.max


def end_of(partition: Partition) -> date:
    """Return the last day of a partition: as sealed, else as announced by `closes`, else by its name."""
    known = _known_day(partition.last) or _known_day(partition.extra.get(CLOSES))
    if known is not None:
        return known
    match = _NAME.fullmatch(partition.file.rsplit("/", 1)[-1])
    granularity: Granularity = "monthly" if match and match[3] else "quarterly"
    return period_around(first_day(partition), granularity)[1]


def first_day(partition: Partition) -> date:
    """Return the first day of a partition: as stated, else by its name. Without either it covers no current day."""
    known = _known_day(partition.first)
    if known is None:
        try:
            known = _known_day(from_name(partition.file).first)
        except ValueError:
            known = None
    return known or date.min


def _known_day(text: Any) -> date | None:
    """Return a day that an archive states; None for a malformed one."""
    try:
        return date.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None


def covers_day(partition: Partition, day: date) -> bool:
    """Return whether a day lies in a partition's range."""
    return first_day(partition) <= day <= end_of(partition)


def locate_partition(moment: str, partitions: Iterable[Partition]) -> Partition | None:
    """Return the partition whose range holds a timestamp, open or sealed; None when no range does."""
    return _holding(day_of(moment), partitions)


def _holding(day: date, partitions: Iterable[Partition]) -> Partition | None:
    return next((partition for partition in reversed(in_order(partitions)) if covers_day(partition, day)), None)


def in_order(partitions: Iterable[Partition]) -> list[Partition]:
    """Sort partitions by time, the order in which records were appended. After a switch paths sort differently."""
    return sorted(partitions, key=lambda partition: (partition.first, partition.file))


def open_partitions(partitions: Iterable[Partition]) -> list[Partition]:
    """Return the partitions that may still change."""
    return [partition for partition in in_order(partitions) if not partition.sealed]


def seal_partitions(partitions: Iterable[Partition], now: datetime) -> list[Partition]:
    """Return the partitions to seal at `now`, with `sealed` and `last` set."""
    today = now.astimezone(UTC).date()
    return [_sealed(partition) for partition in open_partitions(partitions) if end_of(partition) < today]


def _sealed(partition: Partition) -> Partition:
    extra = {key: value for key, value in partition.extra.items() if key != CLOSES}
    return replace(partition, sealed=True, last=end_of(partition).isoformat(), extra=extra)


def replace_partitions(partitions: Iterable[Partition], changed: Iterable[Partition]) -> list[Partition]:
    """Return a partition list in which `changed` replaces the partitions of the same file, or is added."""
    by_file = {partition.file: partition for partition in partitions}
    by_file.update({partition.file: partition for partition in changed})
    return in_order(by_file.values())


def switch_granularity(
    partitions: Iterable[Partition], granularity: Granularity, now: datetime, newest: str | None = None
) -> list[Partition]:
    """Return the partitions that change with an agent's granularity: the open quarter gets its last day.

    That day is the day of `newest` (the latest `created_at` in the open partition; today when None). So an idle agent's
    monthly file opens at once, and otherwise at the next midnight UTC.
    """
    if granularity != "monthly":
        return []
    last = day_of(newest) if newest else now.astimezone(UTC).date()
    return [_closing(partition, last) for partition in open_partitions(partitions) if last < end_of(partition)]


def _closing(partition: Partition, last: date) -> Partition:
    month_end = period_around(first_day(partition), "monthly")[1]
    if end_of(partition) <= month_end:
        return partition
    closes = max(last, first_day(partition))
    return replace(partition, extra={**partition.extra, CLOSES: closes.isoformat()})


def plan_partition(
    wanted: str | None,
    now: datetime,
    partitions: Sequence[Partition],
    *,
    first_capture: bool = False,
    granularity: Granularity = "quarterly",
) -> PartitionPlace:
    """Return `created_at` and partition of a new record.

    `wanted` is the day in a file's name, the runtime's time or the mtime at first sight (timestamp or `YYYY-MM-DD`);
    None means now. The partition may be new (not in `partitions`); then add it. Seal before placing, except in the
    first capture, which seals after it.
    """
    if wanted is not None:
        asked = _asked(wanted, now)
        found = _open_at(asked.date(), partitions, first_capture, granularity)
        if found is not None:
            return PartitionPlace(times.to_text(asked), found)
    return _place_now(now.astimezone(UTC), partitions, granularity)


def _asked(text: str, now: datetime) -> datetime:
    moment = times.parse_time(times.day_text(day_of(text)) if len(text) == len("2026-11-20") else text)
    return min(moment, now.astimezone(UTC))


def _open_at(
    day: date, partitions: Sequence[Partition], first_capture: bool, granularity: Granularity
) -> Partition | None:
    """Return the open partition that may hold a record of a day under that day."""
    found = _holding(day, partitions)
    if found is None and first_capture:
        return _new(day, partitions, granularity)
    return None if found is None or found.sealed else found


def _place_now(now: datetime, partitions: Sequence[Partition], granularity: Granularity) -> PartitionPlace:
    moment = times.to_text(max(now, _earliest(partitions)))
    return PartitionPlace(moment, locate_partition(moment, partitions) or _new(day_of(moment), partitions, granularity))


def _earliest(partitions: Sequence[Partition]) -> datetime:
    """Return the time before which nothing is added any more: start of the latest open range, or end of the sealed
    ones."""
    starts = (end_of(p) + _ONE_DAY if p.sealed else first_day(p) for p in partitions)
    latest = max(starts, default=date.min)
    return datetime(latest.year, latest.month, latest.day, tzinfo=UTC)


def _new(day: date, partitions: Sequence[Partition], granularity: Granularity) -> Partition:
    """Return a new partition around an uncovered day. It begins after the partition that covers the start of the
    period."""
    first, last = period_around(day, granularity)
    if granularity == "quarterly" and any(_overlaps(partition, first, last) for partition in partitions):
        granularity = "monthly"
        first, last = period_around(day, granularity)
    before = [end_of(p) + _ONE_DAY for p in partitions if first <= end_of(p) < day]
    return Partition(_path(day, granularity), max([first, *before]).isoformat(), None, False)


def _overlaps(partition: Partition, first: date, last: date) -> bool:
    return first_day(partition) <= last and end_of(partition) >= first


@dataclass(slots=True)
class PartitionLedger:
    """The partitions of an agent during one capture: applies the rules above and remembers what was opened and sealed.

    `partitions` is the current list; the capture writes it into the manifest's head when `changed`.
    """

    partitions: list[Partition]
    now: datetime
    granularity: Granularity = "quarterly"
    first_capture: bool = False
    changed: bool = False
    _open: dict[date, Partition | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    _placed_now: PartitionPlace | None = field(default=None, init=False, repr=False, compare=False)

    def place(self, wanted: str | None = None) -> PartitionPlace:
        """Place a record by `plan_partition`, decided once a day. A newly opened partition joins the list."""
        placed = self._place_at(_asked(wanted, self.now)) if wanted is not None else None
        if placed is None:
            placed = self._placed_now or _place_now(self.now.astimezone(UTC), self.partitions, self.granularity)
            self._join(placed.partition)
            self._placed_now = placed
        return placed

    def _place_at(self, asked: datetime) -> PartitionPlace | None:
        day = asked.date()
        if day not in self._open:
            found = _open_at(day, self.partitions, self.first_capture, self.granularity)
            if found is not None:
                self._join(found)
            self._open[day] = found
        partition = self._open[day]
        return None if partition is None else PartitionPlace(times.to_text(asked), partition)

    def _join(self, partition: Partition) -> None:
        if partition not in self.partitions:
            self._replace([partition])

    def seal(self, now: datetime | None = None) -> list[Partition]:
        """Seal what has ended at `now` (default: the ledger's). Call it first in a capture, but last in an agent's
        first capture."""
        sealed = seal_partitions(self.partitions, now or self.now)
        self._replace(sealed)
        return sealed

    def switch(self, granularity: Granularity, newest: str | None = None) -> None:
        """Switch to another granularity; see `switch_granularity`."""
        self._replace(switch_granularity(self.partitions, granularity, self.now, newest))
        self.granularity = granularity
        self._forget()

    def is_sealed(self, file: str) -> bool:
        """Return whether a partition can no longer change. An unknown file is open, because the capture is making
        it."""
        return any(partition.sealed for partition in self.partitions if partition.file == file)

    def _replace(self, changed: list[Partition]) -> None:
        if changed:
            self.partitions = replace_partitions(self.partitions, changed)
            self.changed = True
            self._forget()

    def _forget(self) -> None:
        self._open.clear()
        self._placed_now = None
