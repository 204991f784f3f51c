"""Agents that push: what they send, in files, and the results."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

from benchmarks.endpoints import Endpoint, Request
from benchmarks.sender import Sender

from lifeboat_alf.common import ids

CONNECTIONS = 8
LOG = 14_000
"""Characters of the log that each state rewrites. With the new memories a delta is about 10 KB."""
MEMORIES = 8
ROUNDS = 4
_DAY = "2026-10-01T08:00:00.000Z"

Shape = tuple[int, int]
"""Characters of the log, number of memories."""


class Bundles:
    """Files with everything that one agent sends."""

    def __init__(self, agent_id: str, folder: Path, deltas: int) -> None:
        self.agent_id = agent_id
        self.snapshot = folder / "0.alf"
        self.deltas = [folder / f"{number}.alf-delta" for number in range(1, deltas + 1)]


def made(folder: Path, agents: int, deltas: int, shapes: Sequence[Shape] = ((LOG, MEMORIES),)) -> list[Bundles]:
    """Create agents with `deltas` deltas each, using the shapes in turn."""
    folder.mkdir(parents=True)
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(_make, repeat(folder), range(agents), repeat(deltas), repeat(shapes)))


def _make(folder: Path, number: int, deltas: int, shapes: Sequence[Shape]) -> Bundles:
    found = Bundles(ids.make_id(_DAY), folder / str(number), deltas)
    sender = Sender.create(folder / str(number), found.agent_id, number)
    sender.capture(LOG)
    found.snapshot.write_bytes(sender.snapshot())
    for base, file in enumerate(found.deltas):
        sender.capture(*shapes[base % len(shapes)])
        file.write_bytes(sender.delta(base, base + 1))
    sender.vault.close()
    return found


def register(ours: Endpoint, agents: Iterable[Bundles]) -> None:
    """Register every agent with its first state, as a client does."""
    connection = ours.connection()
    for each in agents:
        document = {"id": each.agent_id, "name": each.agent_id[:8], "source_runtime": "openclaw"}
        for method, target, body in (
            ("POST", "/agents", json.dumps(document).encode()),
            ("PUT", f"/agents/{each.agent_id}/snapshot", each.snapshot.read_bytes()),
        ):
            status, answer = connection.ask(method, target, body)
            if status != 201:
                raise SystemExit(f"{method} {target}: {status} {answer!r}")
    connection.close()


def delta(agent: Bundles, base: int) -> Request:
    """Return the request that pushes a state on top of `base`."""
    return ("POST", f"/agents/{agent.agent_id}/deltas?base_sequence={base}", agent.deltas[base])


def in_turn(agents: Sequence[Bundles], part: int) -> list[list[Request]]:
    """Return a part of the deltas by connection. The deltas of an agent keep their order on one connection and take
    turns with those of other agents."""
    asked: list[list[Request]] = [[] for _ in range(CONNECTIONS)]
    each = len(agents[0].deltas) // ROUNDS
    for base in range(part * each, (part + 1) * each):
        for place, one in enumerate(agents):
            asked[place % CONNECTIONS].append(delta(one, base))
    return asked


def size(agents: Sequence[Bundles]) -> float:
    """Return the average bytes of a delta."""
    files = [file for each in agents for file in each.deltas]
    return sum(file.stat().st_size for file in files) / len(files)


def rate(rounds: Sequence[dict[str, Any]]) -> float:
    """Return answers per second."""
    return len(times(rounds)) / math.fsum(each["seconds"] for each in rounds)


def cpu(rounds: Sequence[dict[str, Any]]) -> float:
    """Return the processor seconds that the server took per answer, which other load hardly affects."""
    return math.fsum(each["cpu"] for each in rounds) / len(times(rounds))


def times(rounds: Sequence[dict[str, Any]]) -> list[float]:
    return [one for each in rounds for one in each["times"]]
