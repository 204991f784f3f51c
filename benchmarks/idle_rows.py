"""Rows about the idle service, and about the service after very many captures."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import measure, processes, served, syncthing, workspaces
from benchmarks.measure import Budget, Row
from benchmarks.processes import Effort, Memory
from benchmarks.scale import Scale
from benchmarks.served import Served

MIB = 1 << 20
AGENTS = 5
LOOKS = 5
"""Checks for open sockets per second. A shorter request is not noticed."""

LOOKED_AT = 2.0
"""Interval in seconds. Looking at watched files wakes a service too."""


@dataclass(frozen=True)
class Idle:
    """An idle process family over some seconds. `sockets` is the highest number of network sockets at one time,
    `touched` the number of changed files, `started` the number of started processes."""

    seconds: float
    memory: Memory
    effort: Effort
    sockets: int | None
    touched: int
    started: int

    @property
    def share(self) -> float:
        """Return the share of one processor."""
        return self.effort.cpu / self.seconds

    @property
    def wakes(self) -> float:
        """Return wake-ups per second."""
        return self.effort.switches / self.seconds


def idle(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure a service with five idle agents some time after the first export of a large one."""
    if not Path("/proc/self/smaps_rollup").exists():
        yield Row("idle", "only measured on Linux")
        return
    tree = folder / "agents"
    files = _agents(tree, scale)
    context = served.home(folder)
    for workspace in sorted(tree.iterdir()):
        served.take_up(context, workspace)
    with served.serving(context) as ours:
        ours.settle(scale.settled)
        _rest(ours, scale.rest)
        mine = _watched(ours.pid, context.home.folder, scale.idle)
    with syncthing.syncthing(folder / "syncthing", tree) as theirs:
        if theirs is not None:
            time.sleep(scale.rest)
        other = None if theirs is None else _watched(theirs.pid, folder / "syncthing", scale.idle)
    yield from rows(f"idle, {AGENTS} agents, {files:,} files", mine, other)


def _agents(tree: Path, scale: Scale) -> int:
    """Create one agent with all the records and most of the files, and small agents beside it. Return the number of
    files."""
    small = scale.files // 20
    most = scale.files - (AGENTS - 1) * small
    made = [workspaces.many_records(tree / "agent-0", records=scale.records, files=most - 6)]
    for number in range(1, AGENTS):
        size = small * scale.size // scale.files
        made.append(workspaces.many_files(tree / f"agent-{number}", files=small, size=size, seed=number))
    return sum(one.files for one in made)


def _rest(ours: Served, seconds: float) -> None:
    """Wait until the first scan and the first verification are over and the workers have ended: only then is the
    service idle."""
    time.sleep(seconds)
    if not seconds:
        ours.end_workers()
    served.until(lambda: not ours.workers() and not ours.ask("jobs")["jobs"], "the service to come to rest")


def _watched(pid: int, own: Path, seconds: float) -> Idle:
    files = _files(own)
    time.sleep(LOOKED_AT)
    before, children, start = processes.effort(pid), set(processes.family(pid)), time.monotonic()
    sockets: set[str] | None = set()
    most, started = 0, set[int]()
    while time.monotonic() < start + seconds:
        time.sleep(1 / LOOKS)
        sockets = processes.inet_sockets(pid)
        most = max(most, len(sockets or ()))
        started |= set(processes.family(pid)) - children
    took = time.monotonic() - start
    after = processes.effort(pid)
    touched = len(set(_files(own).items()) ^ set(files.items()))
    held = None if sockets is None else most
    return Idle(took, processes.memory(pid), after.since(before), held, touched, len(started))


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """Map every file below a folder to its size and modification time."""
    return {
        os.path.join(where, name): (found.st_size, found.st_mtime_ns)
        for where, _, names in os.walk(folder)
        for name in names
        if (found := _stat(os.path.join(where, name))) is not None
    }


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def rows(work: str, ours: Idle, theirs: Idle | None) -> Iterator[Row]:
    """Yield rows about the service with its budgets, beside another tool."""

    def row(what: str, shown: Callable[[Idle], str], value: Callable[[Idle], float], *budgets: Budget) -> Row:
        if theirs is None:
            return Row(f"{work}: {what}", shown(ours), "syncthing", "not installed", "", list(budgets))
        ratio = measure.times_as(value(ours) / value(theirs), "less") if value(theirs) else ""
        return Row(f"{work}: {what}", shown(ours), "syncthing", shown(theirs), ratio, list(budgets))

    rss, sockets = ours.memory.rss, ours.sockets or 0
    yield row("memory", _memory, lambda one: one.memory.rss, Budget("RSS <= 45 MiB", rss, 45 * MIB))
    share = Budget("<= 0.05 %", ours.share, 0.0005)
    yield row(f"processor, {ours.seconds:.0f} s", lambda one: f"{one.share:.4%}", lambda one: one.share, share)
    wakes = Budget("< 0.5 /s", ours.wakes, 0.4999)
    yield row("wake-ups", lambda one: f"{one.wakes:.2f} /s", lambda one: one.wakes, wakes)
    yield row("network sockets", _sockets, lambda one: one.sockets or 0, Budget("0", sockets, 0))
    yield row("written to disk", _written, lambda one: one.effort.written or 0, Budget("0 files", ours.touched, 0))
    yield row("processes started", lambda one: str(one.started), lambda one: one.started)


def _memory(one: Idle) -> str:
    pss = "" if one.memory.pss is None else f", PSS {one.memory.pss / MIB:.1f}"
    return f"RSS {one.memory.rss / MIB:.1f} MiB{pss}"


def _sockets(one: Idle) -> str:
    return "only shown to root" if one.sockets is None else str(one.sockets)


def _written(one: Idle) -> str:
    size = "" if one.effort.written is None else f"{measure.size(one.effort.written)}, "
    return f"{size}{one.touched} files"


def many_captures(folder: Path, scale: Scale) -> Iterator[Row]:
    """Run captures one after the other over one connection, and measure how the service and its workers grow."""
    made = workspaces.many_files(folder / "workspace", files=20, size=60_000)
    context = served.home(folder)
    agent = served.take_up(context, made.folder)
    note, settled = made.notes[-1], scale.cycles // 10
    workers: dict[int, int] = {}
    daemon: dict[int, int] = {}
    with served.serving(context) as ours, ours.client() as client:
        ours.settle(scale.settled)
        start = time.monotonic()
        for number in range(1, scale.cycles + 1):
            note.write_text(f"# Today\n\nThe tide was {number}.\n")
            answer = client.call("sync", agents=[agent.id])
            if not answer["agents"][0]["changed"]:
                raise SystemExit(f"capture {number} found nothing: {answer}")
            if number % (settled // 10) == 0:
                daemon[number] = processes.rss(ours.pid)
                workers.update({pid: processes.peak(pid) for pid in ours.workers()})
        took = time.monotonic() - start
    first, last = daemon[settled], daemon[scale.cycles]
    work = f"{scale.cycles:,} captures, one after the other"
    yield Row(f"{work}: each", measure.duration(took / scale.cycles))
    flat = Budget("+ <= 4 MiB", max(0, last - first), 4 * MIB)
    yield Row(f"{work}: daemon after {settled:,}", f"RSS {first / MIB:.1f} MiB")
    yield Row(f"{work}: daemon at the end", f"RSS {last / MIB:.1f} MiB", budgets=[flat])
    largest = max(workers.values())
    yield Row(
        f"{work}: the largest of {len(workers)} workers",
        f"peak {largest / MIB:.1f} MiB",
        budgets=[Budget("<= 128 MiB", largest, 128 * MIB)],
    )
