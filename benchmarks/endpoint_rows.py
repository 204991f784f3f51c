"""The endpoint under load, with long histories, and seen from a machine that sends a change to it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import repeat
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import endpoints, measure, prose, rivals, subject, workspaces
from benchmarks.endpoints import Endpoint, Request
from benchmarks.measure import Budget, Row
from benchmarks.scale import Scale
from benchmarks.sender import Sender

from lifeboat_alf import ids
from lifeboat_daemon.health.standing import OK
from lifeboat_daemon.remotes import registry
from lifeboat_daemon.remotes.contract import RemoteConfig
from lifeboat_daemon.remotes.replicating import replicate

WORKERS = 2
CONNECTIONS = 8
LOG = 14_000
"""Characters of the log that each state writes anew: with the memories beside it a delta has about 10 KB."""
_ROUNDS = 4
_DAY = "2026-10-01T08:00:00.000Z"
MIB = 1 << 20


def pushes(folder: Path, scale: Scale) -> Iterator[Row]:
    """Deltas of 10 KB from many agents over HTTPS, with tokens, encryption and audit."""
    made = _made(folder / "bundles", scale.agents, scale.deltas)
    size = sum(file.stat().st_size for each in made for file in each.deltas) / (scale.agents * scale.deltas)
    with endpoints.endpoint(folder, WORKERS) as ours, endpoints.floor(ours, WORKERS) as theirs:
        idle = ours.rss()
        _register(ours, made)
        mine, floor = [], []
        for part in range(_ROUNDS):
            asked = _connections(made, part)
            mine.append(ours.load(asked))
            floor.append(theirs.load(asked))
        after = ours.rss()
        low = theirs.rss()
    yield from _rows(f"{scale.agents * scale.deltas:,} deltas of {measure.size(size)}", mine, floor)
    yield Row(f"endpoint, {WORKERS} processes answer, RSS of all: idle", f"{idle / MIB:.0f} MiB")
    yield Row("endpoint, RSS after the deltas", f"{after / MIB:.0f} MiB", "floor", f"{low / MIB:.0f} MiB")


class _Bundles:
    """What one agent sends, in files."""

    def __init__(self, agent_id: str, folder: Path, deltas: int) -> None:
        self.agent_id = agent_id
        self.snapshot = folder / "0.alf"
        self.deltas = [folder / f"{number}.alf-delta" for number in range(1, deltas + 1)]


def _made(folder: Path, agents: int, deltas: int) -> list[_Bundles]:
    folder.mkdir(parents=True)
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(_make, repeat(folder), range(agents), repeat(deltas)))


def _make(folder: Path, number: int, deltas: int) -> _Bundles:
    made = _Bundles(ids.new(_DAY), folder / str(number), deltas)
    sender = Sender.create(folder / str(number), made.agent_id, number)
    sender.capture(LOG)
    made.snapshot.write_bytes(sender.snapshot())
    for base, file in enumerate(made.deltas):
        sender.capture(LOG)
        file.write_bytes(sender.delta(base, base + 1))
    sender.vault.close()
    return made


def _register(ours: Endpoint, made: list[_Bundles]) -> None:
    """Every agent known, with its first state, as any client does it."""
    connection = ours.connection()
    for each in made:
        document = {"id": each.agent_id, "name": each.agent_id[:8], "source_runtime": "openclaw"}
        for method, target, body in (
            ("POST", "/agents", json.dumps(document).encode()),
            ("PUT", f"/agents/{each.agent_id}/snapshot", each.snapshot.read_bytes()),
        ):
            status, answer = connection.ask(method, target, body)
            if status != 201:
                raise SystemExit(f"{method} {target}: {status} {answer!r}")
    connection.close()


def _connections(made: list[_Bundles], part: int) -> list[list[Request]]:
    """A part of the deltas: each agent's on one connection in their order, in turn with those of other agents."""
    asked: list[list[Request]] = [[] for _ in range(CONNECTIONS)]
    each = len(made[0].deltas) // _ROUNDS
    for base in range(part * each, (part + 1) * each):
        for place, one in enumerate(made):
            target = f"/agents/{one.agent_id}/deltas?base_sequence={base}"
            asked[place % CONNECTIONS].append(("POST", target, one.deltas[base]))
    return asked


def _rows(work: str, mine: Sequence[dict[str, Any]], floor: Sequence[dict[str, Any]]) -> Iterator[Row]:
    rates, lows = _rate(mine), _rate(floor)
    budget = Budget(">= 300 /s", 300 / rates, 1)
    row = partial(Row, rival=f"granian, Starlette, SQLite with one commit, {WORKERS} processes")
    yield row(
        f"{work}, {CONNECTIONS} connections",
        f"{rates:.0f} /s",
        theirs=f"{lows:.0f} /s",
        ratio=f"{lows / rates:.2f} x",
        budgets=[budget],
    )
    ours, theirs = _cpu(mine), _cpu(floor)
    yield row(
        f"{work}: processor for each",
        measure.duration(ours),
        theirs=measure.duration(theirs),
        ratio=f"{ours / theirs:.2f} x",
    )
    times, others = _times(mine), _times(floor)
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


def _rate(rounds: Sequence[dict[str, Any]]) -> float:
    """Answers a second."""
    return len(_times(rounds)) / math.fsum(each["seconds"] for each in rounds)


def _cpu(rounds: Sequence[dict[str, Any]]) -> float:
    """Seconds of a processor that the server took for an answer: what else the machine does changes little of it."""
    return math.fsum(each["cpu"] for each in rounds) / len(_times(rounds))


def _times(rounds: Sequence[dict[str, Any]]) -> list[float]:
    return [one for each in rounds for one in each["times"]]


def replicate_one_change(folder: Path, scale: Scale) -> Iterator[Row]:
    """A change on this machine: from its capture until the endpoint has acknowledged it."""
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
    registry.save_token(ours.context, "bench", there.token)
    return registry.save(ours.context, RemoteConfig("bench", there.url, pin=there.pin))


def _replicated(ours: subject.Subject, config: RemoteConfig) -> None:
    outcome = replicate(ours.context, ours.agent, config)
    if outcome.state != OK:
        raise SystemExit(f"not replicated: {outcome}")
