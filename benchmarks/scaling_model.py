"""What an agent costs at a shared endpoint, and what stops growing first. Pure: figures and prices in, numbers out.

`scaling_figures.json` holds the figures and how each was measured; what was not measured but assumed stands here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

FILE = Path(__file__).with_name("scaling_figures.json")
DAYS = 365
MONTH = 365 / 12
HOURS = 24
DAY = 86_400
GB = 1e9
PAGE = 8192


# What was measured ----------------------------------------------------------------------------------------------------


class Shape(msgspec.Struct, frozen=True):
    """One kind of push: seconds, bytes, counts; `pages` of 8 KiB that PostgreSQL touched, counted each time; `dead`
    rows left to be vacuumed; `commits` that took a transaction id."""

    log: int
    memories: int
    delta: float
    body: float
    api_cpu: float
    database_cpu: float
    median: float
    p99: float
    statements: float
    transactions: float
    commits: float
    wal: float
    pages: float
    dead: float


class Figures(msgspec.Struct, frozen=True):
    """Measured figures. `shapes` by name; `row_bytes` of each table with indexes and without bodies; `agent_bytes` of
    the rows of an empty agent; `hot_pages` that one agent's pushes need in memory; worker seconds of a thinning per
    sequence and of a verification per object; `audit_rows` per second of one chain; `vacuum_rows` that a vacuum removes
    per second."""

    machine: str
    how: dict[str, str]
    shapes: dict[str, Shape]
    row_bytes: dict[str, float]
    agent_bytes: float
    hot_pages: float
    thin_cpu: float
    verify_cpu: float
    audit_rows: float
    vacuum_rows: float


def figures(path: Path = FILE) -> Figures:
    """Load the figures of a file. Raises msgspec.ValidationError."""
    return msgspec.json.decode(path.read_bytes(), type=Figures)


# Assumptions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prices:
    """Prices in USD in the order of public price lists of large clouds, per month unless stated otherwise. Change them
    for another cloud, a contract or a data centre."""

    object_gb: float = 0.023
    put_1000: float = 0.005
    get_1000: float = 0.0004
    database_gb: float = 0.115
    """Provisioned storage of one copy."""
    database_core_hour: float = 0.09
    """Managed core of one copy, with its memory."""
    api_core_hour: float = 0.045
    kms_10000: float = 0.03
    out_gb: float = 0.09
    copies: int = 2
    """A primary and a standby."""
    backups: int = 4
    """Base backups kept in the object store; one is made per week."""
    wal_days: int = 7
    """Days for which WAL is kept for point-in-time recovery."""


@dataclass(frozen=True)
class Habit:
    """Behaviour of an agent: `pushes` per day, each with one new memory; awake for `hours`; `files` in its workspace;
    `large` bodies of `large_bytes` per day that go to the object store; `restores` per year."""

    name: str
    shape: str
    pushes: int
    hours: int
    files: int = 40
    large: float = 0.0
    large_bytes: float = 500_000
    restores: float = 1


HABITS = (
    Habit("quiet", "quiet", 10, 9, large=0.1),
    Habit("normal", "normal", 100, 9, large=1),
    Habit("busy", "busy", 1_000, 24, large=5),
)
MIX: Mapping[str, float] = {"quiet": 0.80, "normal": 0.18, "busy": 0.02}
"""Shares of the fleet."""
FLEETS = (1_000, 100_000, 1_000_000, 100_000_000)
TENANT = 100
"""Average number of agents per tenant."""
USE = 0.6
"""Share of a processor at the peak; above it queues grow."""
PROCESSES = 4
"""API processes among which the requests of one tenant are distributed."""


# Rows and bytes -------------------------------------------------------------------------------------------------------


def kept_sequences(pushes: float, hours: int, days: int = DAYS) -> float:
    """Return how many sequences of `days` days are kept with the default retention."""
    hourly = min(pushes, hours) * min(max(days - 1, 0), 6)
    daily = min(pushes, 1) * min(max(days - 7, 0), 83)
    weekly = min(pushes * 7, 1) * max(days - 90, 0) / 7
    return pushes + hourly + daily + weekly


def rows(habit: Habit, days: int = DAYS) -> dict[str, float]:
    """Return an agent's rows per table after so many days, without those that every agent has."""
    kept, memories = kept_sequences(habit.pushes, habit.hours, days), float(habit.pushes * days)
    entries = habit.files + kept
    thinnings = min(habit.pushes, habit.hours) * days
    return {
        "sequence": kept,
        "entry": entries,
        "record": memories,
        "object": entries + memories,
        "audit": habit.pushes * days + thinnings,
        "blob": kept_sequences(habit.large, habit.hours, days),
    }


