"""Commands of the command line for a program that stays: `lifeboat WORDS --json`, and what it said, as data."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Callable, Mapping

import msgspec

from lifeboat_daemon.control import failures
from lifeboat_daemon.control.protocol import JsonObject
from lifeboat_daemon.errors import WorkerFailed
from lifeboat_daemon.interpreter import python


class Said(msgspec.Struct, frozen=True):
    """What a command said. `document` is {} and `text` its standard output where it was not asked for JSON; `notes` are
    the lines of its standard error: warnings and remarks for people."""

    status: int
    document: JsonObject
    text: str = ""
    notes: tuple[str, ...] = ()


class Progress(msgspec.Struct, frozen=True):
    """How far a command is: words for people, units done of a total where it is known, units a second, seconds left."""

    text: str
    done: int = 0
    total: int | None = None
    rate: float | None = None
    seconds_left: float | None = None


class Commands:
    """Runs commands, many at once. `environment` is theirs; nothing is started before it is needed."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = dict(os.environ if environment is None else environment)

    async def warm(self) -> None:
        """Have everything ready for the first command. May be called at any time, and often."""

    async def run(self, *words: str, text: str = "", tell: Callable[[Progress], None] | None = None) -> Said:
        """Run `lifeboat WORDS --json` with `text` as its standard input (secrets go there, never among the words).

        Raises the error that the command ended with. Exit status 1 with a document of its own is no error. Cancelling
        the task stops the command at its next safe point, and waits for that.
        """
        said = await self._run((*words, "--json"), text)
        document = _document(said)
        if "error" in document and said.status != 0:
            raise failures.from_document(document["error"])
        return Said(said.status, document, notes=said.notes)

    async def run_text(self, *words: str, text: str = "") -> Said:
        """Run `lifeboat WORDS`: what it says to people, as `Said.text`. Its exit status is the caller's to read."""
        return await self._run(words, text)

    async def close(self) -> None:
        """End what was started for commands. One that is at work is seen through to its end."""

    async def _run(self, words: tuple[str, ...], text: str) -> Said:
        pipe = asyncio.subprocess.PIPE
        command = python("-c", "from lifeboat_daemon.cli import main; main()", *words)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, env=self._environment, start_new_session=True
        )
        ended = asyncio.ensure_future(process.communicate(text.encode()))
        try:
            out, err = await asyncio.shield(ended)
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
            await ended
            raise
        return Said(process.returncode or 0, {}, out.decode(), tuple(err.decode().splitlines()))


def _document(said: Said) -> JsonObject:
    try:
        found = json.loads(said.text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise WorkerFailed(f"a command ended with status {said.status} and without a document")
    return found
