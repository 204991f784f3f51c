"""The budgets, side by side with the tool each of them names, in one run.

    python -m benchmarks.run [--quick] [--strict] [ROW...]

Everything is made in a temporary folder and thrown away. Lifeboat commits with SQLite's synchronous=FULL; git is
measured as it comes (loose objects are not synced) and with core.fsync=all; restic as it comes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

from benchmarks import (
    dashboard_rows,
    endpoint_rows,
    history_rows,
    idle_rows,
    installs,
    interchange_rows,
    measure,
    prose,
    purge_rows,
    rivals,
    service_rows,
    shared_rows,
    subject,
    workspaces,
)
from benchmarks.measure import Budget, Row
from benchmarks.scale import FULL, QUICK, Scale


def one_file_changed(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure one line added to one of many notes."""
    made = workspaces.many_files(folder / "workspace", files=scale.files, size=scale.size)
    ours = subject.protect(made.folder, folder / "home")
    random = Random(1)

    def change(_: int) -> None:
        note = random.choice(made.notes)
        with note.open("a") as stream:
            stream.write(f"\n- {prose.sentence(random)}\n")

    whole, known = [], []
    for number in range(scale.quick_runs):
        change(number)
        seconds, since_known = ours.timed_capture()
        whole.append(seconds)
        known.append(since_known)
    loose = rivals.git_commit(made.folder, folder / "git", change, scale.slow_runs * 2, synced=False)
    synced = rivals.git_commit(made.folder, folder / "git-synced", change, scale.slow_runs * 2, synced=True)
    restic = rivals.restic_backup(made.folder, folder / "restic", change, scale.slow_runs)
    work, median = f"one file changed in {made.files:,}", measure.median(known)
    yield measure.faster(
        f"{work}: known -> committed", median, "git add -A && git commit", measure.median_or_none(loose), 0.7
    )
    yield measure.faster(
        f"{work}: known -> committed", median, "git, core.fsync=all", measure.median_or_none(synced), 0.7
    )
    yield measure.faster(f"{work}: known -> committed", median, "restic backup", measure.median_or_none(restic), 1 / 20)
    late = measure.p95(whole)
    yield Row(f"{work}: scan and all, p95", measure.duration(late), budgets=[Budget("<= 100 ms", late, 0.1)])


