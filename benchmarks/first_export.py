"""The first export of a large agent in a process of its own, as the worker does it.

    python -m benchmarks.first_export WORKSPACE HOME SNAPSHOT

Prints one JSON document: seconds until captured, seconds until written, peak memory in bytes.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path


def main() -> None:
    workspace, home, snapshot = map(Path, sys.argv[1:])
    from benchmarks.subject import protect

    start = time.perf_counter()
    subject = protect(workspace, home)
    captured = time.perf_counter()
    subject.write_snapshot(snapshot)
    written = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({"capture": captured - start, "write": written - captured, "peak": peak}))


if __name__ == "__main__":
    main()
