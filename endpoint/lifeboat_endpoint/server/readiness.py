"""Whether the server is ready for requests.

Each part is checked separately, with a time limit and not too often, however many probes ask. The response names the
missing parts, and the log says why they are missing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from lifeboat_endpoint.server.server_log import LOGGER, explain_error

LIMIT = 2.0
"""Seconds after which a part without an answer counts as missing."""
FRESH = 1.0
"""Seconds for which an answer counts."""
DRAINING = "draining"

Check = Callable[[], None]


@dataclass(slots=True)
class _ReadinessPart:
    """One part. A check that takes too long keeps `running`, and no other one is started meanwhile."""

    check: Check
    fresh: float
    running: Future[None] | None = None
    is_well: bool = False
    was_well: bool = True
    at: float = float("-inf")


class Readiness:
    """Checks of the parts by name; each raises if its part is missing.

    `fresh` says for some parts how long a good answer counts, if asking is expensive. Parts in `optional` are checked
    and reported, but do not make the server unready: another process would miss them too. `thread_done` is called after
    each check in its thread, `told` with each result.
    """

    def __init__(
        self,
        checks: Mapping[str, Check],
        *,
        fresh: Mapping[str, float] | None = None,
        optional: Collection[str] = (),
        draining: Callable[[], bool] = lambda: False,
        told: Callable[[str, bool], None] = lambda part, is_well: None,
        thread_done: Callable[[], None] = lambda: None,
        limit: float = LIMIT,
    ) -> None:
        self._parts = {name: _ReadinessPart(check, (fresh or {}).get(name, FRESH)) for name, check in checks.items()}
        self._optional = frozenset(optional)
        self._draining = draining
        self._told = told
        self._thread_done = thread_done
        self._limit = limit
        self._guard = threading.Lock()
        self._threads = ThreadPoolExecutor(max(1, len(self._parts)), thread_name_prefix="readiness")

    def missing(self) -> tuple[str, ...]:
        """Return the names of missing parts, empty when ready. Waits for `LIMIT` at most."""
        if self._draining():
            return (DRAINING,)
        with self._guard:
            self._look(time.monotonic())
            return tuple(name for name, part in self._parts.items() if not part.is_well and name not in self._optional)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _look(self, now: float) -> None:
        asked = [name for name, part in self._parts.items() if now - part.at >= (part.fresh if part.is_well else FRESH)]
        for name in asked:
            part = self._parts[name]
            # A check that hangs is not started a second time.
            if part.running is None:
                part.running = self._threads.submit(self._ask, part.check)
        wait([part.running for name in asked if (part := self._parts[name]).running is not None], self._limit)
        for name in asked:
            self._conclude(name, self._parts[name])

    def _ask(self, check: Check) -> None:
        try:
            check()
        finally:
            self._thread_done()

    def _conclude(self, name: str, part: _ReadinessPart) -> None:
        running, part.at = part.running, time.monotonic()
        part.is_well, why = False, "the check did not finish in time"
        if running is not None and running.done():
            part.running = None
            error = running.exception()
            part.is_well, why = error is None, "" if error is None else explain_error(error)
        self._told(name, part.is_well)
        if part.is_well != part.was_well:
            part.was_well = part.is_well
            if part.is_well:
                LOGGER.warning("ready again: %s", name)
            else:
                LOGGER.error("not ready: %s: %s", name, why)
