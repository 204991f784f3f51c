"""Run a program that has or needs a key: without a shell, with limits for time and output, through pipes only."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

OUTPUT_BYTES = 1 << 20
"""Maximum output, more than any key and any error message."""
_LAST_WAIT = 5.0
"""Seconds that a killed process gets to disappear."""
_REST_SECONDS = 1.0
"""Seconds to read the rest of a program's output when another process keeps its pipe open."""


@dataclass(frozen=True, slots=True)
class KeyProgramResult:
    """Result of a program. `exit_status` is None when it did not end by itself; `problem` says why, as in "could not be
    started".

    `repr` shows nothing it printed, and of its error output only the length is kept: either may contain a key.
    """

    exit_status: int | None
    output: bytes = field(default=b"", repr=False)
    error_bytes: int = 0
    timed_out: bool = False
    problem: str = ""


def run_key_program(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    seconds: float,
    input: bytes = b"",
    folder: str | None = None,
) -> KeyProgramResult:
    """Run a program to its end or kill its process group at the time limit, in `folder` or the current directory.
    Background processes it leaves are not waited for. Never raises."""
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
        )
    except (OSError, ValueError, IndexError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        return KeyProgramResult(None, problem=f"could not be started: {why}")
    try:
        return _ended(process, seconds, input)
    except BaseException:  # Ctrl-C does not reach another session
        _end(process)
        raise


def _ended(process: subprocess.Popen[bytes], seconds: float, input: bytes) -> KeyProgramResult:
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    output, errors = _PipeReader(process.stdout), _PipeReader(process.stderr)
    with contextlib.suppress(OSError), process.stdin:  # the program may ignore its input
        process.stdin.write(input)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return KeyProgramResult(None, timed_out=True, problem=f"did not end within {seconds:.0f} seconds")
    output.join(_REST_SECONDS)
    errors.join(_REST_SECONDS)
    if output.is_too_much or errors.is_too_much:
        return KeyProgramResult(None, problem=f"printed more than {OUTPUT_BYTES} bytes")
    return KeyProgramResult(process.returncode, bytes(output.data), len(errors.data))


class _PipeReader(threading.Thread):
    """Thread that reads a pipe to its end. It closes the pipe on too much output, which ends most programs."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self.data = bytearray()
        self.is_too_much = False
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError), self._pipe:
            while piece := os.read(self._pipe.fileno(), 1 << 16):
                if len(self.data) + len(piece) > OUTPUT_BYTES:
                    self.is_too_much = True
                    return
                self.data += piece


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_LAST_WAIT)
