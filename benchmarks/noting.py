"""The service with a note of when each step was reached, in its own process and in those of its workers.

    python -m benchmarks.noting service FILE
    python -m benchmarks.noting worker FILE

Each line is a step and the seconds of the clock that all processes share.
"""

from __future__ import annotations

import os
import sys
import time

from lifeboat_alf.seams import steps
from lifeboat_alf.seams.steps import Step


def main() -> int:
    what, file = sys.argv[1:]
    out = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(step: Step) -> None:
        os.write(out, f"{step.value} {time.monotonic()}\n".encode())

    steps.hook = note
    if what == "worker":
        from lifeboat_daemon.work import worker

        worker.main()
        return 0
    from lifeboat_daemon.service.main import main as serve

    return serve([], worker_command=[sys.executable, "-P", "-m", "benchmarks.noting", "worker", file])


if __name__ == "__main__":
    sys.exit(main())
