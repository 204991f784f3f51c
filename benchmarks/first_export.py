"""The first export of a large agent in a process of its own, as the worker does it.

    python -m benchmarks.first_export WORKSPACE HOME SNAPSHOT [RUNTIME [NAME=VALUE...]]

Prints one JSON document: seconds until the capture was committed, seconds until the look-ups were filled from it,
seconds for writing the snapshot, peak memory in bytes.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from lifeboat_alf.seams.crash_points import CrashPoint


def main() -> None:
    workspace, home, snapshot = map(Path, sys.argv[1:4])
    runtime, *environment = sys.argv[4:] or ["openclaw"]
    from benchmarks.subject import moments_of_steps, protect

    start = time.perf_counter()
    with moments_of_steps() as moments:
        subject = protect(workspace, home, runtime, **dict(one.split("=", 1) for one in environment))
    captured = time.perf_counter()
    subject.write_snapshot(snapshot)
    written = time.perf_counter()
    committed = moments[CrashPoint.CAPTURE_COMMITTED]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    seconds = {"commit": committed - start, "look_ups": captured - committed, "write": written - captured}
    print(json.dumps({**seconds, "peak": peak}))


if __name__ == "__main__":
    main()
