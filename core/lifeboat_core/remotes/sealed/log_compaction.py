"""Which files a log should consist of, so that it stays small although only its writer can read it.

A log is one snapshot and the deltas on top of it, and from time to time another snapshot. A new snapshot pays when the
deltas since the last one are many and have an eighth of its bytes, or have as many bytes, or are very many. So at most
nine times the changed bytes are sent, and a restore reads few files. With a new snapshot, states that were thinned here
are removed there: the deltas around them become one, made from the states of this machine. What this machine cannot
make stays, and so does everything on which a kept state rests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lifeboat_core.remotes.sealed.bundle_chain import BundleChain
from lifeboat_core.remotes.sealed.log_head import LogGrowth, LogRow

MANY = 64
VERY_MANY = 1024
"""Deltas since a snapshot."""
LITTLE = 1 << 20
"""Bytes of a few deltas that are not worth a snapshot."""
_SHARE = 8


def is_snapshot_due(grown: LogGrowth) -> bool:
    """Return whether a new snapshot pays."""
    heavy = grown.deltas >= MANY and grown.bytes * _SHARE >= grown.snapshot
    return heavy or grown.deltas >= VERY_MANY or (grown.deltas > 1 and grown.bytes >= max(grown.snapshot, LITTLE))


@dataclass(frozen=True, slots=True)
class PlannedBundle:
    """A file that does not exist yet: the snapshot of a state (`on` None), or the delta to it."""

    number: int
    on: int | None


def plan_compaction(
    rows: Sequence[LogRow], gone: Collection[int], here: Collection[int], *, with_snapshot: bool
) -> list[LogRow | PlannedBundle]:
    """Return what the log should consist of, in order: for each number its delta, then its snapshot.

    States in `gone` are removed, except for the newest and those that others need and this machine (which has `here`)
    cannot make.
    """
    chain = BundleChain(rows)
    if not chain.numbers:
        return list(rows)
    planned: list[LogRow | PlannedBundle] = []
    before: int | None = None
    for number, wanted in _wanted(chain, set(gone), set(here)):
        if before is not None:
            planned.append(wanted)
        if before is None or number in chain.snapshots or (with_snapshot and number == chain.numbers[-1]):
            planned += _snapshot(chain, number, set(here))
        before = number
    return _without_spare_snapshots(planned)


def _wanted(chain: BundleChain, gone: set[int], here: set[int]) -> Iterator[tuple[int, LogRow | PlannedBundle]]:
    """Yield (number, its file), oldest first; for the first one its snapshot."""
    numbers = _closed(chain, gone, here)
    for before, number in zip([None, *numbers], numbers, strict=False):
        known = chain.snapshots.get(number) if before is None else chain.deltas.get(number)
        if known is not None and known.on == before:
            yield number, known
        else:
            yield number, PlannedBundle(number, before)


def _closed(chain: BundleChain, gone: set[int], here: set[int]) -> list[int]:
    """Return the kept numbers, and those between them without which a needed file could not be made."""
    every = chain.numbers
    kept = [number for number in every if number not in gone or number == every[-1]]
    first = kept[0]
    if first not in chain.snapshots and first not in here:
        kept = [*(row.number for row in chain.path_to(first)[:-1]), *kept]
    closed = kept[:1]
    for before, number in pairwise(kept):
        delta = chain.deltas.get(number)
        stays = delta is not None and delta.on == before
        if not stays and not {before, number} <= here:
            closed += [between for between in every if before < between < number]
        closed.append(number)
    return closed


def _snapshot(chain: BundleChain, number: int, here: set[int]) -> list[LogRow | PlannedBundle]:
    if number in chain.snapshots:
        return [chain.snapshots[number]]
    return [PlannedBundle(number, None)] if number in here else []


def _without_spare_snapshots(planned: list[LogRow | PlannedBundle]) -> list[LogRow | PlannedBundle]:
    """Keep between the first snapshot and the newest only one that saves a reader as many bytes as it takes."""
    snapshots = [each for each in planned if each.on is None]
    kept: list[LogRow | PlannedBundle] = []
    weight = 0
    for each in planned:
        if each.on is not None:
            weight += _bytes(each)
        elif each in (snapshots[0], snapshots[-1]) or weight >= _bytes(each):
            weight = 0
        else:
            continue
        kept.append(each)
    return kept


def _bytes(each: LogRow | PlannedBundle) -> int:
    return each.stored.size if isinstance(each, LogRow) else 0


def count_growth(rows: Sequence[LogRow]) -> LogGrowth:
    """Return what came since the newest snapshot."""
    grown = LogGrowth()
    for row in rows:
        grown = add_growth(grown, row)
    return grown


def add_growth(grown: LogGrowth, row: LogRow) -> LogGrowth:
    """Return the growth with one more row."""
    if row.is_snapshot:
        return LogGrowth(0, 0, row.stored.size)
    return LogGrowth(grown.deltas + 1, grown.bytes + row.stored.size, grown.snapshot)