def row_bytes(habit: Habit, known: Figures, days: int = DAYS) -> float:
    """Return the bytes of these rows in the database, without bodies."""
    return known.agent_bytes + sum(count * known.row_bytes[table] for table, count in rows(habit, days).items())


def body_bytes(habit: Habit, known: Figures, days: int = DAYS) -> float:
    """Return the bytes of bodies stored in rows: a memory, and what each kept sequence rewrote."""
    memory = memory_body(known)
    kept = kept_sequences(habit.pushes, habit.hours, days)
    rewritten = known.shapes[habit.shape].body - memory
    return (habit.files + kept) * rewritten + habit.pushes * days * memory


def memory_body(known: Figures) -> float:
    """Return the stored bytes of one memory, from the difference between pushes with eight memories and with one."""
    many, one = known.shapes["load"], known.shapes["busy"]
    per_log = (one.body - known.shapes["quiet"].body) / (one.log - known.shapes["quiet"].log)
    return max(0.0, (many.body - one.body - per_log * (many.log - one.log)) / (many.memories - one.memories))


def object_bytes(habit: Habit, days: int = DAYS) -> float:
    return kept_sequences(habit.large, habit.hours, days) * habit.large_bytes


# Costs ----------------------------------------------------------------------------------------------------------------


def key_calls(agents: int, pushes: float, hours: int, processes: int = PROCESSES, cache: float = 300) -> float:
    """Return how many times per day a key service unwraps the data key that `agents` agents share: once per process and
    per `cache` seconds in which one of them used it. `pushes` is per agent and day."""
    windows = hours * 3600 / cache
    hits = agents * pushes / processes / windows
    return processes * windows * (1 - math.exp(-hits))


def monthly(habit: Habit, known: Figures, prices: Prices, peak: float) -> dict[str, float]:
    """Return USD per agent and month after a year. `peak` is the ratio of the busiest time to the average."""
    shape, pushes = known.shapes[habit.shape], habit.pushes * MONTH
    base = row_bytes(habit, known) + body_bytes(habit, known)
    wal = shape.wal * habit.pushes * prices.wal_days
    restored = habit.restores / 12 * body_bytes(habit, known)
    api = pushes * shape.api_cpu + worker_cpu(habit, known) * MONTH
    core = peak / USE / 3600
    return {
        "database storage": base / GB * prices.database_gb * prices.copies,
        "backups": (base * prices.backups + wal) / GB * prices.object_gb,
        "database processors": pushes
        * shape.database_cpu
        * peak
        / USE
        / 3600
        * prices.database_core_hour
        * prices.copies,
        "API and workers": api * core * prices.api_core_hour,
        "objects": object_bytes(habit) / GB * prices.object_gb,
        "requests": habit.large * MONTH * (prices.put_1000 + 2 * prices.get_1000) / 1000,
        "key service": key_calls(TENANT, habit.pushes, habit.hours) / TENANT * MONTH * prices.kms_10000 / 10_000,
        "traffic": restored / GB * prices.out_gb,
    }


def worker_cpu(habit: Habit, known: Figures) -> float:
    """Return worker seconds per day: a thinning in each hour with pushes, a daily verification of the head, and a
    monthly one of everything."""
    every = rows(habit)
    thinnings = min(habit.pushes, habit.hours) * every["sequence"] * known.thin_cpu
    return thinnings + (habit.files + every["object"] / MONTH) * known.verify_cpu


def break_even(prices: Prices, days: float) -> float:
    """Return the size in bytes at which a body costs the same in a row as in a separate object when kept for so many
    days."""
    dearer = (prices.database_gb * prices.copies - prices.object_gb) / GB * days / MONTH
    return (prices.put_1000 / 1000) / dearer


# Limits of growth -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wall:
    """A resource that a single database or chain cannot extend: each agent needs `each` of it, and there is `limit`.
    `why` explains the limit, `answer` what helps."""

    name: str
    each: float
    limit: float
    unit: str
    why: str
    answer: str

    @property
    def agents(self) -> float:
        """Return the possible number of agents."""
        return self.limit / self.each if self.each else math.inf


def averaged(value: Mapping[str, float]) -> float:
    """Return the average over the agents of the mix."""
    return sum(share * value[name] for name, share in MIX.items())


def _mean(known: Figures, name: str) -> float:
    """Return the average of a shape's field per second, for an agent of the mix."""
    return averaged(
        {habit.name: habit.pushes * float(getattr(known.shapes[habit.shape], name)) / DAY for habit in HABITS}
    )


def pushes_a_second() -> float:
    """Return the average pushes per second of an agent of the mix."""
    return averaged({habit.name: habit.pushes / DAY for habit in HABITS})


