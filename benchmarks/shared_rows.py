"""Rows about an endpoint on PostgreSQL under load, with one process and with two, beside one on files; and what a push
costs with ten, a thousand and a hundred thousand agents."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import endpoints, measure, pushing, rationed, shared_agents, shared_engine, small_objects
from benchmarks.endpoints import Endpoint
from benchmarks.measure import Budget, Row
from benchmarks.pushing import Bundles, Shape
from benchmarks.scale import Scale
from benchmarks.shared_engine import Cluster, Counts

PROCESSES = 2
_QUARTER = 0.25
_FLAT = 1.5
"""Factor by which a push may cost more among a hundred thousand agents."""
_VISITED = 10
"""Agents that push during one run of the server."""
_LIVES = 5
TIMES = 6
"""Pushes of each agent in a row. The first one finds the vault closed."""
_ALIKE = ((pushing.LOG, pushing.MEMORIES),) * TIMES


# A shared endpoint ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shared:
    """An endpoint on a database and an object store, whose settings are in `folder`, and a token of its tenant."""

    folder: Path
    cluster: Cluster
    database: str
    token: str

    @classmethod
    def prepare(cls, folder: Path, cluster: Cluster, objects: str, database: str) -> Shared:
        """Create roles, tables, a place for objects and a tenant."""
        cluster.create(database)
        known = ["--database", cluster.address(database), "--objects", f"{small_objects.URL}-{database}"]
        known += ["--object-option", f"endpoint={objects}", "--object-option", "region=us-east-1"]
        known += ["--key-source", f"file:{folder / 'key'}"]
        roles = json.loads(_command(folder, "prepare", *known, "--print-roles", "--json"))["sql"]
        with cluster.connected(database) as connection:
            there = {name for (name,) in connection.execute("select rolname from pg_roles")}
            for statement in roles.splitlines():
                if not _makes_one_of(there, statement):
                    connection.execute(statement)
        _command(folder, "prepare", *known)
        told = json.loads(_command(folder, "tenant", "add", "bench", "--json"))
        return cls(folder, cluster, database, told["token"])

    @contextlib.contextmanager
    def served(self, processes: int) -> Iterator[Endpoint]:
        with endpoints.endpoint(self.folder, processes, environment=small_objects.ENVIRONMENT) as found:
            yield replace(found, token=self.token)

    def counts(self) -> Counts:
        return self.cluster.counts(self.database)


def _command(folder: Path, *words: str) -> str:
    return endpoints.command(folder, *words, environment=small_objects.ENVIRONMENT)


def _makes_one_of(there: set[str], statement: str) -> bool:
    """Return True if the statement creates a role that exists already: roles belong to the cluster, so another database
    may have created it."""
    words = statement.replace('"', "").split()
    return words[:2] == ["create", "role"] and words[2] in there


@contextlib.contextmanager
def stores() -> Iterator[tuple[Cluster, str]]:
    """Run a cluster and an object store, and yield the store's address."""
    with shared_engine.cluster() as cluster, small_objects.objects() as objects:
        yield cluster, objects


# Load -----------------------------------------------------------------------------------------------------------------


