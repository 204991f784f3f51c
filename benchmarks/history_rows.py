"""Rows about an agent with a long history on an endpoint, beside one with a short history and the same state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from benchmarks import endpoints, measure
from benchmarks.load import Connection
from benchmarks.measure import Row
from benchmarks.scale import Scale
from benchmarks.sender import Sender

from lifeboat_alf.common import ids
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_vault.vault import Retention, Vault, draft_of_state

_APART = timedelta(minutes=5)
_DAY = "2026-10-01T08:00:00.000Z"
_LOG = 30_000
"""Characters of a log whose delta is about 10 KB."""
_SMALL = 200
_FLAT = 2
"""Factor by which a long history may cost more."""
_RESTORE = "restore of the head"
_GROWS = (_RESTORE,)
"""Rows that grow with the history: a whole state is found by walking through all earlier sequences."""


@dataclass
class _Agent:
    """An agent on the endpoint with `count` sequences, and the machine that continues writing it. `times` is by
    operation."""

    count: int
    sender: Sender
    bytes_each: float
    pushed: int = 0
    times: dict[str, list[float]] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"/agents/{self.sender.agent_id}"


def history(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure a push, reads, a restore and a thinning for agents with short and long histories."""
    with endpoints.endpoint(folder, 1) as ours, Endpoint.open(ours.data) as endpoint:
        space = endpoint.space(endpoint.control.tenants()[0].id)
        agents = [_agent(space, folder, count) for count in scale.histories]
        with closing(ours.connection()) as connection:
            for _ in range(scale.quick_runs):
                for agent in agents:
                    _use(agent, connection)
        thinned = [_thin(space, agent) for agent in agents]
    yield from _rows(agents, thinned)


def _agent(space: TenantSpace, folder: Path, count: int) -> _Agent:
    agent_id = ids.make_id(_DAY)
    space.register(agent_id, f"Bench {count}", "openclaw")
    start = datetime.now(UTC) - timedelta(hours=1) - count * _APART
    with space.vault(agent_id) as vault:
        there = Sender(agent_id, vault, Random(count), start=start, step=_APART)
        before = vault.size()
        with _unsynced(vault):
            for _ in range(count):
                there.capture(_SMALL, records=0)
        state = vault.state()
        here = Vault.create(folder / f"laptop-{count}", agent_id)
        here.accept(state.sequence, draft_of_state(state), kind="pull", writer="bench", raw_time=state.sequence.time)
        vault.compact()
        each = (vault.size() - before) / count
    sender = Sender(agent_id, here, Random(count), there.device, start, _APART, count)
    return _Agent(count, sender, each)


@contextmanager
def _unsynced(vault: Vault) -> Iterator[None]:
    """Do not wait for commits inside of the block, which only prepares the measurement."""
    store = vault._metadata
    store.execute("pragma synchronous = off")
    yield
    store.execute("pragma synchronous = full")


def _use(agent: _Agent, connection: Connection) -> None:
    """Time a push and three reads."""
    sender = agent.sender
    base = sender.capture(_LOG, records=0).number - 1
    delta = sender.delta(base, base + 1)
    agent.pushed = len(delta)

    def timed(what: str, method: str, target: str, body: bytes = b"", accept: str = "") -> None:
        def ask() -> None:
            status, answer = connection.ask(method, target, body, accept)
            if status >= 300:
                raise SystemExit(f"{method} {target}: {status} {answer[:300]!r}")

        agent.times.setdefault(what, []).append(measure.seconds(ask))

    timed("push of a delta", "POST", f"{agent.path}/deltas?base_sequence={base}", delta)
    timed("GET head", "GET", f"{agent.path}/head")
    timed("GET deltas since head - 1", "GET", f"{agent.path}/deltas?since={base}")
    timed("that delta", "GET", f"{agent.path}/deltas/{base + 1}?base={base}")
    timed(_RESTORE, "GET", f"{agent.path}/snapshot", accept="application/octet-stream")


def _thin(space: TenantSpace, agent: _Agent) -> tuple[float, int]:
    """Return the seconds of one thinning run, and the number of removed sequences."""
    with space.vault(agent.sender.agent_id) as vault:
        dropped: list[int] = []
        took = measure.seconds(lambda: dropped.extend(vault.thin(Retention(), datetime.now(UTC)).dropped))
    return took, len(dropped)


def _rows(agents: Sequence[_Agent], thinned: Sequence[tuple[float, int]]) -> Iterator[Row]:
    first, *longer = agents
    for long in longer:
        work, rival = f"{long.count:,} sequences", f"{first.count} sequences"
        for what in long.times:
            ours, theirs = measure.median(long.times[what]), measure.median(first.times[what])
            said = f"{what} ({measure.size(long.pushed)})" if what.startswith("push") else what
            if what in _GROWS:
                yield measure.beside(f"{work}: {said}", ours, rival, theirs)
            else:
                yield measure.faster(f"{work}: {said}", ours, rival, theirs, _FLAT)
    for agent, (took, dropped) in zip(agents, thinned, strict=True):
        work = f"{agent.count:,} sequences"
        yield Row(f"{work}: vault for each, a log of {_SMALL} characters in it", measure.size(agent.bytes_each))
        yield Row(f"{work}: one thinning, {dropped:,} go", measure.duration(took))
