"""Limits the processor share of a process family with Linux control groups. Needs root."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import processes

_PERIOD = 100_000
"""Period in microseconds."""
_FIRST, _SECOND = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")


def is_there() -> bool:
    """Return True if this machine supports it."""
    return os.access(_FIRST / "tasks", os.W_OK) or os.access(_SECOND / "cgroup.subtree_control", os.W_OK)


@contextlib.contextmanager
def rationed(pid: int, share: float) -> Iterator[None]:
    """Limit a process and its children together to `share` of one processor until the end of the block."""
    quota = round(_PERIOD * share)
    if os.access(_FIRST / "tasks", os.W_OK):
        group = _FIRST / f"lifeboat-bench-{pid}"
        said = {"cpu.cfs_period_us": str(_PERIOD), "cpu.cfs_quota_us": str(quota)}
    else:
        group = _SECOND / f"lifeboat-bench-{pid}"
        (_SECOND / "cgroup.subtree_control").write_text("+cpu")
        said = {"cpu.max": f"{quota} {_PERIOD}"}
    group.mkdir()
    try:
        for name, value in said.items():
            (group / name).write_text(value)
        _move(pid, group)
        yield
    finally:
        _move(pid, group.parent)
        time.sleep(0.1)
        group.rmdir()


def _move(pid: int, group: Path) -> None:
    for each in processes.family(pid):
        with contextlib.suppress(OSError):  # the process has ended
            (group / "cgroup.procs").write_text(str(each))