def load(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure deltas of 10 KB over HTTPS to an endpoint on PostgreSQL with one and with two processes, and to one on
    files."""
    made = pushing.made(folder / "bundles", scale.agents, scale.deltas)
    with stores() as (cluster, objects), contextlib.ExitStack() as stack:
        places = [Shared.prepare(folder / f"shared-{n}", cluster, objects, f"bench{n}") for n in (1, PROCESSES)]
        ways = [stack.enter_context(place.served(n)) for place, n in zip(places, (1, PROCESSES), strict=True)]
        ways.append(stack.enter_context(endpoints.endpoint(folder / "files", PROCESSES)))
        for way in ways:
            pushing.register(way, made)
        results: list[list[dict[str, Any]]] = [[] for _ in ways]
        effort = [0.0 for _ in ways]
        for part in range(pushing.ROUNDS):
            asked = pushing.in_turn(made, part)
            for place, way in enumerate(ways):
                before = cluster.cpu()
                results[place].append(way.load(asked))
                effort[place] += cluster.cpu() - before
        memory = [way.rss() for way in ways]
    work = f"{scale.agents * scale.deltas:,} deltas of {measure.size(pushing.size(made))}"
    yield from _load_rows(work, results, effort, memory)


def _load_rows(
    work: str, results: Sequence[list[dict[str, Any]]], effort: Sequence[float], memory: Sequence[int]
) -> Iterator[Row]:
    one, two, files = (pushing.rate(each) for each in results)
    here, there = f"{work}, PostgreSQL, {PROCESSES} processes", f"files, {PROCESSES} processes"
    grows = Budget("grows", one / two, 1)
    yield Row(here, f"{two:.0f} /s", "PostgreSQL, 1 process", f"{one:.0f} /s", f"{two / one:.2f} x", [grows])
    yield Row(here, f"{two:.0f} /s", there, f"{files:.0f} /s", f"{two / files:.2f} x")
    own, theirs = pushing.cpu(results[1]), pushing.cpu(results[2])
    database = effort[1] / len(pushing.times(results[1]))
    yield Row(f"{here}: processor of the API for each", measure.duration(own), there, measure.duration(theirs))
    yield Row(f"{here}: processor of PostgreSQL for each", measure.duration(database))
    for name, share in (("median", 0.5), ("p95", 0.95), ("p99", 0.99)):
        ours, others = (measure.quantile(pushing.times(results[which]), share) for which in (1, 2))
        budgets = [Budget("<= 100 ms", ours, 0.1)] if name == "p99" else []
        yield measure.beside(f"{here}: {name}", ours, there, others, *budgets)
    yield Row(f"{here}: RSS of the API", measure.size(memory[1]), there, measure.size(memory[2]))


def small_machines(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure the same with processes limited to a quarter of a processor each, as on separate machines, to show that
    shared parts do not limit them."""
    if not rationed.is_there():
        yield Row("processes with a quarter of a processor each", "not measured: needs root and control groups")
        return
    made = pushing.made(folder / "bundles", scale.agents, pushing.ROUNDS * max(1, scale.deltas // 40))
    rates = []
    with stores() as (cluster, objects):
        for count in (1, PROCESSES):
            place = Shared.prepare(folder / f"shared-{count}", cluster, objects, f"bench{count}")
            with place.served(count) as server:
                pushing.register(server, made)
                with rationed.rationed(server.pid, _QUARTER * count):
                    done = [server.load(pushing.in_turn(made, part)) for part in range(pushing.ROUNDS)]
            rates.append(pushing.rate(done))
    one, two = rates
    said = f"PostgreSQL, {PROCESSES} processes with a quarter of a processor each"
    budget = Budget(">= 1.6 x", 1.6 * one / two, 1)
    yield Row(f"{said}: pushes", f"{two:.1f} /s", "1 process", f"{one:.1f} /s", f"{two / one:.2f} x", [budget])


# Agents ---------------------------------------------------------------------------------------------------------------


@dataclass
class Cost:
    """Average cost of one push: processor seconds of the API, and the counters of the database. `times` of all
    pushes."""

    pushes: int
    api: float
    counts: Counts
    times: list[float] = field(default_factory=list)


def agents(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure what a push costs on an endpoint on PostgreSQL with ten, a thousand and a hundred thousand agents."""
    with stores() as (cluster, objects):
        place = Shared.prepare(folder / "shared", cluster, objects, "bench")
        found, _ = in_fleets(place, folder, scale.fleets)
    yield from fleet_rows(found)


def in_fleets(
    place: Shared, folder: Path, fleets: Sequence[int], more: Sequence[Shape] = ()
) -> tuple[dict[int, tuple[Cost, Cost]], list[Bundles]]:
    """Return what a push costs with each number of agents, with closed and with open vaults, and the last agents, which
    have deltas of `more` shapes left."""
    found: dict[int, tuple[Cost, Cost]] = {}
    made: list[Bundles] = []
    for count in fleets:
        shapes = (*_ALIKE, *more)
        made = pushing.made(folder / f"bundles-{count}", (_VISITED + 1) * _LIVES, len(shapes), shapes)
        grow(place, made, max(found, default=0), count)
        found[count] = visited(place, made)
    return found, made[: _VISITED * _LIVES]


def fleet_rows(found: Mapping[int, tuple[Cost, Cost]]) -> Iterator[Row]:
    few = min(found)
    for name, which in (("vault closed", 0), ("vault open", 1)):
        for count in sorted(found)[1:]:
            yield from _cost_rows(f"a push among {count:,} agents, {name}", found[count][which], few, found[few][which])


def grow(place: Shared, made: Sequence[Bundles], there: int, wanted: int) -> None:
    """Add agents until there are `wanted`: copies of the first one, among those that are pushed to."""
    with place.cluster.hurried(), place.served(1) as server:
        copies = max(0, wanted - there - len(made))
        steps = [there + copies * number // len(made) for number in range(len(made) + 1)]
        for one, (first, last) in zip(made, pairwise(steps), strict=True):
            pushing.register(server, [one])
            shared_agents.multiply(place.cluster, place.database, made[0].agent_id, first, last)
    shared_agents.settle(place.cluster, place.database)


def visited(place: Shared, made: Sequence[Bundles], seed: int = 7) -> tuple[Cost, Cost]:
    """Push to the agents in random order over one connection, in several runs of the server. Return the costs with
    closed and with open vaults."""
    random = Random(seed)
    visits = _VISITED * _LIVES
    order = random.sample(list(made[:visits]), visits)
    firsts: list[Cost] = []
    others: list[Cost] = []
    for life in range(_LIVES):
        some = order[life * _VISITED : (life + 1) * _VISITED]
        with place.served(1) as server:
            warm(place, server, made[visits + life], 0)
            firsts.append(pushed(place, server, [(one, 0) for one in some]))
            again = [(one, base) for base in range(1, TIMES) for one in some]
            others.append(pushed(place, server, again))
    return together(firsts), together(others)


def warm(place: Shared, server: Endpoint, spare: Bundles, base: int, count: int = TIMES) -> None:
    """Open connections and plan statements by pushing some states of one agent from `base` on."""
    pushed(place, server, [(spare, each) for each in range(base, base + count)])
    time.sleep(0.5)


def pushed(place: Shared, server: Endpoint, pushes: Sequence[tuple[Bundles, int]]) -> Cost:
    """Push one after the other."""
    before = place.counts()
    done = server.load([[pushing.delta(one, base) for one, base in pushes]])
    count = len(pushes)
    return Cost(count, done["cpu"] / count, place.counts().since(before, count), done["times"])


def together(costs: Sequence[Cost]) -> Cost:
    """Return the average of several costs, weighted by their pushes."""
    every = sum(each.pushes for each in costs)

    def mean(values: Sequence[float]) -> float:
        return sum(value * each.pushes for value, each in zip(values, costs, strict=True)) / every

    counts = Counts(**{name: mean([getattr(each.counts, name) for each in costs]) for name in vars(costs[0].counts)})
    return Cost(every, mean([each.api for each in costs]), counts, [one for each in costs for one in each.times])


def _cost_rows(work: str, many: Cost, few: int, one: Cost) -> Iterator[Row]:
    beside = f"among {few:,}"
    yield measure.faster(f"{work}: median", measure.median(many.times), beside, measure.median(one.times), _FLAT)
    yield measure.faster(f"{work}: processor of the API", many.api, beside, one.api, _FLAT)
    yield measure.faster(f"{work}: processor of PostgreSQL", many.counts.cpu, beside, one.counts.cpu, _FLAT)
    for name, unit in (("statements", ""), ("pages", " of 8 KiB"), ("wal", " bytes")):
        ours, theirs = getattr(many.counts, name), getattr(one.counts, name)
        ratio = ours / theirs if theirs else 1.0
        said = f"{work}: {'WAL' if name == 'wal' else name}"
        budget = Budget(f"<= {_FLAT:g} x", ratio, _FLAT)
        yield Row(said, f"{ours:,.0f}{unit}", beside, f"{theirs:,.0f}{unit}", f"{ratio:.2f} x", [budget])
    yield Row(f"{work}: pages that the WAL holds whole", f"{many.counts.whole:.1f}", beside, f"{one.counts.whole:.1f}")
