"""Rows about the dashboard on a terminal: the first picture, the time from a key to its effect, and the cost when
idle."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from benchmarks import measure, processes, prose, served, workspaces
from benchmarks.measure import Budget, Row
from benchmarks.processes import Effort, Memory
from benchmarks.scale import Scale
from benchmarks.served import Served
from benchmarks.terminal import SIZE, Terminal, terminal

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.home.context import Context
from lifeboat_core.state import last_status
from lifeboat_keys.signed import sequence_signatures
from lifeboat_vault.vault import Draft, EntryPut

MIB = 1 << 20
AGENTS = 50
APART = timedelta(minutes=1)
"""Time between two sequences, short enough that none is thinned during the measurement."""
LOG = "memory/today.md"
FIRST, FRAME, LAG = 0.5, 0.05, 0.2
"""Time limits in seconds: for the first picture, for a key that only moves the cursor, and for a key that sends a
request."""
IDLE = 15.0
"""Minimum number of seconds for which an idle dashboard is measured."""
MOVES = 50
DOWN, PAGE_DOWN, ENTER, ESCAPE = "\x1b[B", "\x1b[6~", "\r", "\x1b"
CURSOR = "▸"
SEQUENCES, MEMORIES = r"Sequences \[\d", r"Memories.{0,40}\[\d"


class Standing(SystemClock):
    """A clock that stands still, in another boot."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment

    def now(self) -> datetime:
        return self._moment

    def boot_id(self) -> str:
        return ""


@dataclass(frozen=True)
class Crowd:
    """A home with many agents. The first agent has a long history and many memories."""

    context: Context
    agents: list[Agent]
    sequences: int

    def dashboard(self) -> list[str]:
        return [os.path.join(os.path.dirname(sys.executable), "lifeboat")]


@dataclass(frozen=True)
class Quiet:
    """CPU use and wake-ups of an idle process over some seconds."""

    memory: Memory
    effort: Effort
    seconds: float

    @property
    def share(self) -> float:
        """Return the share of one processor."""
        return self.effort.cpu / self.seconds


