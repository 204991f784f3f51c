"""Rows about purging one of many memories from a long history: in the local vault, on an endpoint and in a sealed
folder; beside git, which rewrites its history."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import long_lived, measure, rivals
from benchmarks.long_lived import ENDPOINT, FOLDER, SECRETS, LongLived
from benchmarks.measure import Budget, Row
from benchmarks.one_purge import HERE
from benchmarks.scale import Scale

MIB = 1 << 20
_GIT = "git fast-export, sed, fast-import, gc"


def purge(folder: Path, scale: Scale) -> Iterator[Row]:
    """Purge one memory by its id and another by its text; measure captures and a restore before and after."""
    work = f"{scale.records:,} records, {scale.sequences:,} sequences"
    with long_lived.long_lived(folder, scale) as agent:
        whole = measure.seconds(partial(agent.subject.restore, folder / "before"))
        tokens = json.dumps({ENDPOINT: agent.owner_token()})
        rewrite = _rewriting(agent, folder)
        for kind, wanted, secret in (("record", agent.record_of(SECRETS[0]), SECRETS[0]), ("text", *SECRETS[1:] * 2)):
            done = _purge_in_a_process(agent, kind, wanted, tokens)
            theirs = None if rewrite is None else measure.seconds(partial(rewrite, secret))
            yield from _rows(f"{work}, by {'id' if kind == 'record' else 'text'}", done, theirs)
            yield Row(f"{work}: RSS of the endpoint afterwards", f"{agent.endpoint.rss() / MIB:.0f} MiB")
        yield from _afterwards(agent, folder, work, whole, scale)


def _rewriting(agent: LongLived, folder: Path) -> Any:
    return None if agent.commit is None else partial(rivals.git_rewrite, agent.made.folder, folder / "git")


def _purge_in_a_process(agent: LongLived, kind: str, wanted: str, tokens: str) -> dict[str, Any]:
    home = agent.subject.context.home.folder
    command = [sys.executable, "-m", "benchmarks.one_purge", str(agent.made.folder), str(home), kind, tokens]
    done = subprocess.run(command, input=wanted, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"benchmarks.one_purge {kind}\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    if set(found["remotes"].values()) != {"done"} or found["searched"]["hits"]:
        raise SystemExit(f"not purged everywhere: {found}")
    return found


def _rows(work: str, done: dict[str, Any], theirs: float | None) -> Iterator[Row]:
    seconds = done["purge"]
    yield Row(f"{work}: found (dry run)", measure.duration(done["look"]))
    here = seconds[HERE]
    yield measure.beside(f"{work}: destroyed here", here, _GIT, theirs)
    yield Row(f"{work}: at an endpoint over HTTPS", measure.duration(seconds[ENDPOINT]))
    yield Row(f"{work}: in a sealed folder", measure.duration(seconds[FOLDER]))
    total = done["look"] + here
    yield Row(f"{work}: found and destroyed here", measure.duration(total), budgets=[Budget("<= 10 s", total, 10)])
    leaves, peak = done["leaves"], done["peak"]
    yield Row(f"{work}: the signed redaction, {leaves:,} leaves", measure.size(done["document"]))
    budget = Budget("<= 200 MiB", peak, 200 * MIB)
    yield Row(f"{work}: peak memory", f"{peak / MIB:.0f} MiB", budgets=[budget])


def _afterwards(agent: LongLived, folder: Path, work: str, whole: float, scale: Scale) -> Iterator[Row]:
    """Measure captures after the purge: the first one fills the caches that the purge dropped, and all keep the purged
    lines out."""
    before = measure.median(agent.captures[-scale.quick_runs :])
    first = measure.seconds(agent.subject.capture)
    yield Row(f"{work}: the first capture after a purge", measure.duration(first))
    times = measure.repeated(
        lambda _: agent.subject.capture(), scale.quick_runs, before=lambda number: agent.change(number + 1)
    )
    after = measure.median(times)
    yield measure.faster(f"{work}: a capture, lines kept out", after, "before the purge", before, 1.2)
    back = measure.seconds(partial(agent.subject.restore, folder / "after"))
    yield measure.faster(f"{work}: restore", back, "before the purge", whole, 1.2)
