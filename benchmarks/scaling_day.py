"""A day of a fleet, an hour without its endpoint, and a network that comes back: when pushes come and how long they
wait. Seeded, so every run gives the same numbers."""

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
"""When (seconds of the day), which agent, how many states in one push."""

_WAKES, _SPREAD = 9 * 3600.0, 2400.0
"""When laptops wake up, and how far from each other (a standard deviation)."""
_SESSION, _APART = 8, 40.0
"""Pushes of a session, and seconds from one to the next on average."""
_MINUTES, _SHIFT = 6, 300.0
"""Of the busiest time that is looked at, and seconds by which the fleets of a crowd differ."""
_FIRST, _LONGEST = 60.0, 3600.0
"""Seconds until a client tries again what failed: the first time, and at most."""


@dataclass(frozen=True)
class Seen:
    """How requests fared: seconds; `busy` of the processes that answer, in the busiest minute."""

    requests: int
    a_second: float
    busy: float
    median: float
    p99: float
    deepest: int
    """Requests that waited at once."""


@dataclass(frozen=True)
class Cell:
    """What serves the fleet: processes of the API and cores of the database, seconds that a push takes of each, and
    `wait` that it waits for disks and for a network beside that. `spread` is the sigma of a lognormal time."""

    processes: int
    cores: int
    api: float
    database: float
    memory: float
    """Of both together, for each further state in a push."""
    wait: float
    spread: float


# When pushes come -----------------------------------------------------------------------------------------------------


def weekday(agents: int, seed: int = 1) -> list[Arrival]:
    """All pushes of a fleet of the mix in one time zone, in order: laptops that wake up in the morning and work in
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
    """A laptop pushes when it wakes up, too: that is the first of its pushes."""
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
    """Pushes a second in the busiest minute."""
    return max(Counter(int(moment // 60) for moment, _, _ in arrivals).values()) / 60


def crowd(arrivals: Sequence[Arrival], copies: float, seed: int = 5) -> list[Arrival]:
    """What `copies` such fleets send in the busiest minutes: the same days, each agent's a little earlier or later."""
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


# How long they wait ---------------------------------------------------------------------------------------------------


def cell(known: Figures, rate: float) -> Cell:
    """As much as answers `rate` pushes a second with a share of each processor left."""
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
    """When each came and when it was answered: first a process of the API, then a core of the database."""
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
    """The most that were under way at once."""
    changes = sorted([(moment, 1) for moment, _ in answers] + [(end, -1) for _, end in answers])
    now = most = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


# Without the endpoint -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outage:
    """`waiting` agents when the endpoint is back; `refused` requests until then; requests in the busiest second and in
    the busiest minute afterwards; seconds until half, 99 of 100 and all of them were served; how all requests of the
    first hour fared."""

    waiting: int
    refused: int
    in_a_second: int
    in_a_minute: float
    half: float
    most: float
    all: float
    after: Seen


def outage(arrivals: Sequence[Arrival], there: Cell, begin: float, end: float, chance: float, seed: int = 3) -> Outage:
    """Nothing answers from `begin` to `end`. Clients try again after a minute, then twice as long each time, an hour
    at most, and up to `chance` of that more; what is captured meanwhile goes in the same push."""
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
    """How often a client asks in vain, and when it asks with success."""
    failures = 0
    while moment < end:
        failures += 1
        moment += min(_FIRST * 2.0 ** (failures - 1), _LONGEST) * (1 + chance * random.random())
    return failures, moment


def herd(agents: int, there: Cell, within: float, seed: int = 4) -> Seen:
    """Every agent pushes once, within so many seconds: the network of a company is back."""
    random = Random(seed)
    arrivals = sorted((random.random() * within, agent, 1) for agent in range(agents))
    return seen(served(arrivals, there), there)
