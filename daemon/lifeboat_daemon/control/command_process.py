"""A process that runs commands, seen from the program that started it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from lifeboat_core.errors import BadRequest, CommandLost, WorkerFailed
from lifeboat_core.processes.own_interpreter import describe_exit, make_python_command
from lifeboat_daemon.control import command_messages, error_documents
from lifeboat_daemon.control.command_messages import (
    CancelCommand,
    CommandEnded,
    CommandRunFailed,
    CommandServerReady,
    CommandTold,
    RunCommand,
)
from lifeboat_daemon.control.line_splitter import LineSplitter
from lifeboat_keys.child_processes import start_child

SERVER = make_python_command("-m", "lifeboat_cli.command_server")
_PIECE = 256 * 1024
_CLOSING = 0.5
"""Seconds in which an idle server has to end by itself."""
_MOST_SAID = 8192


@dataclass(slots=True, eq=False)
class _PendingCommand:
    answer: asyncio.Future[CommandEnded]
    hear: Callable[[CommandTold], None]


class CommandProcess:
    """A command server, or with `--one` a process for a single command. `gone` is done when the process has ended."""

    def __init__(self, process: asyncio.subprocess.Process, *, alone: bool) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._process = process
        self._alone = alone
        self._number = 0
        self._is_ready = False
        self._waiting: dict[int, _PendingCommand] = {}
        self._said = b""
        self._draining = loop.create_task(self._drain())
        self.gone = loop.create_task(self._listen())

    @classmethod
    async def start(
        cls, environment: Mapping[str, str], command: Sequence[str], *, alone: bool = False
    ) -> CommandProcess:
        """Start a process. Commands can be sent to it immediately. Raises WorkerFailed."""
        try:
            process = await start_child([*command, *(["--one"] if alone else [])], environment=environment)
        except OSError as error:
            raise WorkerFailed(f"Lifeboat cannot run commands: {error.strerror or error}") from error
        return cls(process, alone=alone)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def run(self, words: Sequence[str], text: str, hear: Callable[[CommandTold], None]) -> CommandEnded:
        """Run a command and wait for its end. See `CommandRunner.run` for errors and cancellation."""
        self._number += 1
        number = self._number
        if self.gone.done():
            raise self._failure()
        request = RunCommand(number, tuple(words), text)
        if len(command_messages.encode(request)) >= command_messages.LONGEST_REQUEST:
            raise BadRequest(
                f"a command must have at most {command_messages.LONGEST_REQUEST >> 20} MiB of "
                "arguments and input together"
            )
        answer: asyncio.Future[CommandEnded] = self._loop.create_future()
        self._waiting[number] = _PendingCommand(answer, hear)
        self._write(request)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            self._stop(number)
            await asyncio.wait({answer})
            raise
        finally:
            self._waiting.pop(number, None)
            if answer.done() and not answer.cancelled():
                answer.exception()  # The command was cancelled, so its outcome is irrelevant.

    async def close(self) -> None:
        """Stop accepting commands and end the process. Running commands continue on their own."""
        stdin = self._process.stdin
        assert stdin is not None
        stdin.close()
        await asyncio.wait({self.gone}, timeout=_CLOSING)
        if not self.gone.done():
            self._kill()
            await asyncio.wait({self.gone}, timeout=_CLOSING)

    def _kill(self) -> None:
        """Kill the process. Its children lead sessions of their own and finish."""
        with contextlib.suppress(ProcessLookupError):
            if self._process.returncode is None:
                self._process.kill()

    def _stop(self, number: int) -> None:
        if not self._alone:
            self._write(CancelCommand(number))
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(_stop_signal())

    def _write(self, message: command_messages.ToServer) -> None:
        """Write to the process. If it has just ended, nothing is written: `_listen` notices the end."""
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            with contextlib.suppress(ConnectionError):
                stdin.write(command_messages.encode(message))

    # Messages from the process ----------------------------------------------------------------------------------

    async def _listen(self) -> None:
        stdout = self._process.stdout
        assert stdout is not None
        lines = LineSplitter(command_messages.LONGEST_LINE)
        try:
            while data := await stdout.read(_PIECE):
                for line in lines.feed(data):
                    self._hear(command_messages.decode_from_server(line))
                if lines.broken:
                    break
        except (msgspec.MsgspecError, OSError):
            pass  # A process that writes this is not our server.
        await self._end()
        for each in self._waiting.values():
            if not each.answer.done():
                each.answer.set_exception(self._failure())

    async def _end(self) -> None:
        """Wait for the process after its standard output has ended."""
        try:
            async with asyncio.timeout(_CLOSING):
                await self._process.wait()
        except TimeoutError:
            self._kill()
            await self._process.wait()
        await asyncio.wait({self._draining}, timeout=_CLOSING)
        self._draining.cancel()

    def _hear(self, message: command_messages.FromServer) -> None:
        if isinstance(message, CommandServerReady):
            self._is_ready = True
            return
        each = self._waiting.get(message.number)
        if each is None or each.answer.done():
            return  # No caller waits for it any longer.
        if isinstance(message, CommandTold):
            self._loop.call_soon(each.hear, message)
        elif isinstance(message, CommandRunFailed):
            each.answer.set_exception(error_documents.rebuild_error(message.error))
        else:
            each.answer.set_result(message)

    async def _drain(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while data := await stderr.read(_MOST_SAID):
            self._said = (self._said + data)[-_MOST_SAID:]

    def _failure(self) -> WorkerFailed | CommandLost:
        how_it_ended = describe_exit(self._process.returncode)
        if self._alone:
            return WorkerFailed(f"the command {how_it_ended}")
        if self._is_ready:
            return CommandLost(f"the process that runs commands {how_it_ended}; commands in progress may continue")
        last = self._said.decode(errors="backslashreplace").splitlines()[-1:]  # It has not read any request yet.
        return WorkerFailed(
            ": ".join([f"Lifeboat cannot run commands: the process for commands {how_it_ended}", *last])
        )


def _stop_signal() -> int:
    if sys.platform == "win32":
        return signal.CTRL_BREAK_EVENT
    return signal.SIGINT
