"""Thousands of captures through one pool: neither the daemon's side nor any worker grows."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from lifeboat_core.verify import samples_and_drills
from lifeboat_daemon.work import worker_pool
from support.core.harbour import Harbour, harbour
from support.daemon import offices
from support.daemon.offices import Office

pytestmark = pytest.mark.timeout(3600)

CYCLES = int(os.environ.get("SOAK_CYCLES", "2000"))
"""`SOAK_CYCLES=10000` takes ten minutes and more; what grows does so from the first thousand on."""
SETTLED = max(1, CYCLES // 10)
"""After so many cycles everything that is kept once is there."""
MEBIBYTE = 1024 * 1024


@dataclass
class Figures:
    """Memory in bytes: of this process, which is the daemon's side, every so often; of each worker after its jobs."""

    daemon: list[int] = field(default_factory=list)
    workers: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def look(self) -> None:
        self.daemon.append(psutil.Process().memory_info().rss)

    def look_at_workers(self, office: Office) -> None:
        for worker in office.workers._all:
            if worker.jobs:
                self.workers[worker.pid].append(worker.rss)

    def __str__(self) -> str:
        daemon = [f"{rss / MEBIBYTE:.1f}" for rss in self.daemon]
        largest = max(max(each) for each in self.workers.values()) / MEBIBYTE
        grown = max(each[-1] - each[0] for each in self.workers.values()) / MEBIBYTE
        return (
            f"daemon's side MiB: {' '.join(daemon)}\n"
            f"{len(self.workers)} workers, the largest {largest:.1f} MiB, grown by at most {grown:.1f} MiB"
        )


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Harbour:
    ada = harbour(tmp_path)
    for name in ("HOME", "LIFEBOAT_HOME", "PATH"):
        monkeypatch.setenv(name, ada.context.environment[name])
    return ada


def test_thousands_of_captures_leave_daemon_and_workers_as_large_as_they_were(
    ada: Harbour, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = Figures()
    note = ada.workspace / "memory" / "today.md"
    with offices.office("--warm") as office:

        async def cycles(count: int) -> None:
            for number in range(count):
                note.write_text(f"# Today\n\nThe tide was {ada.workspace.stat().st_mtime_ns} {number}.\n")
                found = await office.queue.put("capture", ada.agent.id, {"reason": "change"})
                assert found["capture"]["changed"]
                if number % 25 == 0:
                    figures.look_at_workers(office)

        for _ in range(CYCLES // SETTLED):
            office.run(cycles(SETTLED), seconds=3600)
            figures.look()
            office.events.clear()
            office.told.clear()
            with capsys.disabled():
                print(figures)
    assert figures.daemon[-1] - figures.daemon[0] < 4 * MEBIBYTE
    assert max(max(each) for each in figures.workers.values()) < worker_pool.MOST_MEMORY
    assert samples_and_drills.drill_vault(ada.context, ada.agent, whole=False).mismatches == []
