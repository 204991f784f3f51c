"""Timing, budgets and the table of results."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

NEAR = 1.5
"""A budget missed by less than this factor is a near miss, because machines differ that much."""


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def repeated(
    work: Callable[[int], object], times: int, *, before: Callable[[int], object] | None = None
) -> list[float]:
    """Return the times of several runs. `before` prepares each run and is not measured."""
    found = []
    for number in range(times):
        if before is not None:
            before(number)
        found.append(seconds(lambda number=number: work(number)))  # type: ignore[misc]
    return found


def in_turn(times: int, *works: Callable[[int], object] | None) -> list[list[float] | None]:
    """Return the times of several measurements that take turns, so that other load affects all of them. None for a
    missing tool."""
    found: list[list[float] | None] = [None if work is None else [] for work in works]
    for number in range(times):
        for work, taken in zip(works, found, strict=True):
            if work is not None and taken is not None:
                taken.append(seconds(partial(work, number)))
    return found


def quantile(times: Sequence[float], share: float) -> float:
    """Return the time that this share of all times did not exceed."""
    return sorted(times)[max(0, round(len(times) * share) - 1)]


def p95(times: Sequence[float]) -> float:
    return quantile(times, 0.95)


median = statistics.median


def median_or_none(times: Sequence[float] | None) -> float | None:
    """Return the median, or None for a missing tool."""
    return None if times is None else median(times)


@dataclass(frozen=True)
class Budget:
    """`value` must be at most `limit`; `text` describes the budget."""

    text: str
    value: float
    limit: float

    @property
    def verdict(self) -> str:
        if self.value <= self.limit:
            return "pass"
        return "near" if self.value <= self.limit * NEAR else "miss"


@dataclass(frozen=True)
class Row:
    """One line of the table: what was done, its time or size, and what it is compared with."""

    work: str
    ours: str
    rival: str = ""
    theirs: str = ""
    ratio: str = ""
    budgets: list[Budget] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        verdicts = {budget.verdict for budget in self.budgets}
        return next((word for word in ("miss", "near", "pass") if word in verdicts), "")


def faster(work: str, ours: float, rival: str, theirs: float | None, limit: float, *more: Budget) -> Row:
    """Return a row that compares two times. Ours must be at most `limit` times theirs; `theirs` is None if it was not
    measured."""
    if theirs is None:
        return beside(work, ours, rival, None, *more)
    wanted = f"<= {limit:g} x" if limit >= 0.2 else f">= {1 / limit:g} x faster"
    return beside(work, ours, rival, theirs, Budget(wanted, ours / theirs, limit), *more)


def beside(work: str, ours: float, rival: str, theirs: float | None, *budgets: Budget) -> Row:
    """Return a row that shows two times without a budget for their ratio."""
    if theirs is None:
        return Row(work, duration(ours), rival, "not installed", "", list(budgets))
    ratio = ours / theirs
    return Row(work, duration(ours), rival, duration(theirs), times_as(ratio, "faster"), list(budgets))


def times_as(ratio: float, word: str) -> str:
    """Return a ratio with a word, inverted if it is small."""
    return f"{ratio:.2f} x" if ratio >= 0.1 or ratio <= 0 else f"{1 / ratio:.0f} x {word}"


def duration(value: float) -> str:
    return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"


def size(value: float) -> str:
    for unit, factor in (("MB", 1_000_000), ("KB", 1_000)):
        if value >= factor:
            return f"{value / factor:.1f} {unit}"
    return f"{value:.0f} bytes"


def table(rows: Iterable[Row]) -> str:
    """Return the rows in columns."""
    cells = [("work", "lifeboat", "beside", "", "ratio", "budget", "")]
    for row in rows:
        budget = ", ".join(budget.text for budget in row.budgets)
        cells.append((row.work, row.ours, row.rival, row.theirs, row.ratio, budget, row.verdict))
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells
    )