def database_bytes(known: Figures) -> float:
    """Return the bytes of an agent of the mix after a year, for one copy."""
    return averaged({habit.name: row_bytes(habit, known) + body_bytes(habit, known) for habit in HABITS})


def walls(known: Figures, peak: float) -> list[Wall]:
    """Return all limits, the lowest first."""
    api, busy = _mean(known, "api_cpu") * peak, _mean(known, "database_cpu") * peak
    waiting = averaged({habit.name: habit.pushes / DAY * known.shapes[habit.shape].median for habit in HABITS}) * peak
    size = database_bytes(known)
    found = [
        Wall(
            "CPU of the primary",
            busy,
            64 * USE,
            "cores at the peak",
            "64 cores at 60 %",
            "fewer statements per push; then shard by tenant",
        ),
        Wall(
            "WAL of the primary",
            _mean(known, "wal") * peak,
            200e6,
            "bytes/s at the peak",
            "200 MB/s to a standby and an archive",
            "shard by tenant",
        ),
        Wall(
            "commits waiting for the disk",
            _mean(known, "commits") * peak,
            10_000,
            "commits/s at the peak",
            "10,000/s, several per sync",
            "shard by tenant; commit_delay",
        ),
        Wall(
            "transaction ids",
            _mean(known, "commits") * DAY,
            500e6,
            "ids a day",
            "2^31; freezing everything takes two days",
            "shard by tenant",
        ),
        Wall(
            "rows to vacuum",
            _dead(known),
            known.vacuum_rows * DAY * 0.25 * 4,
            "rows a day",
            "4 workers vacuuming 25 % of the time at the measured speed",
            "partition the vault's tables, vacuum partitions in parallel; then shard",
        ),
        Wall(
            "pages that pushes need in memory",
            averaged({habit.name: 1.0 for habit in HABITS}) * known.hot_pages * PAGE,
            512e9,
            "bytes",
            "512 GB of memory",
            "shard by tenant; cluster the rows of an agent (rewrite partitions one by one)",
        ),
        Wall(
            "size of one database",
            size,
            14.4e12,
            "bytes",
            "backup or restore in 8 h at 500 MB/s",
            "move bodies older than a quarter and old audit rows into shared objects; then shard",
        ),
        Wall(
            "audit of the endpoint, one chain",
            pushes_a_second() * peak,
            known.audit_rows,
            "rows/s at the peak",
            "measured speed of one writer",
            "one chain per shard, with all heads in a signed list",
        ),
        Wall(
            "connections",
            api / USE * 8,
            4_000,
            "connections",
            "4,000, at 8 per API process (4 lanes, two stores each)",
            "fewer serving threads per process; then shard",
        ),
        Wall(
            "waiting statements",
            waiting,
            4_000,
            "transactions open",
            "the number of connections",
            "as above",
        ),
        Wall(
            "key service, one key per tenant",
            averaged({h.name: key_calls(TENANT, h.pushes, h.hours) / TENANT / DAY for h in HABITS}) * peak,
            10_000,
            "calls/s at the peak",
            "10,000/s per account",
            "route a tenant to few processes; cache keys longer",
        ),
        Wall(
            "key service, one key per agent",
            averaged({h.name: key_calls(1, h.pushes, h.hours) / DAY for h in HABITS}) * peak,
            10_000,
            "calls/s at the peak",
            "10,000/s",
            "derive agent keys from one key per tenant; route an agent to one process",
        ),
        Wall(
            "writes to the object store",
            averaged({h.name: h.large / DAY for h in HABITS}) * peak,
            3_500 * 256,
            "PUT/s at the peak",
            "3,500/s for each of 256 name prefixes",
            "more prefixes: names are random",
        ),
        Wall(
            "jobs of one queue",
            1 / TENANT * 50 / DAY,
            200,
            "jobs/s",
            "200/s with SKIP LOCKED, measured on a busy machine; 50 jobs a day per tenant",
            "one queue per shard",
        ),
    ]
    return sorted(found, key=lambda wall: wall.agents)


def _dead(known: Figures) -> float:
    """Return dead rows per day for an agent of the mix: rows that a push replaces, and rows that thinning removes
    later."""
    thinned = averaged({habit.name: 3.0 * max(0.0, habit.pushes - 1) for habit in HABITS})
    return _mean(known, "dead") * DAY + thinned


def shards(agents: int, known: Figures, peak: float, spare: float = 0.5) -> int:
    """Return how many databases these agents need if each is filled to a half of its first limit."""
    return max(1, math.ceil(agents / (walls(known, peak)[0].agents * spare)))
