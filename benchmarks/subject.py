"""Lifeboat as it is measured: a separate home, in this process, through the functions that commands call."""

from __future__ import annotations

import contextlib
import json
import os
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import measure

from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.home.context import Context
from lifeboat_core.memories.memory_search import search_memories
from lifeboat_core.restore import RestoreOptions, carry_out_plan, open_plan


@dataclass(frozen=True)
class Subject:
    """A protected agent."""

    context: Context
    agent: Agent

    @property
    def workspace(self) -> Path:
        return self.agent.workspace

    def capture(self) -> int | None:
        """Capture, and return the new sequence, or None if nothing changed."""
        report = capture_agent(self.context, self.agent)
        return report.sequence if report.changed else None

    def timed_capture(self) -> tuple[float, float]:
        """Capture, and return the total seconds, and those from the known changes to the commit."""
        with moments_of_steps() as moments:
            whole = measure.seconds(self.capture)
        return whole, moments[CrashPoint.CAPTURE_COMMITTED] - moments[CrashPoint.CAPTURE_SCANNED]

    def head(self) -> int:
        with self.context.vault(self.agent.id) as vault:
            row = vault.head()
            assert row is not None
            return row.number

    def write_snapshot(self, target: Path) -> None:
        with self.context.vault(self.agent.id) as vault, target.open("wb") as out:
            write_snapshot(vault.state(), out)

    def write_delta(self, base: int, target: Path) -> None:
        with self.context.vault(self.agent.id) as vault, target.open("wb") as out:
            write_delta(vault.changes(base, self.head()), out)

    def restore(self, target: Path) -> None:
        with open_plan(self.context, self.agent, target, RestoreOptions(reindex=False)) as plan:
            carry_out_plan(self.context, plan)

    def search(self, words: str) -> int:
        return len(search_memories(self.context, self.agent, words))

    def forget_caches(self) -> None:
        """Delete state.db and the files that SQLite keeps beside it."""
        for path in self.context.home.state_folder.glob(f"{self.agent.id}.db*"):
            path.unlink()


@contextlib.contextmanager
def moments_of_steps() -> Iterator[dict[CrashPoint, float]]:
    """Yield the last time of each step. That of `committed` is after the durable commit."""
    moments: dict[CrashPoint, float] = {}

    def note(step: CrashPoint) -> None:
        moments[step] = time.perf_counter()

    crash_points.hook = note
    try:
        yield moments
    finally:
        crash_points.hook = None


def protect(workspace: Path, home: Path, runtime: str = "openclaw", **environment: str) -> Subject:
    """Protect a workspace in a separate home, including the first capture."""
    opened = context(home, **environment)
    return Subject(opened, manage_agents.protect_workspace(opened, workspace, runtime=runtime)[0])


def reopen(workspace: Path, home: Path, **environment: str) -> Subject:
    """Open the same agent in another process."""
    from lifeboat_core.agents.agent import find_agent

    opened = context(home, **environment)
    return Subject(opened, find_agent(opened, str(workspace)))


def context(home: Path, **environment: str) -> Context:
    """Return a home without any user configuration."""
    around = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "LIFEBOAT_HOME": str(home)}
    return Context.open({**around, **environment})


def patch_bytes(delta: Path) -> int:
    """Return the compressed bytes of raw-file patches in a delta."""
    with zipfile.ZipFile(delta) as opened:
        changes = json.loads(opened.read("manifest.json"))["changes"]
        patches = [item["entry"] for item in changes["raw"] if item["operation"] == "patch"]
        return sum(opened.getinfo(name).compress_size for name in patches)
