"""Run a program that has or wants a key: no shell, a time limit for its whole group, pipes only."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_LAST_WAIT = 5.0
"""Seconds in which a process that was killed has to be gone."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended: `exit_status` is None when it did not start (`problem` says why) or ran out of time.

    Nothing it printed shows in `repr`, and of its errors only the length is kept: either may hold a key.
    """

    exit_status: int | None
    output: bytes = field(default=b"", repr=False)
    error_bytes: int = 0
    timed_out: bool = False
    problem: str = ""


def run(command: Sequence[str], *, environment: Mapping[str, str], seconds: float, input: bytes | None = None) -> Ran:
    """Run a program to its end, or end its whole group. Never raises for it."""
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Ran(None, problem=getattr(error, "strerror", None) or type(error).__name__)
    try:
        output, errors = process.communicate(input, timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return Ran(None, timed_out=True)
    return Ran(process.returncode, output, len(errors))


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=_LAST_WAIT)
