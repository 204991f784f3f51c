"""The tables of docs/scaling.md, from the figures that were measured.

    python -m benchmarks.scaling [--write]

Everything follows from `scaling_figures.json` and seeds: a test holds the page against what is printed here. `--write`
rewrites the page. `python -m benchmarks.scaling_measure` takes the figures.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import scaling_day as days
from benchmarks import scaling_model as model
from benchmarks.scaling_model import FLEETS, HABITS, MIX, Figures, Prices

PAGE = Path(__file__).parent.parent / "docs" / "scaling.md"
AGENTS = 5_000
"""Agents of the simulated fleet."""
SMALL = 2
"""API processes and database cores that serve the fleet."""
_HOUR = 3600.0
_BEGIN, _END = 10 * _HOUR, 11 * _HOUR
_BETWEEN = re.compile(r"(<!-- (\w+): python -m benchmarks\.scaling -->\n).*?(<!-- end -->)", re.DOTALL)


def sections(known: Figures) -> dict[str, str]:
    """Return Markdown by the names of the page's sections."""
    arrivals = days.weekday(AGENTS)
    mean, busiest = len(arrivals) / model.DAY, days.busiest(arrivals)
    peak, there = busiest / mean, replace(days.cell(known, busiest), processes=SMALL, cores=SMALL)
    filled = model.USE * SMALL / max(there.api, there.database) / busiest * AGENTS
    laptops = round(filled * sum(MIX[habit.name] for habit in HABITS if habit.hours < 24), -3)
    return {
        "pushes": _pushes(known),
        "rows": _rows(known),
        "costs": _costs(known, Prices(), peak),
        "fleets": _fleets(known, Prices(), peak),
        "walls": _walls(known, peak),
        "day": _day(arrivals, there, busiest),
        "outage": _outages(arrivals, there),
        "herd": _herds(int(laptops), there),
        "assumed": _assumed(Prices()),
    }


def page(text: str, made: Mapping[str, str]) -> str:
    """Return the page with each section in its place."""
    return _BETWEEN.sub(lambda found: f"{found[1]}{made[found[2]]}\n{found[3]}", text)


# Tables ---------------------------------------------------------------------------------------------------------------


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    first, *others = (f"| {' | '.join(line)} |" for line in (head, *lines))
    return "\n".join([first, "|---" * len(head) + "|", *others])


def _pushes(known: Figures) -> str:
    lines = [
        [
            name,
            _bytes(one.delta),
            f"{one.api_cpu * 1000:.1f} ms",
            f"{one.database_cpu * 1000:.1f} ms",
            f"{one.median * 1000:.0f} ms, {one.p99 * 1000:.0f} ms",
            f"{one.statements:.0f}",
            f"{one.transactions:.1f}, {one.commits:.1f}",
            _bytes(one.wal),
            f"{one.pages:.0f}",
            f"{one.dead:.1f}",
        ]
        for name, one in known.shapes.items()
    ]
    head = "push, delta, CPU: API, CPU: database, median and p99, statements"
    rest = "transactions; writing ones, WAL, pages touched, dead rows"
    return table([*head.split(", "), *rest.split(", ")], lines)


def _rows(known: Figures) -> str:
    every = {habit.name: model.rows(habit) for habit in HABITS}
    lines = [
        [f"`{name}`", _bytes(known.row_bytes[name]), *(f"{every[habit.name][name]:,.0f}" for habit in HABITS)]
        for name in next(iter(every.values()))
    ]
    lines.append(["fixed rows per agent", _bytes(known.agent_bytes), "", "", ""])
    lines.append(["all rows", "", *(_bytes(model.row_bytes(habit, known)) for habit in HABITS)])
    lines.append(["bodies in rows", "", *(_bytes(model.body_bytes(habit, known)) for habit in HABITS)])
    lines.append(["bodies in objects", "", *(_bytes(model.object_bytes(habit)) for habit in HABITS)])
    return table(["after a year", "bytes of a row", *(habit.name for habit in HABITS)], lines)


def _costs(known: Figures, prices: Prices, peak: float) -> str:
    every = [model.monthly(habit, known, prices, peak) for habit in HABITS]
    lines = [[name, *(_usd(one[name]) for one in every)] for name in every[0]]
    lines.append(["**all**", *(f"**{_usd(sum(one.values()))}**" for one in every)])
    return table(["USD per agent and month", *(habit.name for habit in HABITS)], lines)


