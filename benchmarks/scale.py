"""Sizes of the benchmarks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Files and records made; runs of what is quick, of what is slow, and of what waits until a service begins;
    seconds until a service that did nothing counts as settled, those of rest, and those for which something idle is
    watched after them; captures one after the other; agents that push to an endpoint, deltas of each, and the
    sequences of those with long histories; agents that a shared endpoint has; sequences of one of which
    something is purged; sequences and memories of the agent at which a dashboard looks."""

    files: int
    size: int
    records: int
    quick_runs: int
    slow_runs: int
    waiting_runs: int
    settled: float
    rest: float
    idle: float
    cycles: int
    agents: int
    deltas: int
    histories: tuple[int, ...]
    fleets: tuple[int, ...]
    sequences: int
    kept: int
    listed: int


FULL = Scale(
    files=2000,
    size=20_000_000,
    records=50_000,
    quick_runs=40,
    slow_runs=5,
    waiting_runs=20,
    settled=2.5,
    rest=60,
    idle=60,
    cycles=10_000,
    agents=50,
    deltas=200,
    histories=(10, 1_000, 100_000),
    fleets=(10, 1_000, 100_000),
    sequences=1_000,
    kept=5_000,
    listed=10_000,
)
QUICK = Scale(
    files=400,
    size=4_000_000,
    records=5_000,
    quick_runs=12,
    slow_runs=2,
    waiting_runs=2,
    settled=0.3,
    rest=0,
    idle=3,
    cycles=100,
    agents=16,
    deltas=40,
    histories=(10, 1_000, 10_000),
    fleets=(10, 300),
    sequences=100,
    kept=500,
    listed=1_000,
)
