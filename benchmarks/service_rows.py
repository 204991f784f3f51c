"""Rows about the working service: a change until it is safe, a scan without changes, and a scan beside long work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from benchmarks import measure, prose, rivals, served, syncthing, workspaces
from benchmarks.measure import Budget, Row
from benchmarks.scale import Scale
from benchmarks.served import Served

from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context

QUIET = 2.0
"""Default of `capture.quiet` in seconds."""

SETTLED = 2.5
"""Seconds longer than the minimum interval between two captures of an agent. Anything shorter could include the change
in the earlier capture."""


def change_through_the_service(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure a line added to one of many files: noticed, debounced and captured by a real service."""
    made = workspaces.many_files(folder / "workspace", files=scale.files, size=scale.size)
    context = served.home(folder)
    agent = served.take_up(context, made.folder)
    random = Random(5)

    def change(_: int) -> Path:
        note = random.choice(made.notes)
        with note.open("a") as stream:
            stream.write(f"\n- {prose.sentence(random)}\n")
        return note

    git = [
        rivals.git_committer(made.folder, folder / name, synced=synced)
        for name, synced in (("git", False), ("git-synced", True))
    ]
    with served.serving(context, noting=True) as ours:
        ours.settle(SETTLED)
        warm: list[tuple[float, float]] = []
        _, loose, synced = measure.in_turn(
            scale.waiting_runs, lambda number: warm.append(_captured(ours, change, number)), *git
        )
        cold = [_captured(ours, change, number, alone=True) for number in range(scale.waiting_runs // 2)]
        asked = [_asked(ours, agent, change, number) for number in range(scale.waiting_runs // 2)]
    restic = rivals.restic_backup(made.folder, folder / "restic", change, scale.slow_runs)
    seen, indexed = _by_syncthing(folder / "syncthing", made.folder, change, scale)
    work = f"one of {made.files:,} files changed, service"
    yield from _until_committed(
        f"{work}: begun -> committed", [since_begun for since_begun, _ in warm], loose, synced, restic, indexed
    )
    yield from _beyond_the_quiet_time(work, [whole for _, whole in warm], [whole for _, whole in cold], seen)
    yield Row(f"{work}: `sync`, no worker there, change -> committed", measure.duration(measure.median(asked)))


def _captured(ours: Served, change: Callable[[int], Path], number: int, *, alone: bool = False) -> tuple[float, float]:
    """Return the seconds from the daemon's start of the capture until the change was durable, and from the change on
    without the debounce. `alone`: no worker runs when the file changes."""
    if alone:
        ours.end_workers()
    ours.moments.forget()
    change(number)
    changed = time.monotonic()
    begun, committed = ours.moments.of_capture()
    return committed - begun, committed - changed - QUIET


def _asked(ours: Served, agent: Agent, change: Callable[[int], Path], number: int) -> float:
    """Return the seconds from a request until the change is durable, including the start of a worker."""
    with ours.client() as client:
        ours.end_workers()
        ours.moments.forget()
        change(number)
        start = time.monotonic()
        client.call("sync", agents=[agent.id])
        _, committed = ours.moments.of_capture()
    return committed - start


def _by_syncthing(
    folder: Path, tree: Path, change: Callable[[int], Path], scale: Scale
) -> tuple[list[float] | None, list[float] | None]:
    """Return the seconds from a change until it is in Syncthing's index without its delay, and for a request to scan
    the changed file."""
    with syncthing.syncthing(folder, tree, delay=int(QUIET)) as theirs:
        if theirs is None:
            return None, None
        theirs.listen()
        seen = []
        for number in range(scale.waiting_runs // 2):
            change(number)
            changed = time.monotonic()
            seen.append(theirs.updated() - changed - theirs.delay)
        names: list[str] = []
        indexed = measure.repeated(
            lambda _: theirs.scan(names[-1]),
            scale.waiting_runs,
            before=lambda number: names.append(str(change(number).relative_to(tree))),
        )
        return seen, indexed


def _until_committed(
    work: str,
    ours: list[float],
    loose: list[float] | None,
    synced: list[float] | None,
    restic: list[float] | None,
    indexed: list[float] | None,
) -> Iterator[Row]:
    median, late = measure.median(ours), measure.p95(ours)
    yield measure.faster(work, median, "git add -A && git commit", measure.median_or_none(loose), 0.7)
    yield measure.faster(work, median, "git, core.fsync=all", measure.median_or_none(synced), 0.7)
    yield measure.faster(work, median, "restic backup", measure.median_or_none(restic), 1 / 20)
    yield measure.beside(work, median, "syncthing, scan of that file", measure.median_or_none(indexed))
    yield Row(f"{work}, p95", measure.duration(late), budgets=[Budget("<= 100 ms", late, 0.1)])


def _beyond_the_quiet_time(work: str, warm: list[float], cold: list[float], seen: list[float] | None) -> Iterator[Row]:
    for name, times in (("a worker there", warm), ("none there", cold)):
        what = f"{work}: change -> committed less {QUIET:g} s quiet, {name}"
        theirs = measure.median_or_none(seen)
        yield measure.beside(what, measure.median(times), f"syncthing, less {QUIET:g} s delay", theirs)
        late = measure.p95(times)
        yield Row(f"{what}, p95", measure.duration(late))


def scan_through_the_service(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure a request to scan an unchanged workspace with a real service."""
    made = workspaces.many_files(folder / "workspace", files=scale.files, size=scale.size)
    context = served.home(folder)
    agent = served.take_up(context, made.folder)
    with served.serving(context) as ours, ours.client() as client:
        ours.settle(scale.settled)
        scans, walks, git = measure.in_turn(
            scale.quick_runs,
            lambda _: client.call("sync", agents=[agent.id]),
            lambda _: rivals.walk(made.folder),
            rivals.git_status(made.folder, folder / "git"),
        )
    restic = rivals.restic_backup(made.folder, folder / "restic", lambda _: None, scale.slow_runs)
    with syncthing.syncthing(folder / "syncthing", made.folder) as theirs:
        rescans = None if theirs is None else measure.repeated(lambda _: theirs.scan(), scale.quick_runs)
    assert scans is not None
    work, median, late = f"nothing changed: `sync` of {made.files:,} files", measure.median(scans), measure.p95(scans)
    yield measure.beside(work, median, "scandir + stat", measure.median_or_none(walks))
    yield measure.beside(work, median, "git status", measure.median_or_none(git))
    yield measure.beside(work, median, "restic backup", measure.median_or_none(restic))
    yield measure.beside(work, median, "syncthing, scan", measure.median_or_none(rescans))
    yield Row(f"{work}, p95", measure.duration(late), budgets=[Budget("<= 100 ms", late, 0.1)])


def scan_beside_long_work(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure the same request while the service exports, then verifies, a large agent."""
    small = workspaces.many_files(folder / "small", files=scale.files, size=scale.size)
    large = workspaces.many_records(folder / "large", records=scale.records, files=scale.records // 25)
    context = served.home(folder)
    agent = served.take_up(context, small.folder)
    with served.serving(context) as ours, ours.client() as client:
        ours.settle(scale.settled)

        def scan() -> float:
            return measure.seconds(lambda: client.call("sync", agents=[agent.id]))

        alone = [scan() for _ in range(scale.quick_runs)]
        export = _while_running(lambda: _export(ours, context, large.folder), scan)
        other = next(one["id"] for one in ours.ask("daemon")["agents"] if one["id"] != agent.id)
        verify = _while_running(lambda: ours.ask("verify", agent=other, whole=True), scan)
    work, before = f"nothing changed: `sync` of {small.files:,} files, p95", measure.p95(alone)
    yield Row(f"{work}, nothing else runs", measure.duration(before))
    for what, times in (("first export", export), ("whole verification", verify)):
        late, count = measure.p95(times), len(times)
        name = f"{work} of {count}, beside the {what} of {scale.records:,} records"
        yield measure.faster(name, late, "alone", before, 2)


def _export(ours: Served, context: Context, workspace: Path) -> None:
    agent = served.take_up(context, workspace)
    ours.ask("reload")

    def is_done() -> bool:
        found = {one["id"]: one for one in ours.ask("daemon")["agents"]}
        return agent.id in found and bool(found[agent.id]["captures"] or found[agent.id]["failures"])

    served.until(is_done, "the first export")


def _while_running(long: Callable[[], object], work: Callable[[], float]) -> list[float]:
    """Return the times of all runs that began while something else ran, at least one."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            long()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    times = [work()]
    while thread.is_alive():
        times.append(work())
    thread.join()
    if failures:
        raise failures[0]
    return times