def nothing_changed(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure a full scan of an unchanged workspace."""
    made = workspaces.many_files(folder / "workspace", files=scale.files, size=scale.size)
    ours = subject.protect(made.folder, folder / "home")
    ours.capture()
    scans = measure.repeated(lambda _: ours.capture(), scale.quick_runs)
    walks = measure.repeated(lambda _: rivals.walk(made.folder), scale.quick_runs)
    work = f"nothing changed: full scan of {made.files:,} files"
    yield measure.faster(work, measure.median(scans), "scandir + stat", measure.median(walks), 3)


def one_line_added(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure the bytes sent for one line in a 9 KB note."""
    random = Random(2)
    workspace = folder / "workspace"
    workspaces.many_files(workspace, files=40, size=400_000)
    sections = [f"## {prose.heading(random)}\n\n{prose.paragraph(random, 560)}\n" for _ in range(15)]
    note = workspace / "MEMORY.md"
    note.write_text("# MEMORY\n\n" + "\n".join(sections))
    ours = subject.protect(workspace, folder / "home")
    base = ours.head()
    text = note.read_text()
    note.write_text(text.replace(sections[7], sections[7] + f"\n{prose.sentence(random)}\n"))
    ours.capture()
    delta = folder / "line.alf-delta"
    ours.write_delta(base, delta)
    patch = subject.patch_bytes(delta)
    whole, work = delta.stat().st_size, f"one line added to a note of {measure.size(len(text))}"
    yield Row(f"{work}: delta", measure.size(whole), budgets=[Budget("<= 3 KB", whole, 3072)])
    yield Row(f"{work}: raw patch", measure.size(patch), budgets=[Budget("<= 300 bytes", patch, 300)])


def many_records(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure a large agent: first export, one change, search."""
    made = workspaces.many_records(folder / "workspace", records=scale.records, files=scale.records // 25)
    home, snapshot = folder / "home", folder / "first.alf"
    first = _first_export(made.folder, home, snapshot)
    work, size = f"{scale.records:,} records", snapshot.stat().st_size
    yield from _exported(first, work, 3)
    yield Row(f"{work}: snapshot", measure.size(size), budgets=[Budget("<= 50 MB", size, 50_000_000)])
    ours = subject.reopen(made.folder, home)
    yield from _change_and_delta(ours, made, folder, work, scale)
    yield from _search(ours, work, scale)


def _exported(first: dict[str, float], work: str, limit: int) -> Iterator[Row]:
    total, peak = first["commit"] + first["write"], first["peak"]
    yield Row(f"{work}: first export", measure.duration(total), budgets=[Budget(f"<= {limit} s", total, limit)])
    yield Row(f"{work}: look-ups filled after the commit", measure.duration(first["look_ups"]))
    yield Row(f"{work}: peak memory", measure.size(peak), budgets=[Budget("<= 128 MiB", peak, 128 << 20)])


def many_rows(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure a ZeroClaw agent with memories in rows with vectors: first export, one new row, a restore."""
    made = installs.many_rows(folder / "zeroclaw", rows=scale.records)
    home, where = folder / "home", {"ZEROCLAW_CONFIG_DIR": str(made.home)}
    work = f"ZeroClaw {scale.records:,} rows x {made.dimensions} dimensions"
    options = ("zeroclaw", *(f"{name}={value}" for name, value in where.items()))
    yield from _exported(_first_export(made.workspace, home, folder / "first.alf", *options), work, 5)
    ours = subject.reopen(made.workspace, home, **where)
    backups = rivals.sqlite_backup(made.database, folder / "copy.db", made.remember, scale.slow_runs)
    ours.capture()
    times = measure.repeated(
        lambda _: ours.capture(), scale.quick_runs, before=lambda number: made.remember(scale.slow_runs + number)
    )
    one = f"{work}: one new row"
    median, late = measure.median(times), measure.p95(times)
    budget = Budget("<= 250 ms", median, 0.25)
    yield measure.faster(one, median, "online backup, sha256", measure.median(backups), 1, budget)
    yield Row(f"{one}, p95", measure.duration(late))
    back = measure.seconds(lambda: ours.restore(folder / "back" / "workspace"))
    yield Row(f"{work}: restore into a fresh home", measure.duration(back), budgets=[Budget("<= 6 s", back, 6)])


def _first_export(workspace: Path, home: Path, snapshot: Path, *options: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.first_export", str(workspace), str(home), str(snapshot), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _change_and_delta(
    ours: subject.Subject, made: workspaces.Made, folder: Path, work: str, scale: Scale
) -> Iterator[Row]:
    random, delta = Random(3), folder / "one.alf-delta"
    bases: list[int] = []

    def change(_: int) -> None:
        bases.append(ours.head())
        note = random.choice(made.notes)
        note.write_text(note.read_text() + f"\n## {prose.heading(random)}\n\n{prose.sentence(random)}\n")

    def sync(_: int) -> None:
        ours.capture()
        ours.write_delta(bases[-1], delta)

    times = measure.repeated(sync, scale.quick_runs // 2, before=change)
    median = measure.median(times)
    yield Row(
        f"{work}: capture and delta after one change",
        measure.duration(median),
        budgets=[Budget("<= 100 ms", median, 0.1)],
    )


def _search(ours: subject.Subject, work: str, scale: Scale) -> Iterator[Row]:
    random = Random(4)
    first = measure.seconds(lambda: ours.search("warm up"))
    yield Row(f"{work}: first search, fills the full text", measure.duration(first))
    words = [" ".join(random.sample(prose.NOUNS, 2)) for _ in range(scale.quick_runs * 2)]
    times = measure.repeated(lambda number: ours.search(words[number]), len(words))
    late = measure.p95(times)
    yield Row(f"{work}: search, p95", measure.duration(late), budgets=[Budget("<= 20 ms", late, 0.02)])


def restored(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure a restore of a workspace into a new folder, with every byte checked before it is written."""
    made = workspaces.many_files(folder / "workspace", files=scale.files, size=scale.size)
    ours = subject.protect(made.folder, folder / "home")
    archive = folder / "workspace.tar"
    rivals.tar_create(made.folder, archive)
    mine, theirs = [], []
    for number in range(scale.slow_runs):
        mine.append(measure.seconds(partial(ours.restore, folder / f"restored-{number}")))
        theirs.append(measure.seconds(partial(rivals.tar_extract, archive, folder / f"untarred-{number}")))
    work = f"restore {made.files:,} files into a new folder, checked"
    yield measure.faster(work, measure.median(mine), "tar x && sync", measure.median(theirs), 2)


def rebuilt(folder: Path, scale: Scale) -> Iterator[Row]:
    """Measure the rebuild of a deleted state.db."""
    made = workspaces.many_files(folder / "workspace", files=scale.files, size=scale.size)
    ours = subject.protect(made.folder, folder / "home")

    def rebuild(_: int) -> None:
        ours.capture()
        ours.search("harbour")

    times = measure.repeated(rebuild, scale.slow_runs, before=lambda _: ours.forget_caches())
    median = measure.median(times)
    yield Row(
        f"rebuild of a deleted state.db, {made.files:,} files",
        measure.duration(median),
        budgets=[Budget("<= 2 s", median, 2)],
    )


ROWS: dict[str, Callable[[Path, Scale], Iterator[Row]]] = {
    "changed": one_file_changed,
    "unchanged": nothing_changed,
    "line": one_line_added,
    "records": many_records,
    "rows": many_rows,
    "restore": restored,
    "rebuild": rebuilt,
    "service": service_rows.change_through_the_service,
    "scan": service_rows.scan_through_the_service,
    "busy": service_rows.scan_beside_long_work,
    "idle": idle_rows.idle,
    "cycles": idle_rows.many_captures,
    "pushes": endpoint_rows.pushes,
    "history": history_rows.history,
    "replicate": endpoint_rows.replicate_one_change,
    "shared": shared_rows.load,
    "small": shared_rows.small_machines,
    "fleet": shared_rows.agents,
    "purge": purge_rows.purge,
    "dashboard": dashboard_rows.dashboard,
    "bundles": interchange_rows.many_chunks,
    "sections": interchange_rows.one_section,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Lifeboat beside other tools, in one run.")
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], help="only these")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the data, few runs, no budgets: does it run at all?"
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 when a budget is clearly missed")
    chosen = parser.parse_args()
    found: list[Row] = []
    # Delete only at the end: ext4 creates files slowly after thousands were deleted.
    with tempfile.TemporaryDirectory(prefix="lifeboat-bench-") as folder:
        for name in chosen.rows or ROWS:
            print(f"... {name}: {(ROWS[name].__doc__ or '').strip()}", file=sys.stderr, flush=True)
            found += ROWS[name](Path(folder, name), QUICK if chosen.quick else FULL)
    if chosen.quick:
        found = [replace(row, budgets=[]) for row in found]
    print(measure.table(found))
    print("\nsynced: Lifeboat at each commit; git as it comes, and once with core.fsync=all; restic as it comes")
    if chosen.strict and any(row.verdict == "miss" for row in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
