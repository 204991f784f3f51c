"""The server: reads commands from standard input, forks a child for each, and forwards the children's messages. It has
one thread, and when it forks only pipes are open: no file, no database, no connection, no key. At the end of its
standard input it stops accepting commands and ends with its last child, so the end of the program never interrupts a
restore. If the server is killed, its children continue: each leads its own session and collects its own output."""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import signal
from collections import deque
from dataclasses import dataclass, field

import msgspec

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.command_server import command_child, preloading
from lifeboat_cli.command_server.command_child import ChildCommand
from lifeboat_core.errors import Cancelled, WorkerFailed
from lifeboat_core.processes.own_interpreter import describe_exit
from lifeboat_daemon.control import command_messages, error_documents
from lifeboat_daemon.control.command_messages import CancelCommand, CommandRunFailed, CommandServerReady, RunCommand
from lifeboat_daemon.control.line_splitter import LineSplitter
from lifeboat_keys.hardening import disable_core_dumps

AT_ONCE = 8
"""The number of concurrent commands. Further ones wait."""
_PIECE = 256 * 1024
_UNREAD = 1024 * 1024
"""Bytes that may wait for the program before the server stops reading from the children."""
_MOST_DESCRIPTORS = 4096
"""More descriptors than a server ever has: 8 children with a pipe each. The limit of the system may be infinite."""


def main() -> None:
    """Serve until standard input ends. In a child: run its command, then exit."""
    disable_core_dumps()
    requests, answers = os.dup(0), os.dup(1)
    command_child.replace_streams()
    command_child.hide_terminals()
    preloading.load_modules()
    gc.collect()
    gc.freeze()  # Exclude loaded objects from garbage collection, so that children share their memory.
    job = CommandServer(requests, answers).serve()
    if job is not None:
        command_child.perform_command(job)


@dataclass(slots=True, eq=False)
class _CommandChild:
    """A process that runs a command. `answers` is the descriptor of its answers, or -1 after its end."""

    number: int
    pid: int
    answers: int
    lines: LineSplitter = field(default_factory=lambda: LineSplitter(command_messages.LONGEST_LINE))
    answered: bool = False


class _MessageKind(msgspec.Struct):
    type: str


