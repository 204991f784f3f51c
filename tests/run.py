"""Run tests as `make` and `.ci/run` do.

    python tests/run.py test|tui|interchange|fast       fast targets; `fast` is all of them
    python tests/run.py soak|scale|real|package|bench   slow targets, or `--parts 1,3` of four
    python tests/run.py affected                        the slow parts that this commit runs in CI
    python tests/run.py everything

Further arguments are given to pytest. Fast targets have their temporary files in memory: as root in a tmpfs that only
these processes see, which ends with them; else on the disk.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

TESTS = Path(__file__).resolve().parent
sys.path.insert(0, str(TESTS))

import psutil  # noqa: E402

from support import lanes  # noqa: E402
from support.parallel import BENCHMARK, recorded_seconds  # noqa: E402
from support.paths import ROOT  # noqa: E402
from support.real import real_zeroclaw  # noqa: E402

IN_MEMORY = Path("/tmp/lifeboat-tests")
"""Where the tmpfs is mounted; short, since paths of sockets below it are limited to 108 bytes."""
NEEDED_MEMORY = 6 << 30
"""Bytes that have to be available for temporary files in memory."""
SIZE = "5g"
"""Limit of the tmpfs; a run of all fast targets leaves about 4 GB in it."""
UNFINISHED = -1
"""Stands for the exit status of a target for which no time was left."""
SECONDS_TO_END = 120.0
"""For a target that was interrupted to end its processes and to say what it knows."""


def main() -> None:
    # A shell starts programs in the background with SIGINT ignored, and every child would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, end)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target")
    parser.add_argument("--parts", default="", help="Parts of a slow target, numbered from 1 (default: all).")
    parser.add_argument("--processes", type=int, default=_processes(), help="Test processes (default: %(default)s).")
    chosen, given = parser.parse_known_args()
    known = lanes.load_lanes()
    if chosen.target == "affected":
        sys.exit(run_affected(known, chosen.processes))
    if chosen.target == "everything":
        sys.exit(run_everything(known, chosen.processes))
    if chosen.target == "fast" or chosen.target in known.fast:
        names = [*known.fast] if chosen.target == "fast" else [chosen.target]
        sys.exit(run_fast(known, names, chosen.processes, given))
    if chosen.target not in known.slow:
        parser.error(f"no target {chosen.target}: {', '.join(['fast', *known.fast, *known.slow])}")
    parts = [int(part) - 1 for part in chosen.parts.split(",")] if chosen.parts else [*range(lanes.PARTS)]
    sys.exit(run_slow(known.slow[chosen.target], parts, chosen.processes, given))


def end(number: int, _frame: object) -> None:
    """End these tests after a signal."""
    sys.exit(128 + number)


def run_to_end(command: Sequence[str], timeout: float | None = None) -> int:
    """Run a command in the checkout; its exit status, `UNFINISHED` for one interrupted after `timeout` seconds.

    Nothing of it is left when these tests are ended with SIGTERM.
    """
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            return UNFINISHED
        except SystemExit:
            process.send_signal(signal.SIGINT)
            raise
        finally:
            # After a SIGINT, of the terminal or of ours, pytest ends its processes and says what failed so far.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(SECONDS_TO_END)
            process.kill()


def _processes() -> int:
    """Tests of the service wait more than they compute: three processes for two processors."""
    return ((os.cpu_count() or 1) * 3 + 1) // 2


# Fast targets ---------------------------------------------------------------------------------------------------------


def run_fast(known: lanes.Lanes, names: Sequence[str], processes: int, given: Sequence[str]) -> int:
    """Run the folders of fast targets in one process tree; the exit status."""
    folders = [folder for name in names for folder in known.fast[name]]
    command = [sys.executable, "-m", "pytest", "-q", "-rfEs", "--durations", "25", "--durations-min", "1"]
    # `tests/tui/test_pictures.py` finds unused pictures: each process uses only some of them.
    command += ["--processes", str(processes), "--snapshot-warn-unused", *folders, *given]
    return run_to_end(_with_temporary_files_in_memory(command))


def _with_temporary_files_in_memory(command: list[str]) -> list[str]:
    reason = _reason_against_memory()
    if reason:
        print(f"temporary files are on the disk: {reason}", flush=True)
        return command
    IN_MEMORY.mkdir(mode=0o755, exist_ok=True)
    mount = f"mount -t tmpfs -o size={SIZE},mode=1777 tmpfs {IN_MEMORY}"
    script = f'{mount} && TMPDIR={IN_MEMORY} exec "$@" --basetemp {IN_MEMORY}/t'
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *command]


def _reason_against_memory() -> str:
    if os.environ.get("TMPDIR"):
        return "TMPDIR is set"
    if sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("unshare"):
        return "a tmpfs that only the tests see needs Linux, root and unshare"
    available = psutil.virtual_memory().available
    if available < NEEDED_MEMORY:
        return f"{available >> 20} MiB of memory are available, {NEEDED_MEMORY >> 20} are needed"
    probe = ["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    tried = subprocess.run(probe, capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


# Slow targets ---------------------------------------------------------------------------------------------------------


def modules_of(target: lanes.SlowTarget) -> dict[str, float]:
    """Return the modules of a slow target with their recorded seconds; rows of the benchmark as `bench/ROW`."""
    if target.name == "bench":
        sys.path.insert(0, str(ROOT))
        from benchmarks.run import ROWS

        names = [f"{BENCHMARK}{row}" for row in ROWS]
    else:
        names = [path.relative_to(ROOT).as_posix() for path in (ROOT / target.folder).rglob("test_*.py")]
    recorded = recorded_seconds()
    return {name: recorded.get(name, lanes.UNRECORDED_SECONDS) for name in names}


def run_slow(
    target: lanes.SlowTarget,
    parts: Sequence[int],
    processes: int,
    given: Sequence[str] = (),
    timeout: float | None = None,
) -> int:
    """Run parts of a slow target; the exit status, `UNFINISHED` for one that was ended after `timeout` seconds."""
    divided = lanes.divide_into_parts(modules_of(target))
    modules = sorted(module for part in parts for module in divided[part])
    if not modules:
        return 0
    if target.name == "bench":
        rows = [module.removeprefix(BENCHMARK) for module in modules]
        command = [sys.executable, "-m", "benchmarks.run", "--quick", *given, *rows]
    else:
        command = [sys.executable, "-m", "pytest", "-q", "-rfEs", "--durations", "10", "--durations-min", "1"]
        command += [*target.pytest, "--processes", str(processes if target.parallel else 1), *modules, *given]
    return run_to_end(command, timeout)


def run_everything(known: lanes.Lanes, processes: int) -> int:
    """Run every target to its end; 0 if all passed."""
    reason = real_zeroclaw.build()
    if reason:
        print(f"ZeroClaw is not built: {reason}", flush=True)
    ended = [run_fast(known, [*known.fast], processes, [])]
    ended += [run_slow(target, range(lanes.PARTS), processes) for target in known.slow.values()]
    return int(any(ended))


def run_affected(known: lanes.Lanes, processes: int) -> int:
    """Run the parts whose turn it is and those that the change can affect, say which, and which not."""
    changed = changed_files()
    affected = [*known.slow] if changed is None else lanes.affected_targets(known, changed)
    turn = int(_git("rev-list", "--count", "HEAD") or 0)
    parts_of = {name: lanes.divide_into_parts(modules_of(target)) for name, target in known.slow.items()}
    seconds = {
        name: [sum(modules_of(known.slow[name])[module] for module in part) for part in parts]
        for name, parts in parts_of.items()
    }
    chosen = lanes.choose_parts(seconds, affected, turn, known.slow_seconds)
    print(f"turn {turn % lanes.PARTS + 1} of {lanes.PARTS}; the change can affect: {', '.join(affected) or 'none'}")
    for name, parts in chosen.items():
        left = [part for part in range(lanes.PARTS) if part not in parts]
        print(f"  {name}: parts {_numbers(parts)} are run; not run: {_numbers(left)}", flush=True)
    ended = []
    for name in lanes.in_turn(list(chosen), turn):
        begun, left = time.time(), known.ci_seconds - _elapsed()
        needed = sum(seconds[name][part] for part in chosen[name])
        print(f"\n-- {name}, parts {_numbers(chosen[name])}", flush=True)
        if left < needed:
            print(f"-- {name}: not run, it needs {needed:.0f} s and {left:.0f} s are left", flush=True)
            continue
        status = run_slow(known.slow[name], chosen[name], processes, timeout=left)
        how = "not finished" if status == UNFINISHED else f"exit status {status}"
        print(f"-- {name}: {how}, {time.time() - begun:.0f} s", flush=True)
        ended.append(status)
    return int(any(ended))


def _elapsed() -> float:
    """Return the seconds since `.ci/run` began; 0 outside of it."""
    begun = os.environ.get("CI_BEGUN")
    return time.time() - float(begun) if begun else 0.0


def _numbers(parts: Sequence[int]) -> str:
    return ", ".join(str(part + 1) for part in parts) or "none"


def changed_files() -> list[str] | None:
    """Return the files that differ from `CI_BASE`, else from 30 commits before; None where git does not know."""
    base = os.environ.get("CI_BASE") or "HEAD~30"
    listed = _git("diff", "--name-only", base, "HEAD")
    return None if listed is None else listed.splitlines()


def _git(*arguments: str) -> str | None:
    ended = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.stdout.strip() if ended.returncode == 0 else None


if __name__ == "__main__":
    main()
