"""Child processes: the one place that starts a program. No shell; bounds for time and output; the whole group ends."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from asyncio.subprocess import Process

OUTPUT_BYTES = 1 << 20
"""More than any key, any answer of a service manager, and any complaint about one."""
_LAST_WAIT = 5.0
"""Seconds in which a process that was killed has to be gone."""
_REST_SECONDS = 1.0
"""For the rest of the output after the program has ended, if another process keeps its pipe open."""
_PIPE = subprocess.PIPE


@dataclass(frozen=True, slots=True)
class ChildResult:
    """How a program ended.

    `exit_status` is None when it did not end by itself; `problem` then says why, as in "could not be started". The
    output shows in no `repr`: it may hold a key.
    """

    exit_status: int | None
    output: bytes = field(default=b"", repr=False)
    errors: bytes = field(default=b"", repr=False)
    timed_out: bool = False
    problem: str = ""


def run_child(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    seconds: float,
    input: bytes = b"",
    folder: str | os.PathLike[str] | None = None,
    end_of_output: int | None = None,
) -> ChildResult:
    """Run a program until it ends, or kill its process group after `seconds`. Never raise for what goes wrong.

    A program that prints more than `OUTPUT_BYTES` fails. With `end_of_output`, its standard output and errors are read
    as one, and only that many bytes at the end are kept. Processes that the program leaves running are not waited for.
    """
    try:
        process = subprocess.Popen(
            list(command),
            stdin=_PIPE,
            stdout=_PIPE,
            stderr=_PIPE if end_of_output is None else subprocess.STDOUT,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
        )
    except (OSError, ValueError, IndexError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        return ChildResult(None, problem=f"could not be started: {why}")
    try:
        return _wait_for(process, seconds, input, end_of_output)
    except BaseException:  # Ctrl-C does not reach a process of another session
        _end(process)
        raise


def _wait_for(process: subprocess.Popen[bytes], seconds: float, input: bytes, end_of_output: int | None) -> ChildResult:
    assert process.stdin is not None and process.stdout is not None
    # A thread writes: a program that does not read its input would block this one for longer than its time limit.
    threading.Thread(target=_feed, args=(process.stdin, input), daemon=True).start()
    output = _PipeReader(process.stdout, end_of_output)
    errors = output if process.stderr is None else _PipeReader(process.stderr, None)
    problem, status = "", None
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        problem = f"did not end within {seconds:.0f} seconds"
    end = time.monotonic() + _REST_SECONDS
    for reader in (output, errors):
        reader.join(max(0.0, end - time.monotonic()))
    if not problem and (output.is_too_much or errors.is_too_much):
        return ChildResult(None, problem=f"printed more than {OUTPUT_BYTES} bytes")
    said = b"" if errors is output else bytes(errors.data)
    return ChildResult(status, bytes(output.data), said, timed_out=bool(problem), problem=problem)


def _feed(pipe: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError), pipe:  # the program need not read what it is given
        pipe.write(data)


class _PipeReader(threading.Thread):
    """Reads a pipe to its end, and keeps all of it or the end. Closes one that brings too much: most programs end."""

    def __init__(self, pipe: IO[bytes], end_of_output: int | None) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._kept = end_of_output
        self.data = bytearray()
        self.is_too_much = False
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError), self._pipe:
            while piece := os.read(self._pipe.fileno(), 1 << 16):
                if self._kept is not None:
                    self.data = (self.data + piece)[-self._kept :]
                elif len(self.data) + len(piece) > OUTPUT_BYTES:
                    self.is_too_much = True
                    return
                else:
                    self.data += piece


def _end(process: subprocess.Popen[bytes]) -> None:
    kill_group(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_LAST_WAIT)


class Killable(Protocol):
    """A process that leads a separate session: of `subprocess` or of `asyncio`."""

    @property
    def pid(self) -> int: ...

    def kill(self) -> None: ...


def kill_group(process: Killable) -> None:
    """Kill a process and everything that it started and that is still in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


class SocketChild:
    """A program that is talked with over one socket, `connection`: the other end is its standard input and output. Its
    errors are read in the background, and their end is kept."""

    def __init__(self, process: subprocess.Popen[bytes], connection: socket.socket, end_of_errors: int) -> None:
        assert process.stderr is not None
        self._process = process
        self.connection = connection
        self._errors = _PipeReader(process.stderr, end_of_errors)

    @property
    def pid(self) -> int:
        return self._process.pid

    def finish(self, seconds: float) -> ChildResult:
        """Close the connection, wait `seconds` for the program to end, and kill its process group if it has not. Return
        how it ended and the end of its errors; calling it again changes nothing."""
        self.connection.close()
        problem, status = "", None
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._kill()
            problem = f"did not end within {seconds:.0f} seconds"
        self._errors.join(_REST_SECONDS)
        return ChildResult(status, errors=bytes(self._errors.data), timed_out=bool(problem), problem=problem)

    def _kill(self) -> None:
        if os.getpgid(self._process.pid) == self._process.pid:
            kill_group(self._process)
        else:  # the group is the one of this process, which stays
            self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_WAIT)


def start_socket_child(
    command: Sequence[str], *, environment: Mapping[str, str], keeps_terminal: bool, end_of_errors: int = 1 << 14
) -> SocketChild:
    """Start a program to talk with over a socket until it is finished. With `keeps_terminal` it stays in the session of
    this process, so that it can ask the user. Not on Windows, where a socket is no standard input. Raises OSError."""
    ours, theirs = socket.socketpair()
    try:
        process = subprocess.Popen(
            list(command),
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=_PIPE,
            env=dict(environment),
            start_new_session=not keeps_terminal,
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return SocketChild(process, ours, end_of_errors)


async def start_child(
    command: Sequence[str], *, environment: Mapping[str, str], folder: str | None = None, longest_line: int = 1 << 16
) -> Process:
    """Start a program to talk with over its pipes, in a session that Ctrl-C does not reach. Raises OSError."""
    import asyncio

    return await asyncio.create_subprocess_exec(
        *command,
        stdin=_PIPE,
        stdout=_PIPE,
        stderr=_PIPE,
        limit=longest_line,
        cwd=folder,
        env=dict(environment),
        start_new_session=True,
        creationflags=_windows_flags("CREATE_NEW_PROCESS_GROUP", "CREATE_NO_WINDOW"),
    )


def start_detached(
    command: Sequence[str], *, environment: Mapping[str, str], errors: IO[bytes] | None = None
) -> subprocess.Popen[bytes]:
    """Start a program that outlives this one and has nothing of it open but `errors`. Raises OSError."""
    return subprocess.Popen(
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors or subprocess.DEVNULL,
        cwd=os.path.abspath(os.sep),
        env=dict(environment),
        start_new_session=os.name != "nt",
        creationflags=_windows_flags("DETACHED_PROCESS", "CREATE_NEW_PROCESS_GROUP"),
    )


def _windows_flags(*names: str) -> int:
    """Return creation flags, 0 on systems other than Windows."""
    return sum(getattr(subprocess, name, 0) for name in names)
