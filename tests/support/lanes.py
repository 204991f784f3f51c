"""Decide which tests a run takes: the fast targets always, the slow ones by part and by what a change can affect.

Everything here is decided from plain data; `tests/run.py` asks git and starts processes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from support.paths import TESTS

PARTS = 4
"""Number of parts of a slow target. Each commit runs one part, so that this many commits run all."""
UNRECORDED_SECONDS = 30.0
"""Seconds assumed for a module of a slow target without recorded seconds."""


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
    """Maximum seconds for the slow parts of one CI run."""
    ci_seconds: float
    """Seconds of a CI run after which no further slow part starts, because the machine is too slow at that time."""


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
    """Divide modules with their seconds into `PARTS` parts of about the same length. The same input gives the same
    division."""
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
    """Return the names in circular order with a different start each turn, so that lack of time does not always skip
    the same target."""
    first = turn % len(names) if names else 0
    return [*names[first:], *names[:first]]
