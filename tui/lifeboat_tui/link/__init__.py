"""Who answers the dashboard: the daemon and the command line of this machine (`live`), or a recording (`recorded`)."""

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
    """How the connection to the daemon stands."""

    CONNECTING = "connecting"
    UP = "up"
    DOWN = "down"


class LinkStatus(msgspec.Struct, frozen=True):
    """`message` and `fix` say why it is not up, and the command that helps; `since` when that was found out;
    `release`, `pid` and `started_at` are the daemon's."""

    stage: LinkStage = LinkStage.CONNECTING
    message: str = ""
    fix: str | None = None
    since: str | None = None
    release: str = ""
    pid: int | None = None
    started_at: str | None = None


CONNECTION = "connection"
"""The event by which a link says that `connection` is another one now."""


class DashboardLink(Protocol):
    """What every screen may ask. Commands work without a daemon too."""

    connection: LinkStatus
    is_demo: bool

    def now(self) -> datetime:
        """The time, for ages."""
        ...

    def remembered(self) -> JsonObject | None:
        """The status that was seen last, also by an earlier dashboard; None while there is none."""
        ...

    async def status(self) -> JsonObject:
        """What `lifeboat status --json` says: from the daemon where it runs. Raises LifeboatError."""
        ...

    async def run(self, *words: str, text: str = "", tell: Tell | None = None) -> CommandAnswer:
        """Run a command with `--json`; see `lifeboat_daemon.control.command_runner.CommandRunner.run`. Raises
        LifeboatError."""
        ...

    async def run_text(self, *words: str, text: str = "") -> CommandAnswer:
        """Run a command for its plain text. Raises LifeboatError."""
        ...

    def events(self) -> AsyncIterator[JsonObject]:
        """What happens from now on: the daemon's events (docs/control.md), and `connection`. One listener."""
        ...

    async def close(self) -> None:
        """End everything. Commands at work are seen through."""
        ...
