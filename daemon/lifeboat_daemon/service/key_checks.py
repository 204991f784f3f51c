"""When the user's key is checked. A key store that never answers blocks nothing, and one that answers again is noticed
by the next check."""

from __future__ import annotations

import contextlib
import os

from lifeboat_core.health.agent_status import OK
from lifeboat_daemon.service.agent_statuses import AgentStatuses
from lifeboat_daemon.service.daemon_tools import DaemonTools

SOONEST, LATEST = 60.0, 1800.0
"""Seconds between two checks of a key that cannot be used, doubling each time."""
EVERY = 86400.0
"""Seconds between two checks of a key that can be used."""
SETTLED = 1.0
"""Seconds in which all files of the key are written once one of them is."""
FILES = ("user.json", "user.key", "store.json", "proven.json")
"""The files that say which key there is and where it is stored."""


class KeyChecks:
    """Schedules checks: `look` after an event that may concern the key, `tick` from time to time, `asked` when a user
    asks for the status."""

    def __init__(self, parts: DaemonTools, statuses: AgentStatuses) -> None:
        self._parts = parts
        self._statuses = statuses
        self._is_looking = self._has_failed = False
        self._looked = 0.0
        self._pause = SOONEST
        self._seen: list[tuple[int, int, int]] = []

    def look(self) -> None:
        """Check now. If a check is running, another one follows it, because the running one may have been too early."""
        self._pause = SOONEST
        self._parts.spawn(self._look())

    def soon(self) -> None:
        """Check the key a moment after one of its files changed."""
        if self._parts.timers.remaining("key soon") is None:
            self._parts.timers.at("key soon", SETTLED, self._look_at_others)

    def _look_at_others(self) -> None:
        if self._files() != self._seen:
            self.look()

    def _files(self) -> list[tuple[int, int, int]]:
        found = []
        for name in FILES:
            with contextlib.suppress(OSError):
                seen = os.stat(self._parts.context.home.keys_folder / name)
                found.append((seen.st_ino, seen.st_size, seen.st_mtime_ns))
        return found

    def tick(self) -> None:
        """Check again when it is due."""
        usable = self._is_usable()
        if self._is_over(EVERY if usable else self._pause):
            self._pause = SOONEST if usable else min(2 * self._pause, LATEST)
            self._parts.spawn(self._look())

    def asked(self) -> None:
        """Check again if the key could not be used: a user asks for the status."""
        if not self._is_usable() and self._is_over(SOONEST):
            self._parts.spawn(self._look())

    def _is_usable(self) -> bool:
        """Return whether the key can be used, as far as is known."""
        return self._statuses.key.state == OK and not self._has_failed

    def _is_over(self, pause: float) -> bool:
        return not self._is_looking and self._parts.seconds() - self._looked >= pause

    async def _look(self) -> None:
        """Check the key as long work, so that the slot for captures stays free."""
        self._is_looking, self._seen = True, self._files()
        try:
            answer = await self._parts.queue.put("key", None, {}, long=True)
            self._statuses.took_key(answer["key"])
            self._has_failed = False
        except Exception as error:
            self._has_failed = True
            self._parts.log.event("key_look_failed", level="warning", code=self._parts.known(error).code)
            self._statuses.took_key(None)
        finally:
            self._is_looking, self._looked = False, self._parts.seconds()
