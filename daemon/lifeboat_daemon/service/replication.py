"""Replication: from what a remote lacks to a worker that pushes it, and from a failure to the next try.

Nothing is polled. A push follows a capture, the start, sleep, a changed file of a remote, a purge, the end of its wait,
or the pause after a failure. Only for the missing directory of a remote, the daemon checks once a minute whether it is
back. Otherwise nothing is sent to a remote, except for the verification that is due.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.agent import Agent
from lifeboat_core.errors import Cancelled
from lifeboat_core.health import due_checks
from lifeboat_core.health.remote_health import (
    DAMAGED,
    DEFERRED,
    ERASED,
    NO_NETWORK,
    UNREACHABLE,
    UNUSABLE,
    RemoteFacts,
    make_sync_entry,
)
from lifeboat_core.health.state_words import ERROR, FENCED, HELD, OK, WAITING
from lifeboat_core.machine import power_and_network
from lifeboat_core.remotes import retry_backoff
from lifeboat_daemon.service import returned_folders
from lifeboat_daemon.service.agent_statuses import AgentStatuses
from lifeboat_daemon.service.daemon_tools import DaemonTools
from lifeboat_daemon.service.event_log import LogWord
from lifeboat_daemon.service.fleet import Fleet
from lifeboat_daemon.service.watched_agent import WatchedAgent

AT_MOST = 2.0
"""Seconds between two pushes. What was captured in between is pushed together."""
BY_A_PERSON = 86400.0
"""Seconds until a failure that only a user can resolve is retried, and the longest pause until a damaged copy is."""
DEFERRED_FOR = 900.0
"""Seconds until the daemon checks again whether the network is metered. The check sends nothing."""
LONGEST_ASKED = 86400.0
"""Seconds. If a remote asks to wait longer, it is asked again after this."""
VERIFY_AGAIN = 3600.0
"""Seconds until the verification of a remote is retried; more after several that found damage."""
AT_ONE_REMOTE = 2
"""Agents that are pushed to one remote at a time. To a remote that failed, it is one."""


@dataclass(slots=True)
class ReplicationState:
    """Replication state of one agent on one remote. `pushes` run or wait for a worker, `push` is the last one that was
    started. `failures` and `verify_failures` count consecutive failures of pushes and verifications. `not_before` and
    `verify_not_before` use the clock that counts sleep. `is_offline`: it waits for a network; `is_unreachable`: the
    remote did not answer; `is_away`: its directory was missing as well. `purge_not_before`: a purge is retried even
    while everything else waits for the user. `mend_not_before`: when to contact a remote with a damaged copy although
    there is nothing new to push."""

    remote: str
    pushes: int = 0
    push: asyncio.Task[JsonObject] | None = None
    failures: int = 0
    not_before: float = 0.0
    is_offline: bool = False
    is_unreachable: bool = False
    is_away: bool = False
    is_verifying: bool = False
    verify_not_before: float = 0.0
    verify_failures: int = 0
    purge_not_before: float = 0.0
    mend_not_before: float = 0.0


class Replication:
    """Decides when captured sequences are pushed where, and handles the results. `look_up` determines the status of an
    agent; `erased` is called for an agent that was purged entirely elsewhere."""

    def __init__(
        self,
        parts: DaemonTools,
        fleet: Fleet,
        statuses: AgentStatuses,
        look_up: Callable[[WatchedAgent], Coroutine[Any, Any, None]],
        *,
        erased: Callable[[Agent], None] = lambda _: None,
        chance: random.Random | None = None,
    ) -> None:
        self._parts = parts
        self._fleet = fleet
        self._statuses = statuses
        self._look_up = look_up
        self._erased = erased
        self._chance = chance or random.Random()
        self._ways: dict[tuple[str, str], ReplicationState] = {}
        self._files: list[tuple[str, int, int]] | None = None
        self._is_looking = False
        self._captures: Counter[str] = Counter()
        """By agent, how many running captures are followed by a requested push to every remote."""

    # When -------------------------------------------------------------------------------------------------------

    def seen(self, watched: WatchedAgent) -> None:
        """Handle new facts about an agent: push what a remote lacks."""
        for remote in _remotes(watched):
            self._arrange(watched, remote)

    def forgive(self) -> None:
        """Retry everything that waits: a user changed something, or the machine woke up."""
        for way in self._ways.values():
            way.failures, way.verify_failures, way.is_offline = 0, 0, False
            way.not_before = way.verify_not_before = way.purge_not_before = way.mend_not_before = 0.0
        self._arrange_all()

    def files_changed(self) -> None:
        """Reload the remotes after an event on their files. If they differ, check every agent again."""
        files = self._remote_files()
        known, self._files = self._files, files
        if files != (known or []):
            self.forgive()
            for watched in self._fleet:
                self._parts.spawn(self._look_up(watched))

    def leave(self, agent_id: str) -> None:
        """Forget an agent that the daemon no longer watches."""
        for key in [key for key in self._ways if key[0] == agent_id]:
            self._parts.timers.cancel(_timer(*key))
            del self._ways[key]

    def tick(self) -> None:
        """Check for a network or a directory that is back, and start verifications that are due."""
        waiting = [way for way in self._ways.values() if way.is_offline]
        if waiting and power_and_network.is_online() is not False:
            for way in waiting:
                way.is_offline, way.not_before, way.purge_not_before = False, 0.0, 0.0
            self._arrange_all()
        self._look_for_folders()
        for watched in self._fleet:
            if self._verify_if_due(watched):
                return  # At most one per minute, so that verifications spread out.

    def _look_for_folders(self) -> None:
        names = {way.remote for way in self._ways.values() if way.is_unreachable}
        if names and not self._is_looking:
            self._is_looking = True
            returned_folders.look_for_folders(self._parts.context, names, self._looked)

    def _looked(self, there: dict[str, bool]) -> None:
        """Retry immediately at directories that are back: a removable disk may be present for a short time only."""
        self._is_looking = False
        for way in self._ways.values():
            if way.is_unreachable and way.remote in there:
                if way.is_away and there[way.remote]:
                    way.failures, way.not_before, way.purge_not_before = 0, 0.0, 0.0
                way.is_away = not there[way.remote]
        self._arrange_all()

    def _remote_files(self) -> list[tuple[str, int, int]]:
        found = []
        try:
            with os.scandir(self._parts.context.home.remotes_folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".toml"):
                        seen = entry.stat()
                        found.append((entry.name, seen.st_size, seen.st_mtime_ns))
        except OSError:
            return []
        return sorted(found)

    def _arrange_all(self) -> None:
        for watched in self._fleet:
            self.seen(watched)

    def _arrange(self, watched: WatchedAgent, remote: RemoteFacts) -> None:
        """Start a push or set a timer for it. Called after every change that could affect the time."""
        way, timer = self._way(watched, remote.name), _timer(watched.id, remote.name)
        if (
            way.pushes
            or self._captures[watched.id]
            or not (_is_wanted(watched, remote) or _has_purges(watched, remote))
        ):
            self._parts.timers.cancel(timer)
            return
        wait = self._wait(watched, way, remote)
        if wait > 0:
            self._parts.timers.at(timer, wait, lambda: self.seen(watched))
            return
        self._parts.timers.cancel(timer)
        if not self._is_full(remote.name):  # Otherwise the job that ends there calls this again.
            self._begin(watched, way, asked=False)

    def _wait(self, watched: WatchedAgent, way: ReplicationState, remote: RemoteFacts) -> float:
        """Return the seconds until the remote may be contacted, for a push or for a purge."""
        not_before = way.not_before if remote.is_behind else max(way.not_before, way.mend_not_before)
        waits = [not_before] if _is_wanted(watched, remote) else []
        if _has_purges(watched, remote):
            asked = _seconds_until(remote.purges_ask_at, self._parts.context.clock.now())
            waits.append(max(way.purge_not_before, self._parts.seconds() + asked))
        return min(waits) - self._parts.seconds()

    def _begin(self, watched: WatchedAgent, way: ReplicationState, *, asked: bool) -> asyncio.Task[JsonObject]:
        way.pushes += 1
        way.push = self._parts.spawn(self._push(watched, way, asked=asked))
        return way.push

    def _is_full(self, remote: str) -> bool:
        ways = [way for way in self._ways.values() if way.remote == remote]
        most = 1 if any(way.failures for way in ways) else AT_ONE_REMOTE
        return sum(way.pushes > 0 for way in ways) >= most

    def _way(self, watched: WatchedAgent, remote: str) -> ReplicationState:
        return self._ways.setdefault((watched.id, remote), ReplicationState(remote))

    # Sending ----------------------------------------------------------------------------------------------------

    async def after(self, watched: WatchedAgent, capture: Awaitable[JsonObject]) -> JsonObject:
        """Wait for a requested capture, push everything to every remote regardless of pauses, and return one agent of
        `sync --json`. Raises what the capture raises, and nothing for a failed push."""
        self._captures[watched.id] += 1
        try:
            document = await capture
        finally:
            self._captures[watched.id] -= 1
        asked = [self._asked_for(watched, remote) for remote in _remotes(watched)]
        return {**document, "remotes": list(await asyncio.gather(*asked))}

    async def _asked_for(self, watched: WatchedAgent, remote: RemoteFacts) -> JsonObject:
        if remote.code == UNUSABLE:
            return _document(remote, ERROR, remote.message, remote.code)
        way = self._way(watched, remote.name)
        document = await asyncio.shield(way.push) if way.pushes and way.push is not None else None
        if document is None or self._leaves_something(watched, document):
            document = await asyncio.shield(self._begin(watched, way, asked=True))
        now = _named(watched, remote.name)
        if document["state"] == OK and now is not None and self._is_due(watched, now):
            await self._verify(watched, now)
        return document

    def _leaves_something(self, watched: WatchedAgent, document: JsonObject) -> bool:
        """Return whether another push should follow an automatic one: not if the remote did not answer."""
        remote = _named(watched, document["name"])
        is_behind = remote is not None and remote.is_behind
        return is_behind and (document["state"] == OK or document["code"] in (DEFERRED, NO_NETWORK))

    async def _push(self, watched: WatchedAgent, way: ReplicationState, *, asked: bool) -> JsonObject:
        """Run a push and count it among the pushes of its state until it ends."""
        answer: JsonObject | None = None
        try:
            with self._statuses.at_work(watched, "push"):
                given = {"remote": way.remote, "asked": asked}
                answer = await asyncio.shield(self._parts.queue.put("push", watched.id, given, long=True))
            document = self._ended(watched, way, answer)
        except Exception as error:
            document = self._failed(watched, way, self._parts.known(error))
        finally:
            way.pushes -= 1
        if not watched.is_gone:
            if answer is not None:
                self._statuses.took(watched, answer)
            self._arrange_all()
        return document

    def _ended(self, watched: WatchedAgent, way: ReplicationState, answer: JsonObject) -> JsonObject:
        """Handle the result of a push: set the time of the next one and report it."""
        document: JsonObject = answer["remote"]
        state, code = document["state"], document.get("code") or ""
        self._set_pause(way, state, code, answer.get("retry_after"))
        if state != OK or document.get("bytes"):
            level = "info" if state in (OK, HELD) else "warning"
            said = {"state": LogWord(state), "code": LogWord(code) if code else None, "sequence": document["sequence"]}
            self._parts.log.event("pushed", level=level, agent=watched.id, **said, bytes=document.get("bytes", 0))
            self._publish(watched, document)
        if code == ERASED:  # Its file is gone too, so nothing else reports it.
            self._parts.log.event("agent_erased", level="error", agent=watched.id)
            self._erased(watched.agent)
        return document

    def _failed(self, watched: WatchedAgent, way: ReplicationState, error: LifeboatError) -> JsonObject:
        """Handle a push that no worker completed. A push that was stopped is not retried at once."""
        way.failures += 1
        stopped = error.code == Cancelled.code
        wait = retry_backoff.LONGEST if stopped else retry_backoff.compute_pause(way.failures, self._chance)
        way.not_before = way.purge_not_before = self._parts.seconds() + wait
        if not watched.is_gone and not stopped:
            self._parts.log.event("push_failed", level="warning", agent=watched.id, code=error.code)
        remote = _named(watched, way.remote) or RemoteFacts(way.remote)
        return _document(remote, WAITING if error.retryable else ERROR, error.message, error.code)

    def _set_pause(self, way: ReplicationState, state: str, code: str, asked_for: float | None) -> None:
        wait, way.mend_not_before = AT_MOST, 0.0
        way.is_offline, way.is_unreachable = code == NO_NETWORK, code == UNREACHABLE
        if state in (OK, HELD):
            way.failures = 0
        elif state == ERROR and code == DAMAGED:  # New sequences are pushed in any case.
            way.failures += 1
            wait = retry_backoff.compute_pause(way.failures, self._chance)
            mending = retry_backoff.compute_pause(way.failures, self._chance, longest=BY_A_PERSON)
            way.mend_not_before = self._parts.seconds() + mending
        elif state in (FENCED, ERROR):
            wait = BY_A_PERSON
        elif code == DEFERRED:
            wait = DEFERRED_FOR
        else:
            way.failures += 1
            wait = max(retry_backoff.compute_pause(way.failures, self._chance), min(asked_for or 0.0, LONGEST_ASKED))
        way.not_before = self._parts.seconds() + wait
        tried = retry_backoff.compute_pause(way.failures or 1, self._chance)
        way.purge_not_before = self._parts.seconds() + (tried if wait == BY_A_PERSON else wait)

    def _publish(self, watched: WatchedAgent, document: JsonObject) -> None:
        self._parts.publish({"event": "push", "agent": watched.id, "name": watched.agent.name, "remote": document})

    # Verification -----------------------------------------------------------------------------------------------

    def _verify_if_due(self, watched: WatchedAgent) -> bool:
        """Start a verification if it is due. Return whether one was started."""
        for remote in _remotes(watched):
            if watched.agent.watched and self._is_due(watched, remote):
                self._way(watched, remote.name).is_verifying = True
                self._parts.spawn(self._verify(watched, remote))
                return True
        return False

    def _is_due(self, watched: WatchedAgent, remote: RemoteFacts) -> bool:
        way = self._way(watched, remote.name)
        if remote.sequence is None or remote.state == FENCED or remote.code == UNUSABLE:
            return False
        if way.is_verifying or way.pushes or way.verify_not_before > self._parts.seconds():
            return False
        every = float(self._fleet.config.get("verify.every", watched.agent.settings).value)
        now = self._parts.context.clock.now()
        return due_checks.is_remote_due(
            remote.verified_at, every, now, share=due_checks.compute_share(watched.id, remote.id)
        )

    async def _verify(self, watched: WatchedAgent, remote: RemoteFacts) -> None:
        way = self._way(watched, remote.name)
        way.is_verifying = True
        answer: JsonObject | None = None
        try:
            with self._statuses.at_work(watched, "verify_remote"):
                given = {"remote": remote.name}
                answer = await asyncio.shield(self._parts.queue.put("verify_remote", watched.id, given, long=True))
        except Exception as error:
            code = self._parts.known(error).code
            self._parts.log.event("verify_remote_failed", "warning", agent=watched.id, code=code)
        finally:
            way.is_verifying = False
        way.verify_failures = 0 if answer is None or answer["ok"] else way.verify_failures + 1
        if answer is None or answer.get("deferred") or answer["sequence"] is None or not answer["ok"]:
            # A damaged copy is read back completely each time.
            wait = retry_backoff.compute_pause(way.verify_failures, self._chance, longest=BY_A_PERSON)
            way.verify_not_before = self._parts.seconds() + max(VERIFY_AGAIN, wait)
        if answer is not None and not watched.is_gone:
            self._parts.log.event("verified_remote", agent=watched.id, ok=answer["ok"], sequence=answer["sequence"])
            self._statuses.took(watched, answer)


def _remotes(watched: WatchedAgent) -> Iterator[RemoteFacts]:
    """Return the remotes of an agent that has something to push."""
    facts = watched.facts
    if facts is not None and facts.sequence is not None and not watched.is_gone:
        yield from facts.remotes


def _named(watched: WatchedAgent, name: str) -> RemoteFacts | None:
    return next((remote for remote in _remotes(watched) if remote.name == name), None)


def _is_wanted(watched: WatchedAgent, remote: RemoteFacts) -> bool:
    """Return whether to push without a request. An agent that was never protected may live on another machine."""
    return watched.agent.watched and remote.code != UNUSABLE and (remote.is_behind or remote.state in (FENCED, ERROR))


def _has_purges(watched: WatchedAgent, remote: RemoteFacts) -> bool:
    """Return whether the remote has to receive a purge or be asked about one. That is possible even if nothing is to be
    pushed, or this machine must not write."""
    return watched.agent.watched and remote.code != UNUSABLE and remote.purges > 0


def _seconds_until(moment: str | None, now: datetime) -> float:
    return 0.0 if moment is None else max(0.0, (times.parse_time(moment) - now).total_seconds())


def _document(remote: RemoteFacts, state: str, message: str, code: str) -> JsonObject:
    """Return one remote of `sync --json` that was not contacted."""
    return make_sync_entry(remote.name, remote.sequence, state, optional=remote.optional, message=message, code=code)


def _timer(agent_id: str, remote: str) -> str:
    return f"push {agent_id} {remote}"
