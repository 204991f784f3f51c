"""The service with a note of when each step was reached, in its own process and in those of its workers.

    python -m benchmarks.noting service FILE
    python -m benchmarks.noting worker FILE

Each line is a step and the seconds of the clock that all processes share.
"""

from __future__ import annotations

import os
import sys
import time

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint


def main() -> int:
    what, file = sys.argv[1:]
    out = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(step: CrashPoint) -> None:
        os.write(out, f"{step.value} {time.monotonic()}\n".encode())

    crash_points.hook = note
    if what == "worker":
        from lifeboat_daemon.work import worker_loop

        worker_loop.main()
        return 0
    from lifeboat_daemon.service.daemon_process import main as serve

    return serve([], worker_command=[sys.executable, "-P", "-m", "benchmarks.noting", "worker", file])


if __name__ == "__main__":
    sys.exit(main())
