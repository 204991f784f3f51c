"""Run one command in its own process: its words and input are given, and its output is collected and sent in one piece.

Problems of the reader do not affect the command: its output stays in memory until it has finished.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli import INTERRUPTED
from lifeboat_core.errors import BadRequest, UnexpectedError
from lifeboat_core.processes.progress import StepProgress
from lifeboat_daemon.control import command_messages, error_documents
from lifeboat_daemon.control.command_messages import CommandEnded, CommandRunFailed, CommandTold, RunCommand
from lifeboat_keys.hardening import disable_core_dumps

_MOST_NOTES = 1024 * 1024
_WHOLE = 4096
"""Bytes (PIPE_BUF). A write of this size goes into a pipe completely or not at all, so it never blocks."""
_FOR_TERMINALS = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES")


@dataclass(frozen=True, slots=True)
class ChildCommand:
    """The command of a child, and the pipe for its answer."""

    run: RunCommand
    answers: int


class _BoundedOutput(io.BytesIO):
    """Collects the output of a command. Output beyond the limit is dropped and noted."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self.said = 0

    def write(self, data: object, /) -> int:
        size = memoryview(data).nbytes  # type: ignore[arg-type]
        self.said += size
        if self.said <= self._most:
            super().write(data)  # type: ignore[arg-type]
        return size

    @property
    def is_whole(self) -> bool:
        return self.said <= self._most

    def text(self) -> str:
        return self.getvalue().decode(errors="backslashreplace")


def main() -> None:
    """Run the single command that arrives over standard input, and answer over standard output."""
    disable_core_dumps()
    answers = os.dup(1)
    line = sys.stdin.buffer.readline()
    replace_streams()
    hide_terminals()
    found = command_messages.decode_for_server(line)
    if isinstance(found, RunCommand):
        perform_command(ChildCommand(found, answers))


def replace_streams() -> None:
    """Replace the standard streams, so that libraries and child processes read nothing and print nowhere."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    if nothing > 2:
        os.close(nothing)


def hide_terminals() -> None:
    """Hide terminals from the command, regardless of the environment."""
    for name in _FOR_TERMINALS:
        os.environ.pop(name, None)


def perform_command(job: ChildCommand) -> None:
    """Run a command, send its answer, and end the process."""
    status = 1
    try:
        answer, status = _outcome(job)
        _send(job.answers, command_messages.encode(answer))
    finally:
        # Exit immediately: a normal exit of the interpreter takes milliseconds, and there is nothing to clean up.
        os._exit(status)


def _outcome(job: ChildCommand) -> tuple[CommandEnded | CommandRunFailed, int]:
    out, notes = _BoundedOutput(command_messages.MOST_SAID), _BoundedOutput(_MOST_NOTES)
    status: int | None = None
    try:
        _be_interruptible()
        _take_streams(job.run.text, out, notes)
        status = _run(job)
        _no_longer()
    except KeyboardInterrupt:
        # The signal came before the command began, or after it had finished.
        status = INTERRUPTED if status is None else status
    except LifeboatError as error:
        return CommandRunFailed(job.run.number, error_documents.describe_error(error)), error.exit_status
    except Exception as error:  # LIFEBOAT_DEBUG prints the traceback. The text of the error may contain anything.
        return CommandRunFailed(
            job.run.number, error_documents.describe_error(UnexpectedError(type(error).__name__))
        ), 1
    finally:
        _no_longer()
    if not out.is_whole:
        most = command_messages.MOST_SAID >> 20
        problem = UnexpectedError(
            f"the output of the command has {out.said >> 20} MiB, but the limit is {most} MiB: request less data"
        )
        return CommandRunFailed(job.run.number, error_documents.describe_error(problem)), 1
    return CommandEnded(job.run.number, status, out.text(), notes.text()), status


def _run(job: ChildCommand) -> int:
    from lifeboat_cli import program
    from lifeboat_cli.terminal import output

    why = refusal_reason_of(job.run.words)
    if why is not None:
        raise BadRequest(why)
    output.listener = _teller(job)
    status = program.run_command(list(job.run.words))
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def _be_interruptible() -> None:
    """Treat a signal as Ctrl-C from here on. The forking process blocks signals until then."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.platform == "win32":
        signal.signal(signal.SIGBREAK, signal.default_int_handler)
    else:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _no_longer() -> None:
    """Ignore signals: the command has finished and its output is final."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _take_streams(text: str, out: _BoundedOutput, notes: _BoundedOutput) -> None:
    """Replace the three streams of the command. None is a terminal, and none can break."""
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode(errors="surrogateescape")), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(out, encoding="utf-8")
    sys.stderr = io.TextIOWrapper(notes, encoding="utf-8", write_through=True)


def _teller(job: ChildCommand) -> Callable[[StepProgress], None]:
    def tell(told: StepProgress) -> None:
        line = command_messages.encode(
            CommandTold(job.run.number, told.text, told.done, told.total, told.rate, told.seconds_left)
        )
        if len(line) <= _WHOLE:
            _send_if_it_fits(job.answers, line)

    return tell


def _send_if_it_fits(answers: int, line: bytes) -> None:
    """Send a progress message if it fits into the pipe. A slow reader misses it and blocks nothing."""
    with contextlib.suppress(OSError):
        _set_blocking(answers, False)
        try:
            os.write(answers, line)
        finally:
            _set_blocking(answers, True)


def _set_blocking(answers: int, blocking: bool) -> None:
    if sys.platform != "win32":  # Python 3.11 cannot make a pipe non-blocking on this system.
        os.set_blocking(answers, blocking)


def _send(answers: int, line: bytes) -> None:
    """Send the answer. A missing reader is not an error."""
    with contextlib.suppress(OSError):
        left = memoryview(line)
        while left:
            left = left[os.write(answers, left) :]


# Refused commands ---------------------------------------------------------------------------------------------

_NEVER = (("tui",), ("demo",), ("completion",), ("daemon", "run"), ("endpoint", "serve"))
_FOR_EVER = frozenset({"--follow", "--watch"})


def refusal_reason_of(words: Sequence[str]) -> str | None:
    """Return why a command is not run here, or None if it is."""
    named = [word for word in words if not word.startswith("-")]
    for command in _NEVER:
        if tuple(named[: len(command)]) == command:
            return f"lifeboat {' '.join(command)} needs a terminal"
    if named[:1] == ["setup"] and "--json" not in words:
        return "lifeboat setup asks questions and does not work with --json"
    found = _FOR_EVER.intersection(_options(words))
    return f"with {min(found)} the command never ends" if found else None


def _options(words: Sequence[str]) -> Sequence[str]:
    """Return the words before the end of the options."""
    return words[: words.index("--")] if "--" in words else words
