"""Rows about the endpoint: under load, with long histories, and from a machine that sends one change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import endpoints, measure, prose, pushing, rivals, subject, workspaces
from benchmarks.endpoints import Endpoint
from benchmarks.measure import Budget, Row
from benchmarks.scale import Scale

from lifeboat_core.health.agent_status import OK
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.agent_replication import replicate_agent
from lifeboat_core.remotes.contract import RemoteConfig

WORKERS = 2
MIB = 1 << 20


def pushes(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure deltas of 10 KB from many agents over HTTPS with tokens, encryption and audit."""
    made = pushing.made(folder / "bundles", scale.agents, scale.deltas)
    with endpoints.endpoint(folder, WORKERS) as ours, endpoints.floor(ours, WORKERS) as theirs:
        idle = ours.rss()
        pushing.register(ours, made)
        mine, floor = [], []
        for part in range(pushing.ROUNDS):
            asked = pushing.in_turn(made, part)
            mine.append(ours.load(asked))
            floor.append(theirs.load(asked))
        after = ours.rss()
        low = theirs.rss()
    yield from _rows(f"{scale.agents * scale.deltas:,} deltas of {measure.size(pushing.size(made))}", mine, floor)
    yield Row(f"endpoint, {WORKERS} processes answer, RSS of all: idle", f"{idle / MIB:.0f} MiB")
    yield Row("endpoint, RSS after the deltas", f"{after / MIB:.0f} MiB", "floor", f"{low / MIB:.0f} MiB")


def _rows(work: str, mine: Sequence[dict[str, Any]], floor: Sequence[dict[str, Any]]) -> Iterator[Row]:
    rates, lows = pushing.rate(mine), pushing.rate(floor)
    budget = Budget(">= 300 /s", 300 / rates, 1)
    row = partial(Row, rival=f"uvicorn, Starlette, SQLite with one commit, {WORKERS} processes")
    yield row(
        f"{work}, {pushing.CONNECTIONS} connections",
        f"{rates:.0f} /s",
        theirs=f"{lows:.0f} /s",
        ratio=f"{lows / rates:.2f} x",
        budgets=[budget],
    )
    ours, theirs = pushing.cpu(mine), pushing.cpu(floor)
    yield row(
        f"{work}: processor for each",
        measure.duration(ours),
        theirs=measure.duration(theirs),
        ratio=f"{ours / theirs:.2f} x",
    )
    times, others = pushing.times(mine), pushing.times(floor)
    for name, share in (("median", 0.5), ("p95", 0.95), ("p99", 0.99)):
        ours, theirs = measure.quantile(times, share), measure.quantile(others, share)
        budgets = [Budget("<= 100 ms", ours, 0.1)] if name == "p99" else []
        yield row(
            f"{work}: {name}",
            measure.duration(ours),
            theirs=measure.duration(theirs),
            ratio=measure.times_as(ours / theirs, "less"),
            budgets=budgets,
        )


def replicate_one_change(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure one change from its capture on this machine until the endpoint has acknowledged it."""
    made = workspaces.many_files(folder / "workspace", files=scale.files, size=scale.size)
    random = Random(6)

    def change(_: int) -> None:
        note = random.choice(made.notes)
        with note.open("a") as stream:
            stream.write(f"\n- {prose.sentence(random)}\n")

    with endpoints.endpoint(folder, WORKERS) as there:
        ours = subject.protect(made.folder, folder / "home")
        config = _remote(ours, there)
        first = measure.seconds(lambda: _replicated(ours, config))
        times = []
        for number in range(scale.quick_runs):
            change(number)
            ours.capture()
            times.append(measure.seconds(lambda: _replicated(ours, config)))
    pushes = rivals.git_push(made.folder, folder / "git", change, scale.quick_runs)
    work = f"one file changed in {made.files:,}: captured -> acknowledged over HTTPS"
    yield measure.beside(work, measure.median(times), "git push, file://", measure.median_or_none(pushes))
    yield Row(f"{work}, p95", measure.duration(measure.p95(times)))
    yield Row(f"{measure.size(made.size)} in {made.files:,} files: the first replication", measure.duration(first))


def _remote(ours: subject.Subject, there: Endpoint) -> RemoteConfig:
    remote_registry.save_token(ours.context, "bench", there.token)
    return remote_registry.save_remote(ours.context, RemoteConfig("bench", there.url, pin=there.pin))


def _replicated(ours: subject.Subject, config: RemoteConfig) -> None:
    outcome = replicate_agent(ours.context, ours.agent, config)
    if outcome.state != OK:
        raise SystemExit(f"not replicated: {outcome}")