class CommandServer:
    """The server; see the module. It takes over `requests` and `answers`, descriptors of pipes."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests, self._answers = requests, answers
        self._lines = LineSplitter(command_messages.LONGEST_REQUEST)
        self._waiting: deque[RunCommand] = deque()
        self._children: list[_CommandChild] = []
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        self._taking = self._heard = True
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = os.pipe()

    def serve(self) -> ChildCommand | None:
        """Work until there is nothing to do. Returns in two kinds of processes: None in the server, a command in each
        child."""
        self._begin()
        while self._taking or self._children:
            self._watch()
            for key, _ in self._selector.select():
                self._attend(key.fd)
            self._reap()
            job = self._start_waiting()
            if job is not None:
                return job
        return None

    def _begin(self) -> None:
        for descriptor in (self._requests, self._answers, self._wake, self._woken):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # They belong to the children.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        self._send(command_messages.encode(CommandServerReady(os.getpid())))

    def _watch(self) -> None:
        """Wait for the descriptors that can be used now."""
        wanted = {self._wake: selectors.EVENT_READ}
        if self._taking:
            wanted[self._requests] = selectors.EVENT_READ
        if self._unsent:
            wanted[self._answers] = selectors.EVENT_WRITE
        if self._unsent_bytes < _UNREAD:
            wanted.update({each.answers: selectors.EVENT_READ for each in self._children if each.answers >= 0})
        for descriptor in set(self._selector.get_map()) - wanted.keys():
            self._selector.unregister(descriptor)
        for descriptor in wanted.keys() - set(self._selector.get_map()):
            self._selector.register(descriptor, wanted[descriptor])

    def _attend(self, descriptor: int) -> None:
        if descriptor == self._requests:
            self._take_requests()
        elif descriptor == self._answers:
            self._send_more()
        elif descriptor == self._wake:
            _read(self._wake)
        else:
            for each in self._children:
                if each.answers == descriptor:
                    self._listen(each)

    # Requests -----------------------------------------------------------------------------------------------------

    def _take_requests(self) -> None:
        data = _read(self._requests)
        if data is None:
            return
        try:
            for line in self._lines.feed(data):
                self._take(command_messages.decode_for_server(line))
        except msgspec.MsgspecError:
            data = b""  # This sender is not our program.
        if not data or self._lines.broken:
            self._taking = False
            self._waiting.clear()

    def _take(self, message: command_messages.ToServer) -> None:
        if isinstance(message, RunCommand):
            self._waiting.append(message)
        else:
            self._cancel(message)

    def _cancel(self, message: CancelCommand) -> None:
        waiting = next((run for run in self._waiting if run.number == message.number), None)
        if waiting is not None:
            self._waiting.remove(waiting)
            self._fail(waiting.number, Cancelled("the command was cancelled before it started"))
        for each in self._children:
            if each.number == message.number:
                with contextlib.suppress(ProcessLookupError):
                    # The child was not reaped yet, so its process id is still its own.
                    os.kill(each.pid, signal.SIGINT)

    # Children -----------------------------------------------------------------------------------------------------

    def _start_waiting(self) -> ChildCommand | None:
        """Start waiting commands up to the limit. Returns a command if this process is one of the children."""
        while self._waiting and len(self._children) < AT_ONCE:
            job = self._start(self._waiting.popleft())
            if job is not None:
                return job
        return None

    def _start(self, run: RunCommand) -> ChildCommand | None:
        """Start a child. Never raises: if it cannot be started, the command fails."""
        try:
            reader, writer = os.pipe()
        except OSError as error:
            self._fail(run.number, _not_started(error))
            return None
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Until the child can handle signals.
        try:
            pid = os.fork()
        except OSError as error:
            os.close(reader)
            os.close(writer)
            self._fail(run.number, _not_started(error))
            return None
        if pid == 0:
            return ChildCommand(run, self._become_child(writer))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        os.close(writer)
        os.set_blocking(reader, False)
        self._children.append(_CommandChild(run.number, pid, reader))
        return None

    def _become_child(self, writer: int) -> int:
        """Close everything of the server but the pipe for the answer, which no process inherits."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        self._selector.close()
        self._waiting.clear()
        kept = os.dup2(writer, 3, inheritable=False) if writer != 3 else writer
        os.closerange(4, _MOST_DESCRIPTORS)
        return kept

    def _listen(self, each: _CommandChild) -> bool:
        """Forward a child's messages. Return False if there is none now."""
        data = _read(each.answers)
        if data is None:
            return False
        for line in each.lines.feed(data):
            each.answered = each.answered or _kind(line) != "told"
            self._send(line + b"\n")
        if not data or each.lines.broken:
            self._hang_up(each)
        return True

    def _hang_up(self, each: _CommandChild) -> None:
        if each.answers >= 0:
            with contextlib.suppress(KeyError):
                self._selector.unregister(each.answers)
            os.close(each.answers)
            each.answers = -1

    def _reap(self) -> None:
        """Reap children that have ended. Their last messages are still in the pipe."""
        for each in list(self._children):
            pid, status = os.waitpid(each.pid, os.WNOHANG)
            if pid == 0:
                continue
            self._children.remove(each)
            self._hear_out(each)
            if not each.answered:
                how = describe_exit(os.waitstatus_to_exitcode(status))
                self._fail(each.number, WorkerFailed(f"the command {how}"))

    def _hear_out(self, each: _CommandChild) -> None:
        while each.answers >= 0:
            if not self._listen(each):
                self._hang_up(each)  # A process that the child started keeps the pipe open.

    # Answers ------------------------------------------------------------------------------------------------------

    def _fail(self, number: int, error: LifeboatError) -> None:
        self._send(command_messages.encode(CommandRunFailed(number, error_documents.describe_error(error))))

    def _send(self, line: bytes) -> None:
        if self._heard:
            self._unsent.append(memoryview(line))
            self._unsent_bytes += len(line)
            self._send_more()

    def _send_more(self) -> None:
        try:
            while self._unsent:
                sent = os.write(self._answers, self._unsent[0])
                self._unsent_bytes -= sent
                self._unsent[0] = self._unsent[0][sent:]
                if not self._unsent[0]:
                    self._unsent.popleft()
        except BlockingIOError:
            return
        except OSError:  # The program has gone.
            self._heard = False
            self._unsent.clear()
            self._unsent_bytes = 0


def _read(descriptor: int) -> bytes | None:
    """Read what is available: b"" at the end, None if there is nothing now."""
    try:
        return os.read(descriptor, _PIECE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _kind(line: bytes) -> str:
    try:
        return msgspec.json.decode(line, type=_MessageKind).type
    except msgspec.MsgspecError:
        return ""


def _not_started(error: OSError) -> WorkerFailed:
    return WorkerFailed(f"the command cannot be started: {error.strerror or error}")
