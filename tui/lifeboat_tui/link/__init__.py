"""Who answers the dashboard: the daemon and the command line of this machine (`live`), or a recording (`recorded`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec

from lifeboat_alf.json_types import JsonObject
from lifeboat_daemon.control.commands import Progress, Said

Tell = Callable[[Progress], None]


class Stage(StrEnum):
    """How the connection to the daemon stands."""

    CONNECTING = "connecting"
    UP = "up"
    DOWN = "down"


class Connection(msgspec.Struct, frozen=True):
    """`message` and `fix` say why it is not up, and the command that helps; `since` when that was found out;
    `release`, `pid` and `started_at` are the daemon's."""

    stage: Stage = Stage.CONNECTING
    message: str = ""
    fix: str | None = None
    since: str | None = None
    release: str = ""
    pid: int | None = None
    started_at: str | None = None


CONNECTION = "connection"
"""The event by which a link says that `connection` is another one now."""


class Link(Protocol):
    """What every screen may ask. Commands work without a daemon too."""

    connection: Connection
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

    async def run(self, *words: str, text: str = "", tell: Tell | None = None) -> Said:
        """Run a command with `--json`; see `lifeboat_daemon.control.commands.Commands.run`. Raises LifeboatError."""
        ...

    async def run_text(self, *words: str, text: str = "") -> Said:
        """Run a command for its plain text. Raises LifeboatError."""
        ...

    def events(self) -> AsyncIterator[JsonObject]:
        """What happens from now on: the daemon's events (docs/control.md), and `connection`. One listener."""
        ...

    async def close(self) -> None:
        """End everything. Commands at work are seen through."""
        ...
