"""Decide which tests a run takes: the fast targets always, the slow ones by part and by what a change can affect.

Everything here is decided from plain data; `tests/run.py` asks git and starts processes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from support.paths import TESTS

PARTS = 4
"""Of a slow target; each is run by one of so many commits in a row."""
UNRECORDED_SECONDS = 30.0
"""Assumed for a module of a slow target that was never recorded."""


@dataclass(frozen=True, slots=True)
class SlowTarget:
    """A target that is too slow for every run. `modules` are paths of test modules, or rows of the benchmark."""

    name: str
    folder: str
    parallel: bool
    pytest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lanes:
    """`tests/lanes.toml`: folders by fast target, slow targets by name, and the slow targets by folder of a change."""

    fast: Mapping[str, Sequence[str]]
    slow: Mapping[str, SlowTarget]
    affects: Mapping[str, Collection[str]]
    slow_seconds: float
    """What the slow parts of one run of CI may take together."""
    ci_seconds: float
    """After so many seconds of a run of CI no slow part goes on: the machine is too slow that hour."""


def load_lanes() -> Lanes:
    """Read `tests/lanes.toml`."""
    read = tomllib.loads((TESTS / "lanes.toml").read_text())
    slow = {
        name: SlowTarget(name, fields["folder"], fields["parallel"], tuple(fields.get("pytest", ())))
        for name, fields in read["slow"].items()
    }
    return Lanes(read["fast"], slow, read["affects"], read["ci"]["slow_minutes"] * 60.0, read["ci"]["minutes"] * 60.0)


def affected_targets(lanes: Lanes, changed: Iterable[str]) -> list[str]:
    """Return the slow targets that can notice a change of these files, in the order of the file of lanes.

    A file outside every folder of the map (`pyproject.toml`, a lock file) affects the packages.
    """
    found: set[str] = set()
    for path in changed:
        fitting = [folder for folder in lanes.affects if path.startswith(f"{folder}/")]
        found.update(lanes.affects[max(fitting, key=len)] if fitting else ["package"])
    return [name for name in lanes.slow if name in found]


def divide_into_parts(modules: Mapping[str, float]) -> list[list[str]]:
    """Divide modules with their seconds into `PARTS` of about the same length; the same division every time."""
    parts: list[list[str]] = [[] for _ in range(PARTS)]
    seconds = [0.0] * PARTS
    for module in sorted(modules, key=lambda each: (-modules[each], each)):
        shortest = seconds.index(min(seconds))
        parts[shortest].append(module)
        seconds[shortest] += modules[module]
    return parts


def choose_parts(
    seconds: Mapping[str, Sequence[float]], affected: Collection[str], turn: int, allowed: float
) -> dict[str, list[int]]:
    """Return the parts of each slow target to run, numbered from 0.

    `seconds` are those of each part by target. Part `turn` modulo `PARTS` of every target is always run, so that
    `PARTS` turns in a row run everything. Of affected targets the parts whose turn comes next are run as well, one of
    each at a time, while all of it takes `allowed` seconds at most.
    """
    first = turn % PARTS
    chosen = {name: [first] for name in seconds}
    left = allowed - sum(parts[first] for parts in seconds.values())
    for step in range(1, PARTS):
        part = (first + step) % PARTS
        for name in seconds:
            if name in affected and seconds[name][part] <= left:
                chosen[name].append(part)
                left -= seconds[name][part]
    return {name: sorted(parts) for name, parts in chosen.items()}


def in_turn(names: Sequence[str], turn: int) -> list[str]:
    """Return the names in the same circle, beginning with another one each turn: where time runs out, it is not always
    the same target that is left out."""
    first = turn % len(names) if names else 0
    return [*names[first:], *names[:first]]
