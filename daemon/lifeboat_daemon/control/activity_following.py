"""Follow activity as it happens. The daemon says when to look; without a daemon, the files are polled every two
seconds.

Entries are read from the vaults and receipts in both cases, so they equal what `activity.log` returns later. An agent
whose files did not change is not read.
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
"""Seconds between two polls of the files."""
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
    """Yield what is done from now on, oldest first, without an end; for one agent or for all. `polls` is called when
    files are polled because no daemon runs, `listens` when a daemon reports events. `pause` waits between two polls."""
    news = _NewActivity(context, agent)
    news.look()
    for _ in _moments(context, polls, listens, pause):
        yield from news.look()


def _moments(
    context: Context, polls: Callable[[], None], listens: Callable[[], None], pause: Callable[[], None]
) -> Iterator[None]:
    """Yield each time at which something may have happened. A daemon that starts later is used from then on."""
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
    """Return a client that is subscribed to events. A daemon that does not answer counts as absent here: `daemon
    status` explains it."""
    try:
        client = connect_if_running(context.home, context.files)
        if client is not None:
            client.subscribe()
    except LifeboatError:
        return None
    return client


class _NewActivity:
    """Detects entries that were not reported yet, by the state of the files at the last look."""

    def __init__(self, context: Context, agent: str | None) -> None:
        self._context = context
        self._agent = agent
        self._seen: Seen | None = None
        self._told: set[tuple[object, ...]] = set()

    def look(self) -> list[ActivityEntry]:
        """Return the new entries, oldest first."""
        agents = self._agents()
        seen = _files(self._context, agents)
        if seen == self._seen:
            return []
        self._seen = seen
        try:
            found = activity_log.list_activity(self._context, agents, everything=self._agent is None)
        except LifeboatError:  # The vault is being created or removed: the next look reads it.
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
    """Return the identity and modification time of the files that record activity."""
    vaults = [context.home.vault_folder(agent.id) / name for agent in agents for name in _VAULT]
    return tuple(_look(path) for path in (*vaults, context.home.restore_folder / "receipts"))


def _look(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), -1, -1
    return str(path), found.st_size, found.st_mtime_ns
