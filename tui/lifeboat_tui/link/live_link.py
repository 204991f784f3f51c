"""Link to the daemon and the command line of this machine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import datetime

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import NotRunning
from lifeboat_daemon.control import control_methods
from lifeboat_daemon.control.async_daemon_client import AsyncDaemonClient
from lifeboat_daemon.control.command_runner import CommandAnswer, CommandRunner
from lifeboat_daemon.control.home_access import HomeAccess
from lifeboat_tui.link import CONNECTION, LinkStage, LinkStatus, Tell

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0
"""Shortest and longest pause in seconds between two attempts to find a missing daemon. A connected daemon is not
polled."""


class LiveLink:
    """Link to this machine. Commands keep working while the daemon starts and stops."""

    is_demo = False

    def __init__(self, door: HomeAccess, commands: CommandRunner) -> None:
        self._door, self._commands = door, commands
        self._client: AsyncDaemonClient | None = None
        self._closed = False
        self.connection = LinkStatus()

    def now(self) -> datetime:
        return self._door.now()

    def remembered(self) -> JsonObject | None:
        return self._door.remembered()

    async def status(self) -> JsonObject:
        """Ask the daemon, which knows more and answers faster; ask the command if there is no daemon."""
        client = self._client
        if client is not None and client.connected:
            document = (await client.ask(control_methods.STATUS)).document
        else:
            document = (await self._commands.run("status")).document
        self._door.remember(document)
        return document

    async def run(self, *words: str, text: str = "", tell: Tell | None = None) -> CommandAnswer:
        return await self._commands.run(*words, text=text, tell=tell)

    async def run_text(self, *words: str, text: str = "") -> CommandAnswer:
        return await self._commands.run_text(*words, text=text)

    async def events(self) -> AsyncIterator[JsonObject]:
        pause = FIRST_PAUSE
        while not self._closed:
            try:
                self._client = await self._door.connect("dashboard")
            except LifeboatError as error:
                if self._is_news(error):
                    yield {"event": CONNECTION}
                await self._warm()
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            pause = FIRST_PAUSE
            hello = self._client.hello
            self.connection = LinkStatus(
                LinkStage.UP, release=hello.release, pid=hello.pid, started_at=hello.started_at
            )
            yield {"event": CONNECTION}
            await self._warm()
            with contextlib.suppress(LifeboatError):
                async for event in self._client.events():
                    yield event
            await self._client.close()
            self._client = None
            if not self._closed and self._is_news(NotRunning("it ended")):
                yield {"event": CONNECTION}

    def _is_news(self, error: LifeboatError) -> bool:
        """Record why there is no daemon, and return whether the reason changed."""
        message = "" if isinstance(error, NotRunning) else error.message
        before = self.connection
        since = times.to_text(self.now()) if before.stage is LinkStage.UP else before.since
        self.connection = LinkStatus(LinkStage.DOWN, message, error.fix, since)
        return self.connection != before

    async def _warm(self) -> None:
        """Prepare the command runner once the daemon has been asked. The first command reports what fails here."""
        with contextlib.suppress(LifeboatError, OSError):
            await self._commands.warm()

    async def close(self) -> None:
        self._closed = True
        if self._client is not None:
            await self._client.close()
        await self._commands.close()