def _fleets(known: Figures, prices: Prices, peak: float) -> str:
    each = model.averaged({h.name: sum(model.monthly(h, known, prices, peak).values()) for h in HABITS})
    size, rate = model.database_bytes(known), model.pushes_a_second()
    lines = []
    for agents in FLEETS:
        there = days.cell(known, agents * rate * peak)
        lines.append(
            [
                f"{agents:,}",
                f"{_number(agents * rate)}, {_number(agents * rate * peak)}",
                _bytes(agents * size),
                f"{there.processes:,}, {there.cores:,}",
                f"{model.shards(agents, known, peak):,}",
                f"{each * agents:,.0f}",
            ]
        )
    head = "agents; pushes/s: mean, peak; database after a year, one copy; cores: API, database; databases"
    return table([*head.split("; "), "USD per month"], lines)


def _walls(known: Figures, peak: float) -> str:
    lines = [[wall.name, _agents(wall.agents), f"{wall.why}", wall.answer] for wall in model.walls(known, peak)]
    return table(["limit of", "agents", "assumed limit", "solution"], lines)


def _day(arrivals: Sequence[days.Arrival], there: days.Cell, busiest: float) -> str:
    lines = []
    for use in (0.3, 0.6, 0.8, 0.9, 1.0, 1.1):
        copies = use * SMALL / max(there.api, there.database) / busiest
        found = days.seen(days.served(days.crowd(arrivals, copies), there), there)
        lines.append([_agents(copies * AGENTS), *_fared(found)])
    return table(["agents", *_FARED], lines)


_FARED = ["pushes/s, busiest minute", "process load", "median", "p99", "concurrent pushes"]


def _fared(found: days.Seen) -> list[str]:
    busy = f"{found.busy * 100:.0f} %"
    return [f"{found.a_second:.0f}", busy, _seconds(found.median), _seconds(found.p99), f"{found.deepest:,}"]


def _outages(arrivals: Sequence[days.Arrival], there: days.Cell) -> str:
    lines = []
    for chance, said in ((0.0, "none"), (0.25, "a quarter (current)"), (1.0, "the whole pause")):
        found = days.outage(arrivals, there, _BEGIN, _END, chance)
        lines.append(
            [
                said,
                f"{found.waiting:,}",
                f"{found.refused:,}",
                f"{found.in_a_second}, {found.in_a_minute:.0f}",
                f"{found.half / 60:.0f}, {found.most / 60:.0f}, {found.all / 60:.0f} min",
                _seconds(found.after.p99),
                f"{found.after.deepest:,}",
            ]
        )
    head = [
        "random extra pause",
        "waiting agents",
        "failed requests",
        "pushes/s: busiest second, busiest minute",
        "half, 99 %, all back after",
        "p99 in the first hour",
        "concurrent pushes",
    ]
    return table(head, lines)


def _herds(agents: int, there: days.Cell) -> str:
    lines = []
    for within in (0.001, 60.0, 300.0, 900.0):
        found = days.herd(agents, there, within)
        said = "at once" if within < 1 else f"within {within:.0f} s"
        lines.append([said, _seconds(found.median), _seconds(found.p99), f"{found.deepest:,}"])
    return table([f"{agents:,} agents push once", "median", "p99", "concurrent pushes"], lines)


def _assumed(prices: Prices) -> str:
    habits = [
        [h.name, f"{MIX[h.name] * 100:.0f} %", str(h.pushes), str(h.hours), str(h.files), f"{h.large:g}"]
        for h in HABITS
    ]
    first = table(["habit", "share", "pushes a day", "hours awake", "files", "bodies of 500 KB a day"], habits)
    money = ", ".join(f"{name.replace('_', ' ')} = {value:g}" for name, value in vars(prices).items())
    even = [[f"{days_} days", _bytes(model.break_even(prices, days_))] for days_ in (1, 7, 90, 365)]
    third = table(["body kept for", "equal cost in row and object at"], even)
    return "\n\n".join((first, f"Prices (USD) and counts: {money}.", third))


# Words ----------------------------------------------------------------------------------------------------------------


def _bytes(value: float) -> str:
    for unit, factor in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} B"


def _usd(value: float) -> str:
    return f"{value:.2g}" if value < 1 else f"{value:.2f}"


def _number(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def _agents(value: float) -> str:
    """Round to two digits: the figures are not known better."""
    digits = 10 ** max(0, len(str(int(value))) - 2)
    return f"{round(value / digits) * digits:,}"


def _seconds(value: float) -> str:
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description="The tables of docs/scaling.md.")
    parser.add_argument("--write", action="store_true", help="rewrite the page")
    known = model.figures()
    if parser.parse_args().write:
        PAGE.write_text(page(PAGE.read_text(), sections(known)))
        return
    for name, text in sections(known).items():
        print(f"{name}\n\n{text}\n")


if __name__ == "__main__":
    main()
