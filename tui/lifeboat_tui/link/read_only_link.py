"""Read-only link for `--readonly`: it refuses every command that changes something."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_daemon.control.command_runner import CommandAnswer
from lifeboat_tui.link import DashboardLink, LinkStatus, Tell
from lifeboat_tui.user_actions import READ_ONLY

_LOOKING = (
    *(("status",), ("timeline",), ("log",), ("diff",), ("search",), ("verify",), ("doctor",), ("setup",)),
    *(("records", "list"), ("records", "show"), ("agents", "list"), ("agents", "discover"), ("keys", "status")),
    *(("config", "list"), ("config", "check"), ("remote", "list"), ("daemon", "log"), ("service", "status")),
    *(("receipts", "list"), ("receipts", "show"), ("receipts", "verify")),
    *(("review",), ("proposals", "list"), ("proposals", "show")),
)
"""Commands that never change user data. Any other command is refused unless it has `--dry-run`."""
_WRITING = frozenset({"--yes", "--bundle", "--approve", "--approve-all", "--undo"})


class ReadOnlyRefusal(LifeboatError):
    """The command would change something in a read-only dashboard."""

    title = "Only looking"


class ReadOnlyLink:
    """Link that refuses changes. Screens already refuse their writing actions; this link is the second barrier."""

    def __init__(self, link: DashboardLink) -> None:
        self._link = link
        self.is_demo = link.is_demo

    @property
    def connection(self) -> LinkStatus:
        return self._link.connection

    @connection.setter
    def connection(self, connection: LinkStatus) -> None:
        self._link.connection = connection

    def now(self) -> datetime:
        return self._link.now()

    def remembered(self) -> JsonObject | None:
        return self._link.remembered()

    async def status(self) -> JsonObject:
        return await self._link.status()

    async def run(self, *words: str, text: str = "", tell: Tell | None = None) -> CommandAnswer:
        _check(words)
        return await self._link.run(*words, text=text, tell=tell)

    async def run_text(self, *words: str, text: str = "") -> CommandAnswer:
        _check(words)
        return await self._link.run_text(*words, text=text)

    def events(self) -> AsyncIterator[JsonObject]:
        return self._link.events()

    async def close(self) -> None:
        await self._link.close()


def _check(words: tuple[str, ...]) -> None:
    """Refuse a command that may write. Raises ReadOnlyRefusal."""
    only_shows = "--dry-run" in words or any(words[: len(each)] == each for each in _LOOKING)
    if not only_shows or _WRITING.intersection(words):
        raise ReadOnlyRefusal(READ_ONLY)
