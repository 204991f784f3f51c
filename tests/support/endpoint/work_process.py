"""A worker in a process, with invented kinds of jobs that note their begin and end in a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.engines.postgres.connection_pools import Database, Pools
from lifeboat_endpoint.server import server_log
from lifeboat_endpoint.work.endpoint_queue import EndpointJob, EndpointQueue
from lifeboat_endpoint.work.endpoint_worker import EndpointWorker, WorkerPace
from lifeboat_endpoint.work.job_handlers import JobContext
from support import preloaded
from support.preloaded import Call
from support.waiting import until

QUICK = WorkerPace(lease=3600.0, beat=0.4, idle=0.05, plan=3600.0, grace=1.5)
"""A lease that a busy machine never loses. Where it has to end, a test lets time pass in the queue."""


class Sayings:
    """Notes of jobs in a file, one line each: begun or ended, the job's tenant, the process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def say(self, word: str, job: EndpointJob) -> None:
        with self.path.open("ab", buffering=0) as file:
            file.write(f"{word} {job.tenant} {os.getpid()}\n".encode())

    def all(self) -> list[tuple[str, str, int]]:
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [(word, tenant, int(pid)) for word, tenant, pid in map(str.split, lines)]

    def count(self, word: str) -> int:
        return sum(said[0] == word for said in self.all())

    def wait_for(self, word: str, count: int = 1) -> None:
        until(lambda: self.count(word) >= count, lambda: f"{word!r} {count} times: {self.all()}")


def made_up(sayings: Sayings) -> dict[str, Callable[[JobContext, EndpointJob], list[str]]]:
    """Kinds of jobs: `quick`; in steps `slow` (three seconds) and `long` (endless); `stuck`, without steps."""

    def during(seconds: float, step: float) -> Callable[[JobContext, EndpointJob], list[str]]:
        def run(work: JobContext, job: EndpointJob) -> list[str]:
            sayings.say("begun", job)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                work.step()
                time.sleep(min(step, seconds))
            sayings.say("ended", job)
            return []

        return run

    return {"quick": during(0.01, 1), "long": during(600, 0.05), "slow": during(3, 0.05), "stuck": during(600, 600)}


def unplanned(endpoint: Endpoint, queue: EndpointQueue) -> int:
    """Plan nothing: only requested jobs are due."""
    return 0


def be_worker(folder: str, address: str, role: str, sayings: str, pace: dict[str, float]) -> None:
    """Run the worker, in the child process."""
    server_log.to_standard_error()
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    with Endpoint.open(Path(folder)) as endpoint, closing(Pools(Database(address, role), connections=4)) as pools:
        handlers = made_up(Sayings(Path(sayings)))
        worker = EndpointWorker(
            endpoint, EndpointQueue(pools.work), stopped, "child", WorkerPace(**pace), handlers=handlers, plan=unplanned
        )
        whole = worker.run()
    sys.exit(0 if whole else 1)


def start(
    endpoint: Endpoint, database: Database, sayings: Sayings, pace: WorkerPace = QUICK
) -> subprocess.Popen[bytes]:
    """End it."""
    given: dict[str, Any] = {
        "folder": str(endpoint.folder),
        "address": database.address,
        "role": database.role,
        "sayings": str(sayings.path),
        "pace": asdict(pace),
    }
    return preloaded.Popen(
        Call("support.endpoint.work_process", "be_worker", options=given),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=(sayings.path.parent / f"worker-{time.monotonic_ns()}.err").open("wb"),
        start_new_session=True,
    )
