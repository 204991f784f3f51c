"""A worker for tests: the real one, with the operations of `work_operations/` beside its own, and with faults.

work_program.py [--warm] [--kill STEP:NTH] [--release R] [--protocol N] [--silent] [--broken]
                [--seen-through OPERATION] [--end-within SECONDS] [--key-asks-for-ever]
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_daemon.work import operations, time_limits, worker_loop
from lifeboat_daemon.work.worker_messages import WorkerReady
from lifeboat_keys.home.home_keys import HomeKeys

HERE = Path(__file__).resolve()


def command(*options: str) -> tuple[str, ...]:
    """Return the command that starts this worker."""
    return (sys.executable, "-P", str(HERE), *options)


def killed_at(step: CrashPoint, nth: int = 1) -> tuple[str, ...]:
    """Return the command for a worker that is killed when it reaches a step for the nth time."""
    return command("--kill", f"{step}:{nth}")


def _end_at(step: str, nth: int) -> None:
    left = nth

    def hook(reached: CrashPoint) -> None:
        nonlocal left
        left -= reached == step
        if left == 0 and reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    crash_points.hook = hook


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--kill", default="")
    parser.add_argument("--release")
    parser.add_argument("--protocol", type=int)
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--broken", action="store_true")
    parser.add_argument("--seen-through", default="capture")
    parser.add_argument("--end-within", type=float, default=worker_loop._END_WITHIN)
    parser.add_argument("--key-asks-for-ever", action="store_true")
    given = parser.parse_args()
    if given.broken:
        sys.exit("ModuleNotFoundError: No module named 'lost'")
    operations.__path__.append(str(HERE.parent / "work_operations"))
    time_limits.SEEN_THROUGH |= {given.seen_through}
    worker_loop._END_WITHIN = given.end_within
    if not given.warm:
        worker_loop._load = lambda: None
    if given.kill:
        step, _, nth = given.kill.rpartition(":")
        _end_at(step, int(nth))
    if given.key_asks_for_ever:
        HomeKeys._open = lambda self: time.sleep(3600)
    if given.release:
        worker_loop.read_release = lambda: given.release
    if given.protocol:
        worker_loop.WorkerReady = lambda pid, release: WorkerReady(pid, release, given.protocol)
    if given.silent:
        sys.stdin.read()
        return
    worker_loop.main()


if __name__ == "__main__":
    main()
