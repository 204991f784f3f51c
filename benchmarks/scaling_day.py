"""A simulated day of a fleet, an hour without its endpoint, and a network that returns: when pushes arrive and how long
they wait. Seeded, so every run gives the same numbers."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from benchmarks import measure
from benchmarks.scaling_model import HABITS, HOURS, MIX, USE, Figures, Habit

Arrival = tuple[float, int, int]
"""Second of the day, agent, and number of states in the push."""

_WAKES, _SPREAD = 9 * 3600.0, 2400.0
"""Time at which laptops wake up, and its standard deviation."""
_SESSION, _APART = 8, 40.0
"""Pushes per session, and average seconds between them."""
_MINUTES, _SHIFT = 6, 300.0
"""Minutes of the busiest time, and seconds by which the fleets of a crowd differ."""
_FIRST, _LONGEST = 60.0, 3600.0
"""First and longest delay in seconds before a client retries."""


@dataclass(frozen=True)
class Seen:
    """Latencies of requests in seconds; `busy` is the share of busy processes in the busiest minute."""

    requests: int
    a_second: float
    busy: float
    median: float
    p99: float
    deepest: int
    """Highest number of requests waiting at one time."""


@dataclass(frozen=True)
class Cell:
    """What serves the fleet: API processes and database cores, the seconds that a push takes of each, and `wait`, the
    seconds that it waits for disks and network. `spread` is the sigma of a lognormal time."""

    processes: int
    cores: int
    api: float
    database: float
    memory: float
    """Seconds of both together for each further state in a push."""
    wait: float
    spread: float


# Arrivals -------------------------------------------------------------------------------------------------------------


def weekday(agents: int, seed: int = 1) -> list[Arrival]:
    """Return all pushes of a fleet in one time zone, in order: laptops that wake up in the morning and work in
    sessions, and servers that work all day."""
    random = Random(seed)
    found = [(moment, agent, 1) for agent in range(agents) for moment in _of_agent(_habit(agent, agents), random)]
    return sorted(found)


def _habit(agent: int, agents: int) -> Habit:
    share = 0.0
    for habit in HABITS:
        share += MIX[habit.name]
        if agent < round(share * agents):
            return habit
    return HABITS[-1]


def _of_agent(habit: Habit, random: Random) -> Iterator[float]:
    """Yield the times of an agent's pushes. A laptop's first push is at its wake-up."""
    start = 0.0 if habit.hours == HOURS else random.gauss(_WAKES, _SPREAD)
    if habit.hours < HOURS:
        yield max(0.0, start)
    left = habit.pushes - (habit.hours < HOURS)
    while left > 0:
        moment = start + random.random() * habit.hours * 3600
        for _ in range(min(_SESSION, left)):
            yield min(max(0.0, moment), 86_399.0)
            moment += 2 + random.expovariate(1 / _APART)
        left -= _SESSION


def busiest(arrivals: Iterable[Arrival]) -> float:
    """Return pushes per second in the busiest minute."""
    return max(Counter(int(moment // 60) for moment, _, _ in arrivals).values()) / 60


def crowd(arrivals: Sequence[Arrival], copies: float, seed: int = 5) -> list[Arrival]:
    """Return the pushes of `copies` fleets in the busiest minutes: the same days, with each agent shifted a little."""
    random = Random(seed)
    minutes = Counter(int(moment // 60) for moment, _, _ in arrivals)
    begin = (max(minutes, key=lambda minute: minutes[minute]) - _MINUTES / 2) * 60.0
    near = [one for one in arrivals if begin - _SHIFT <= one[0] < begin + _MINUTES * 60 + _SHIFT]
    found = []
    for copy in range(math.ceil(copies)):
        part = min(1.0, copies - copy)
        shifts: dict[int, float | None] = {}
        for moment, agent, states in near:
            if agent not in shifts:
                shifts[agent] = random.uniform(-_SHIFT, _SHIFT) if random.random() < part else None
            shift = shifts[agent]
            if shift is not None and begin <= moment + shift < begin + _MINUTES * 60:
                found.append((moment + shift, agent, states))
    return sorted(found)


# Waiting times --------------------------------------------------------------------------------------------------------


def cell(known: Figures, rate: float) -> Cell:
    """Return a cell that serves `rate` pushes per second and leaves a share of each processor free."""
    share = {habit.shape: MIX[habit.name] * habit.pushes for habit in HABITS}
    whole = sum(share.values())
    api, database, wait, spread = (
        sum(value * part(known, name) for name, value in share.items()) / whole
        for part in (_api, _database, _wait, _spread)
    )
    many, one = known.shapes["load"], known.shapes["busy"]
    more = many.api_cpu + many.database_cpu - one.api_cpu - one.database_cpu
    memory = max(0.0, more / (many.memories - one.memories))
    return Cell(_enough(rate * api), _enough(rate * database), api, database, memory, wait, spread)


def _enough(cores: float) -> int:
    return max(1, math.ceil(cores / USE))


def _api(known: Figures, name: str) -> float:
    return known.shapes[name].api_cpu


def _database(known: Figures, name: str) -> float:
    return known.shapes[name].database_cpu


def _wait(known: Figures, name: str) -> float:
    shape = known.shapes[name]
    return max(0.0, shape.median - shape.api_cpu - shape.database_cpu)


def _spread(known: Figures, name: str) -> float:
    shape = known.shapes[name]
    return math.log(max(1.0, shape.p99 / shape.median)) / 2.326


def served(arrivals: Sequence[Arrival], there: Cell, seed: int = 2) -> list[tuple[float, float]]:
    """Return arrival and answer time of each push. It needs an API process first, then a database core."""
    random, shift = Random(seed), there.spread**2 / 2
    api, database = [0.0] * there.processes, [0.0] * there.cores
    passed: list[tuple[float, float, float]] = []
    for moment, _, states in arrivals:
        chance = math.exp(random.gauss(0, there.spread) - shift)
        more = (states - 1) * there.memory / 2
        end = max(moment, api[0]) + there.api * chance + more
        heapq.heapreplace(api, end)
        passed.append((end, moment, there.database * chance + more))
    passed.sort()
    found = []
    for ready, moment, takes in passed:
        end = max(ready, database[0]) + takes
        heapq.heapreplace(database, end)
        found.append((moment, end + there.wait))
    return found


def seen(answers: Sequence[tuple[float, float]], there: Cell) -> Seen:
    times = [end - moment for moment, end in answers]
    minutes = Counter(int(moment // 60) for moment, _ in answers)
    most = max(minutes.values()) / 60
    deepest = _deepest(answers)
    busy = most * there.api / there.processes
    return Seen(len(times), most, busy, measure.median(times), measure.quantile(times, 0.99), deepest)


def _deepest(answers: Iterable[tuple[float, float]]) -> int:
    """Return the highest number of concurrent requests."""
    changes = sorted([(moment, 1) for moment, _ in answers] + [(end, -1) for _, end in answers])
    now = most = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


# Without the endpoint -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outage:
    """Result of an outage: `waiting` agents when the endpoint returns; `refused` requests until then; requests in the
    busiest second and minute afterwards; seconds until 50, 99 and 100 percent were served; latencies of the first
    hour."""

    waiting: int
    refused: int
    in_a_second: int
    in_a_minute: float
    half: float
    most: float
    all: float
    after: Seen


def outage(arrivals: Sequence[Arrival], there: Cell, begin: float, end: float, chance: float, seed: int = 3) -> Outage:
    """Simulate an outage from `begin` to `end`. Clients retry after a minute, then after twice the delay each time, at
    most an hour, plus a random part of up to `chance`. Captures in between go into the same push."""
    random = Random(seed)
    again: dict[int, float] = {}
    states: Counter[int] = Counter()
    refused, left = 0, []
    for arrival in arrivals:
        moment, agent, _ = arrival
        if moment < begin:
            continue
        if agent in again and moment < again[agent]:
            states[agent] += 1
        elif moment < end:
            states[agent] += 1
            tries, again[agent] = _tries(moment, end, chance, random)
            refused += tries
        else:
            left.append(arrival)
    back = [(moment, agent, states[agent]) for agent, moment in again.items()]
    every = sorted(one for one in [*left, *back] if one[0] < end + 2 * 3600)
    answers = served(every, there)
    ends = sorted(moment - end for moment, _, _ in back)
    first = [one for one in answers if one[0] < end + 3600]
    seconds = Counter(int(moment) for moment, _ in first)
    minutes = Counter(int(moment // 60) for moment, _ in first)
    return Outage(
        len(back),
        refused,
        max(seconds.values()),
        max(minutes.values()) / 60,
        measure.quantile(ends, 0.5),
        measure.quantile(ends, 0.99),
        ends[-1],
        seen(first, there),
    )


def _tries(moment: float, end: float, chance: float, random: Random) -> tuple[int, float]:
    """Return the number of failed attempts, and the time of the successful one."""
    failures = 0
    while moment < end:
        failures += 1
        moment += min(_FIRST * 2.0 ** (failures - 1), _LONGEST) * (1 + chance * random.random())
    return failures, moment


def herd(agents: int, there: Cell, within: float, seed: int = 4) -> Seen:
    """Simulate that every agent pushes once within some seconds, as when a company's network returns."""
    random = Random(seed)
    arrivals = sorted((random.random() * within, agent, 1) for agent in range(agents))
    return seen(served(arrivals, there), there)
