"""Activity as it happens: the daemon says when to look, or, without one, files are looked at every two seconds.

What is told comes from the vaults and receipts in both cases, so it is what `activity_log.list_activity` would tell
later. Nothing is read of an agent whose files did not change.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.agent import Agent, find_agent, list_agents
from lifeboat_core.errors import AgentError
from lifeboat_core.history import activity_log
from lifeboat_core.history.activity_log import ActivityEntry
from lifeboat_daemon.control.daemon_client import DaemonClient, connect_if_running

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context

EVERY = 2.0
"""Seconds between two looks at the files."""
_VAULT = ("vault.db", "vault.db-wal")

Seen = tuple[tuple[str, int, int], ...]


def follow_activity(
    context: Context,
    agent: str | None,
    *,
    polls: Callable[[], None],
    listens: Callable[[], None] = lambda: None,
    pause: Callable[[], None] = lambda: time.sleep(EVERY),
) -> Iterator[ActivityEntry]:
    """What is done from now on, oldest first, without an end; of one agent or of all. `polls` is called when files are
    looked at because no daemon runs (any more), `listens` when one tells; `pause` between two looks."""
    news = _NewActivity(context, agent)
    news.look()
    for _ in _moments(context, polls, listens, pause):
        yield from news.look()


def _moments(
    context: Context, polls: Callable[[], None], listens: Callable[[], None], pause: Callable[[], None]
) -> Iterator[None]:
    """Each time at which something may have happened. A daemon that is started meanwhile is listened to."""
    is_said = False
    while True:
        client = _listening(context)
        if client is None:
            if not is_said:
                polls()
            is_said = True
            yield
            pause()
            continue
        is_said = False
        listens()
        with client, contextlib.suppress(LifeboatError):
            yield
            for _event in client.events():
                yield


def _listening(context: Context) -> DaemonClient | None:
    """A client that is told what happens. A daemon that does not answer is none, here: `daemon status` says more."""
    try:
        client = connect_if_running(context.home, context.files)
        if client is not None:
            client.subscribe()
    except LifeboatError:
        return None
    return client


class _NewActivity:
    """What was told already, and what the files were like then."""

    def __init__(self, context: Context, agent: str | None) -> None:
        self._context = context
        self._agent = agent
        self._seen: Seen | None = None
        self._told: set[tuple[object, ...]] = set()

    def look(self) -> list[ActivityEntry]:
        """What is new, oldest first."""
        agents = self._agents()
        seen = _files(self._context, agents)
        if seen == self._seen:
            return []
        self._seen = seen
        try:
            found = activity_log.list_activity(self._context, agents, everything=self._agent is None)
        except LifeboatError:  # A vault that is being made or removed; the next look will do.
            self._seen = None
            return []
        fresh = [each for each in found[::-1] if _name(each) not in self._told]
        self._told = {_name(each) for each in found}
        return fresh

    def _agents(self) -> list[Agent]:
        try:
            return list_agents(self._context) if self._agent is None else [find_agent(self._context, self._agent)]
        except AgentError:
            return []


def _name(one: ActivityEntry) -> tuple[object, ...]:
    return one.time, one.agent, one.kind, one.text, one.receipt


def _files(context: Context, agents: list[Agent]) -> Seen:
    """The files that hold what was done, with what changes when they do."""
    vaults = [context.home.vault_folder(agent.id) / name for agent in agents for name in _VAULT]
    return tuple(_look(path) for path in (*vaults, context.home.restore_folder / "receipts"))


def _look(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), -1, -1
    return str(path), found.st_size, found.st_mtime_ns
