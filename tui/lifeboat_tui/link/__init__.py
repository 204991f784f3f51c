"""Sources of answers for the dashboard: the daemon and command line of this machine, or a recording."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_daemon.control.command_runner import CommandAnswer, CommandProgress

Tell = Callable[[CommandProgress], None]


class LinkStage(StrEnum):
    """State of the connection to the daemon."""

    CONNECTING = "connecting"
    UP = "up"
    DOWN = "down"


class LinkStatus(msgspec.Struct, frozen=True):
    """Connection to the daemon. `message` and `fix` give the reason and the command that helps while it is down,
    `since` the time when that was noticed. `release`, `pid` and `started_at` describe the daemon."""

    stage: LinkStage = LinkStage.CONNECTING
    message: str = ""
    fix: str | None = None
    since: str | None = None
    release: str = ""
    pid: int | None = None
    started_at: str | None = None


CONNECTION = "connection"
"""Name of the event with which a link reports that its `connection` changed."""


class DashboardLink(Protocol):
    """Interface to commands, status and events that every screen uses. Commands work without a daemon too."""

    connection: LinkStatus
    is_demo: bool

    def now(self) -> datetime:
        """Return the time against which ages are shown."""
        ...

    def remembered(self) -> JsonObject | None:
        """Return the last seen status, also one of an earlier dashboard, or None."""
        ...

    async def status(self) -> JsonObject:
        """Return the answer of `lifeboat status --json`, from the daemon if it runs. Raises LifeboatError."""
        ...

    async def run(self, *words: str, text: str = "", tell: Tell | None = None) -> CommandAnswer:
        """Run a command with `--json`; see `lifeboat_daemon.control.command_runner.CommandRunner.run`. Raises
        LifeboatError."""
        ...

    async def run_text(self, *words: str, text: str = "") -> CommandAnswer:
        """Run a command for its plain text. Raises LifeboatError."""
        ...

    def events(self) -> AsyncIterator[JsonObject]:
        """Yield new events of the daemon (docs/control.md), and `connection`. Supports one listener."""
        ...

    async def close(self) -> None:
        """Close the link after the running commands have finished."""
        ...