def dashboard(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure the dashboard of fifty agents, one of them with a long history and many memories."""
    if not Path("/proc/self/smaps_rollup").exists():
        yield Row("dashboard", "only measured on Linux")
        return
    crowd = made(folder, scale)
    yield from _first_pictures(crowd, scale, "no service", with_bare=True)
    with served.serving(crowd.context) as service:
        service.settle(scale.settled)
        yield from _first_pictures(crowd, scale, "service runs", with_bare=False)
        with terminal(crowd.dashboard(), crowd.context.environment) as seen:
            seen.drawn(crowd.agents[0].name)
            yield from _idle(seen, service, scale)
            seen.rest()
            yield from _agents(seen, crowd, service, scale)
            yield from _timeline(seen, crowd)
            yield from _memories(seen, scale)
    yield from _tables(scale)
    yield Row("dashboard: load of the machine at the end", f"{os.getloadavg()[0]:.1f}")


# The home -----------------------------------------------------------------------------------------------------------


def made(folder: Path, scale: Scale) -> Crowd:
    """Create a home in which everything is captured, and watched once a service runs."""
    tree, context = folder / "agents", served.home(folder)
    workspaces.many_records(tree / "agent-00", records=scale.listed, files=scale.listed // 25)
    for number in range(1, AGENTS):
        workspaces.many_files(tree / f"agent-{number:02}", files=12, size=12_000, seed=number)
    agents = [served.take_up(context, workspace) for workspace in sorted(tree.iterdir())]
    long_ago = datetime.now(UTC) - scale.kept * APART
    capture_agent(replace(context, clock=Standing(long_ago)), agents[0])
    for agent in agents[1:]:
        capture_agent(context, agent)
    return Crowd(context, agents, _lengthen(context, agents[0], scale.kept))


def _lengthen(context: Context, agent: Agent, count: int) -> int:
    """Give an agent a history by adding one line to its log again and again, as captures would have stored it. Return
    the number of sequences."""
    random, text, device = Random(6), "# Today\n", context.keys().device
    start = datetime.now(UTC) - count * APART
    with context.vault(agent.id) as vault:
        store = vault._metadata
        store.execute("pragma synchronous = off")  # not part of the measurement
        for number in range(count - 2):
            text = text[-600:] + f"\n- {number}: {prose.sentence(random)}\n"
            made = vault.commit(
                Draft({f"raw/openclaw/{LOG}": EntryPut({}, text.encode())}, []),
                kind="capture",
                writer=device.id,
                time=start + (number + 1) * APART,
                sign=lambda sequence: sequence_signatures.sign_sequence(sequence, device),
            )
            assert made is not None, "every text is another one"
        store.execute("pragma synchronous = full")
    (agent.workspace / LOG).write_text(text)
    capture_agent(context, agent)
    with context.vault(agent.id) as vault:
        return len(vault.sequences())


# Start --------------------------------------------------------------------------------------------------------------


def _first_pictures(crowd: Crowd, scale: Scale, when: str, *, with_bare: bool) -> Iterator[Row]:
    """Measure from the start of the process to the table of agents, beside a bare Textual table with as many rows."""
    environment, name = crowd.context.environment, crowd.agents[0].name

    def forget(_: int) -> None:
        last_status.forget_status(crowd.context.home, SystemFiles())

    runs = scale.quick_runs // 2
    bare = [sys.executable, "-m", "benchmarks.bare_table", "datatable", str(AGENTS)]
    _first_picture(crowd.dashboard(), environment, name)  # warm the page cache
    ours, theirs = measure_in_turn(
        runs,
        lambda _: _first_picture(crowd.dashboard(), environment, name),
        lambda _: _first_picture(bare, {**environment, "PYTHONPATH": os.getcwd()}, "row-00000"),
    )
    work = f"dashboard, {AGENTS} agents, {when}"
    median = measure.median(ours)
    yield measure.beside(
        f"{work}: first picture",
        median,
        "bare Textual table",
        measure.median(theirs),
        Budget("<= 500 ms", median, FIRST),
    )
    fresh = []
    for number in range(runs):
        forget(number)
        fresh.append(_first_picture(crowd.dashboard(), environment, name))
    yield Row(f"{work}: first picture, nothing remembered from before", measure.duration(measure.median(fresh)))


def measure_in_turn(times: int, *works: Callable[[int], float]) -> list[list[float]]:
    """Run several measurements in turn, several times."""
    found: list[list[float]] = [[] for _ in works]
    for number in range(times):
        for work, taken in zip(works, found, strict=True):
            taken.append(work(number))
    return found


def _first_picture(command: list[str], environment: Mapping[str, str], text: str) -> float:
    with terminal(command, environment) as seen:
        return seen.drawn(text) - seen.began


# Idle ---------------------------------------------------------------------------------------------------------------


def _idle(seen: Terminal, service: Served, scale: Scale) -> Iterator[Row]:
    """Measure the dashboard and its command server separately while the service runs and nothing happens."""
    served.until(lambda: processes.family(seen.pid)[1:], "the command server")
    served.until(lambda: not service.ask("jobs")["jobs"], "the service to come to rest")
    seen.rest(3.0)
    server = processes.family(seen.pid)[1:]
    seconds, drawn, start = max(IDLE, scale.idle), seen.written, time.monotonic()
    before = [processes.effort_of(pids) for pids in ([seen.pid], server)]
    time.sleep(seconds)
    took = time.monotonic() - start
    app, commands = (
        Quiet(processes.memory_of(pids), processes.effort_of(pids).since(first), took)
        for pids, first in zip(([seen.pid], server), before, strict=True)
    )
    work = f"dashboard, idle for {took:.0f} s"
    share = Budget("<= 0.5 %", app.share, 0.005)
    yield Row(f"{work}: processor", f"{app.share:.3%}", "command server", f"{commands.share:.3%}", budgets=[share])
    yield Row(
        f"{work}: wake-ups",
        f"{app.effort.switches / took:.2f} /s",
        "command server",
        f"{commands.effort.switches / took:.2f} /s",
    )
    yield Row(f"{work}: written to the terminal", measure.size(seen.written - drawn))
    yield Row(f"{work}: memory", _memory(app.memory), "command server", _memory(commands.memory))


def _memory(found: Memory) -> str:
    pss = "" if found.pss is None else f", PSS {found.pss / MIB:.1f}"
    return f"RSS {found.rss / MIB:.1f} MiB{pss}"


# From a key to its effect -------------------------------------------------------------------------------------------


def _agents(seen: Terminal, crowd: Crowd, service: Served, scale: Scale) -> Iterator[Row]:
    """Measure moving among the agents, and a capture of the agent under the cursor."""
    yield _moved(seen, f"dashboard: down in {AGENTS} agents", DOWN, AGENTS - 1)
    last, shown, answered = crowd.agents[-1], [], []
    with service.client() as client:
        for number in range(scale.quick_runs):
            seen.rest()
            with crowd.context.vault(last.id) as vault:
                head = vault.head()
            assert head is not None
            (last.workspace / LOG).write_text(f"# Today\n\nThe tide was {number}.\n")
            seen.press("")
            start = time.monotonic()
            client.call("sync", agents=[last.id])
            answered.append(time.monotonic() - start)
            shown.append(seen.drawn(f"up to sequence {head.number + 1},") - start)
    yield measure.beside(
        "dashboard: a capture that somebody else asked for, until it is shown",
        measure.median(shown),
        "the service's own answer",
        measure.median(answered),
    )
    seen.painted("g", CURSOR)
    seen.rest()


def _timeline(seen: Terminal, crowd: Crowd) -> Iterator[Row]:
    """Measure a long history: opening it, moving in it, and one comparison."""
    work = f"timeline of {crowd.sequences:,} sequences"
    opened = []
    for _ in range(5):
        opened.append(seen.painted("2", SEQUENCES))
        seen.rest(1.0)
        seen.painted("1", "Agents")
        seen.rest(0.5)
    yield Row(f"{work}: opened", measure.duration(measure.median(opened)))
    seen.painted("2", SEQUENCES)
    seen.rest(1.0)
    yield _moved(seen, f"{work}: page down", PAGE_DOWN, min(MOVES, crowd.sequences // 40))
    yield _moved(seen, f"{work}: down", DOWN, MOVES)
    yield _moved(seen, f"{work}: to the end and back", "Gg", MOVES)
    seen.press(PAGE_DOWN)
    seen.rest(1.0)
    found = []
    for _ in range(10):
        seen.press(DOWN)
        seen.rest(0.6)
        found.append(seen.painted(ENTER, r"Changes \[\d"))
        seen.rest(0.5)
        seen.painted(ESCAPE, "Sequences")
    yield Row(f"{work}: a comparison opened", measure.duration(measure.median(found)))
    seen.rest(0.5)


def _memories(seen: Terminal, scale: Scale) -> Iterator[Row]:
    """Measure many memories: the first page, all of them, and a filter."""
    work = f"{scale.listed:,} memories"
    opened = []
    for _ in range(5):
        opened.append(seen.painted("6", MEMORIES))
        seen.rest(1.0)
        seen.painted("1", "Agents")
        seen.rest(0.5)
    yield Row(f"{work}: opened", measure.duration(measure.median(opened)))
    seen.painted("6", MEMORIES)
    seen.rest(1.0)
    yield _moved(seen, f"{work}: page down", PAGE_DOWN, MOVES // 5)
    start = time.monotonic()
    while time.monotonic() < start + 60:
        seen.press("G")
        seen.rest(2.0)
        if not seen.has(r"Memories, the newest of"):
            break
    yield _moved(seen, f"{work}: page up from the end", "\x1b[5~", min(MOVES, scale.listed // 40))
    seen.press("/")
    seen.rest()
    letters = [seen.quiet(letter) for letter in "harbour"]  # a filter that removes no row does not change the count
    yield Row(
        f"{work}: a letter of a filter",
        measure.duration(measure.median(letters)),
        "the slowest",
        measure.duration(max(letters)),
        budgets=[Budget("<= 200 ms", measure.median(letters), LAG)],
    )
    seen.press(ESCAPE)
    seen.rest()


def _moved(seen: Terminal, work: str, keys: str, times: int) -> Row:
    """Press the same keys again and again, and wait each time until the cursor has moved."""
    found: list[float] = []
    for number in range(times):
        key = keys[number % len(keys)] if keys == "Gg" else keys
        found.append(seen.painted(key, CURSOR))
        seen.rest(0.05)
    late = measure.p95(found)
    budget = Budget("95 of 100 <= 50 ms", late, FRAME)
    return Row(work, measure.duration(measure.median(found)), "p95", measure.duration(late), budgets=[budget])


# The table, beside that of Textual ----------------------------------------------------------------------------------


def _tables(scale: Scale) -> Iterator[Row]:
    """Measure the same rows in an app without anything else."""
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    first, moved, memory = {}, {}, {}
    for kind in ("ours", "datatable"):
        command = [sys.executable, "-m", "benchmarks.bare_table", kind, str(scale.listed)]
        first[kind] = measure.median([_first_picture(command, environment, "row-00000") for _ in range(5)])
        with terminal(command, environment) as seen:
            seen.drawn("row-00000")
            seen.rest()
            times = []
            for _ in range(min(MOVES, scale.listed // SIZE[1] - 1)):  # at the last row nothing new would be drawn
                times.append(seen.painted(PAGE_DOWN, r"row-\d+"))
                seen.rest(0.05)
            moved[kind], memory[kind] = measure.median(times), processes.rss(seen.pid)
    work = f"a table of {scale.listed:,} rows"
    rival = "Textual's DataTable"
    yield measure.faster(f"{work}: first picture", first["ours"], rival, first["datatable"], 1)
    yield measure.faster(f"{work}: page down", moved["ours"], rival, moved["datatable"], 1)
    yield Row(f"{work}: RSS", f"{memory['ours'] / MIB:.1f} MiB", rival, f"{memory['datatable'] / MIB:.1f} MiB")
