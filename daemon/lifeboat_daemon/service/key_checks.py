"""When the user's key is looked at: a store that never answers keeps nothing waiting, and one that answers again is
found by the next look."""

from __future__ import annotations

import contextlib
import os

from lifeboat_core.health.agent_status import OK
from lifeboat_daemon.service.agent_statuses import AgentStatuses
from lifeboat_daemon.service.daemon_tools import DaemonTools

SOONEST, LATEST = 60.0, 1800.0
"""Seconds from one look at a key that cannot be used to the next: the double each time."""
EVERY = 86400.0
"""Seconds between looks at one that can."""
SETTLED = 1.0
"""Seconds in which the files of the keys are written, when any of them is."""
FILES = ("user.json", "user.key", "store.json", "proven.json")
"""What says which key there is, and where it lies."""


class KeyChecks:
    """`look` when something happened that may concern the key, `tick` now and then, `asked` when somebody wants to know
    how it stands."""

    def __init__(self, parts: DaemonTools, standings: AgentStatuses) -> None:
        self._parts = parts
        self._standings = standings
        self._is_looking = self._has_failed = False
        self._looked = 0.0
        self._pause = SOONEST
        self._seen: list[tuple[int, int, int]] = []

    def look(self) -> None:
        """Look now. While a look is on its way another one follows it: it may have come too early."""
        self._pause = SOONEST
        self._parts.spawn(self._look())

    def soon(self) -> None:
        """Something was seen of the files of the keys: look at the key a moment later, where they are others."""
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
        """Look again when it is time."""
        usable = self._is_usable()
        if self._is_over(EVERY if usable else self._pause):
            self._pause = SOONEST if usable else min(2 * self._pause, LATEST)
            self._parts.spawn(self._look())

    def asked(self) -> None:
        """Somebody wants to know how things stand: a key that could not be used is looked at again."""
        if not self._is_usable() and self._is_over(SOONEST):
            self._parts.spawn(self._look())

    def _is_usable(self) -> bool:
        """As far as anybody knows."""
        return self._standings.key.state == OK and not self._has_failed

    def _is_over(self, pause: float) -> bool:
        return not self._is_looking and self._parts.seconds() - self._looked >= pause

    async def _look(self) -> None:
        """In the place of long work: captures have one of their own."""
        self._is_looking, self._seen = True, self._files()
        try:
            answer = await self._parts.queue.put("key", None, {}, long=True)
            self._standings.took_key(answer["key"])
            self._has_failed = False
        except Exception as error:
            self._has_failed = True
            self._parts.log.event("key_look_failed", level="warning", code=self._parts.known(error).code)
            self._standings.took_key(None)
        finally:
            self._is_looking, self._looked = False, self._parts.seconds()
