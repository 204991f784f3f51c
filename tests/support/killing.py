"""End a process at a named step, as a crash or a power cut would: no clean-up, no flush, no `finally`.

The process is a fork, so that a test can kill dozens of them in a second.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint

KILLED = 86
_FAILED = 1

RESTORE_STEPS = (
    CrashPoint.RESTORE_PLANNED,
    CrashPoint.RESTORE_SAFETY_CAPTURED,
    CrashPoint.RESTORE_STAGED,
    CrashPoint.RESTORE_JOURNAL_WRITTEN,
    CrashPoint.RESTORE_MOVED_ASIDE,
    CrashPoint.RESTORE_MOVED_IN,
    CrashPoint.RESTORE_JOURNAL_REMOVED,
)
"""Steps of a restore in place, in order."""


def killed_at(work: Callable[[], Any], step: CrashPoint, nth: int = 1) -> bool:
    """Run `work` in a forked process that ends when it reaches `step` for the nth time (from 1).

    Return False if `work` ended without reaching it. Raises AssertionError if `work` raised.
    """
    return _run(work, ending_at(step, nth)) == KILLED


def ending_at(step: CrashPoint, nth: int) -> Callable[[CrashPoint], None]:
    """A hook that ends the process when it reaches `step` for the nth time (from 1)."""
    left = nth

    def hook(reached: CrashPoint) -> None:
        nonlocal left
        if reached is step:
            left -= 1
            if left == 0:
                os._exit(KILLED)

    return hook


def _run(work: Callable[[], Any], hook: Callable[[CrashPoint], None]) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _be_the_child(work, hook)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, KILLED), f"the process that was to be killed ended with {status}"
    return status


def _be_the_child(work: Callable[[], Any], hook: Callable[[CrashPoint], None]) -> None:
    crash_points.hook = hook
    try:
        work()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(_FAILED)
    os._exit(0)


def steps_of(work: Callable[[], Any]) -> list[CrashPoint]:
    """Run `work` in this process, and return every step that it reaches, in order."""
    seen: list[CrashPoint] = []
    before = crash_points.hook
    crash_points.hook = seen.append
    try:
        work()
    finally:
        crash_points.hook = before
    return seen
