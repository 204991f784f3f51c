"""Run commands of the command line for a long-running program: `lifeboat WORDS --json`, with the output as data.

They run in a command server (`lifeboat_cli.command_server`), a child process that has the command line loaded and forks
a process for each command. On a system without fork, each command gets a new process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import Cancelled, WorkerFailed
from lifeboat_daemon.control import error_documents
from lifeboat_daemon.control.command_messages import CommandEnded, CommandTold
from lifeboat_daemon.control.command_process import SERVER, CommandProcess

FORKS = hasattr(os, "fork")
_INTERRUPTED = 130


class CommandAnswer(msgspec.Struct, frozen=True):
    """The output of a command. Without JSON `document` is {} and `text` is its standard output. `notes` are the lines
    of its standard error: warnings and remarks for people."""

    status: int
    document: JsonObject
    text: str = ""
    notes: tuple[str, ...] = ()


class CommandProgress(msgspec.Struct, frozen=True):
    """How far a command is: words for people, units done of a total if it is known, units per second, seconds left."""

    text: str
    done: int = 0
    total: int | None = None
    rate: float | None = None
    seconds_left: float | None = None


Hear = Callable[[CommandProgress], None]


class CommandRunner:
    """Runs many commands at once. `environment` is passed to them (default: that of the process). Nothing is started
    before it is needed. Can be used in one event loop after another."""

    def __init__(
        self, environment: Mapping[str, str] | None = None, *, server: Sequence[str] = SERVER, forks: bool = FORKS
    ) -> None:
        self._environment = dict(os.environ if environment is None else environment)
        self._server, self._forks = server, forks
        self._starting: asyncio.Task[CommandProcess] | None = None

    async def warm(self) -> None:
        """Prepare for the first command. Returns immediately and may be called at any time."""
        if self._forks:
            self._start()

    async def run(self, *words: str, text: str = "", tell: Hear | None = None) -> CommandAnswer:
        """Run `lifeboat WORDS --json` with `text` as its standard input. Secrets belong there, never among the words.
        `tell` receives the progress, at most a few times a second.

        Raises the error that the command ended with; BadRequest for a command that never ends or needs a terminal;
        WorkerFailed if it was killed; CommandLost if its outcome is unknown. Exit status 1 with a document is not an
        error.

        Cancelling the task stops the command at its next safe point, as Ctrl-C does, and waits for that. A second
        cancellation ends the wait.
        """
        end = words.index("--") if "--" in words else len(words)
        said = await self._run((*words[:end], "--json", *words[end:]), text, tell)
        document = _document(said)
        if set(document) == {"error"} and said.status != 0:
            raise error_documents.rebuild_error({**document["error"], "exit_status": said.status})
        return CommandAnswer(said.status, document, notes=said.notes)

    async def run_text(self, *words: str, text: str = "") -> CommandAnswer:
        """Run `lifeboat WORDS` and return its output for people as `CommandAnswer.text`. The error that it failed with
        is in `notes`. Raises BadRequest, WorkerFailed, CommandLost."""
        return await self._run(words, text, None)

    async def close(self) -> None:
        """Stop what was started for commands. A running command finishes, but is not waited for."""
        starting, self._starting = self._starting, None
        if starting is None or starting.get_loop() is not asyncio.get_running_loop():
            return
        with contextlib.suppress(WorkerFailed):
            await (await starting).close()

    async def _run(self, words: tuple[str, ...], text: str, tell: Hear | None) -> CommandAnswer:
        def hear(told: CommandTold) -> None:
            if tell is not None:
                tell(CommandProgress(told.text, told.done, told.total, told.rate, told.seconds_left))

        if self._forks:
            server = await asyncio.shield(self._start())
            ended = await server.run(words, text, hear)
        else:
            ended = await self._run_alone(words, text, hear)
        return CommandAnswer(ended.status, {}, ended.out, tuple(ended.notes.splitlines()))

    async def _run_alone(self, words: tuple[str, ...], text: str, hear: Callable[[CommandTold], None]) -> CommandEnded:
        process = await CommandProcess.start(self._environment, self._server, alone=True)
        try:
            return await process.run(words, text, hear)
        finally:
            await process.close()

    def _start(self) -> asyncio.Task[CommandProcess]:
        """Return the server, starting or running. Replaces one that belongs to another event loop, has ended or failed
        to start."""
        loop = asyncio.get_running_loop()
        known = self._starting
        if known is None or known.get_loop() is not loop or _is_gone(known):
            self._starting = known = loop.create_task(CommandProcess.start(self._environment, self._server))
            known.add_done_callback(_hear_out)
        return known


def _is_gone(starting: asyncio.Task[CommandProcess]) -> bool:
    return starting.done() and (
        starting.cancelled() or starting.exception() is not None or starting.result().gone.done()
    )


def _hear_out(starting: asyncio.Task[CommandProcess]) -> None:
    """Retrieve the result of a server that was only started in advance, so that asyncio does not report it."""
    if not starting.cancelled():
        starting.exception()


def _document(said: CommandAnswer) -> JsonObject:
    """Return the document that `--json` printed, or {} when a successful command printed nothing. Raises Cancelled,
    WorkerFailed."""
    if said.status == _INTERRUPTED:
        raise Cancelled("the command was cancelled")
    if not said.text.strip() and said.status == 0:
        return {}
    try:
        found = _decoded(said.text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise WorkerFailed(f"the command ended with exit status {said.status}, and its output is not JSON")
    return found


def _decoded(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:  # Names that are not valid text: Python's own JSON decoder accepts them.
        return json.loads(text)
