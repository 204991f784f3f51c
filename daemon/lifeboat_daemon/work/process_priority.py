"""Lower the priority of a worker, so that the user's programs come first for CPU, disk and memory."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import psutil

from lifeboat_daemon.work import time_limits

_NICE = 10
_OUT_OF_MEMORY = 500
"""Of 1,000: on low memory the kernel kills a worker before the user's programs. It resumes where it was."""


def lower_priority() -> None:
    """Lower the priority of this process as far as the system permits. On Linux it must run before `no_core_dumps`,
    after which a process cannot write its own settings."""
    for way in (_stand_back, _be_taken_first):
        with contextlib.suppress(OSError, psutil.Error):
            way()


def set_disk_priority(name: str) -> None:
    """Use the disk only when it is idle. An operation that blocks others (a capture holds its agent's lock) gets the
    lowest normal priority instead, so that it does not starve."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, psutil.Error):
        if name in time_limits.SEEN_THROUGH:
            psutil.Process().ionice(psutil.IOPRIO_CLASS_BE, 7)
        else:
            psutil.Process().ionice(psutil.IOPRIO_CLASS_IDLE)


def read_memory_use() -> int:
    """Return the memory of this process in bytes."""
    with contextlib.suppress(OSError, psutil.Error):
        return int(psutil.Process().memory_info().rss)
    return 0


def _stand_back() -> None:
    if sys.platform == "win32":
        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
        return
    os.nice(_NICE)
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _be_taken_first() -> None:
    if sys.platform == "linux":
        Path("/proc/self/oom_score_adj").write_text(f"{_OUT_OF_MEMORY}\n")
