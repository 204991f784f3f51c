"""How much a tenant may keep, when many write at once.

What is kept stands in rows, but not at once: what is being taken has no row yet, and what a vault grew by is counted in
steps. So a process remembers both of each tenant for all of its threads. Other processes do not see it: with N of them
a tenant gets at most N times one bundle and a 64th of its quota more than its quota.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from weakref import WeakValueDictionary

from lifeboat_endpoint.service.agent_roster import Roster
from lifeboat_endpoint.service.endpoint_limits import EndpointLimits
from lifeboat_endpoint.service.remote_errors import as_remote
from lifeboat_vault.errors import RemoteFull, RemoteTooLarge

FULL_FOR = 3600.0
"""Seconds until a full endpoint is worth another try."""
FRESH = 10.0
"""Seconds for which a quota that was read counts."""
_COUNT_STEP = 256 << 10
"""Bytes that a vault grows before the tenant's account is written again: a push is one transaction, not two."""
_UNCOUNTED = 64
"""A quota divided by this is what all agents of a tenant together grow by before they are counted, at most."""


class _ProcessUsage:
    """What this process has taken of one tenant and not counted yet. For many threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._tickets = itertools.count()
        self._taking: dict[int, int] = {}
        self._grown: Counter[str] = Counter()

    def begin(self) -> int:
        """Something is on its way: its ticket."""
        with self._guard:
            ticket = next(self._tickets)
            self._taking[ticket] = 0
            return ticket

    def take(self, ticket: int, size: int) -> int:
        """So much more of it is; all that is uncounted with it, but for what began later: of two that have no room
        together the first one has."""
        with self._guard:
            self._taking[ticket] += size
            before = sum(taken for each, taken in self._taking.items() if each <= ticket)
            return before + self._grown.total()

    def end(self, ticket: int) -> None:
        with self._guard:
            del self._taking[ticket]

    def grow(self, agent_id: str, size: int) -> int:
        with self._guard:
            self._grown[agent_id] += size
            return self._grown[agent_id]

    def count(self, agent_id: str) -> None:
        with self._guard:
            del self._grown[agent_id]


_PROCESS: WeakValueDictionary[str, _ProcessUsage] = WeakValueDictionary()
_PROCESS_GUARD = threading.Lock()


class QuotaReservation:
    """Something on its way."""

    def __init__(self, quota: TenantQuota, ticket: int) -> None:
        self._quota = quota
        self._ticket = ticket
        self._size = 0

    def more(self, size: int) -> None:
        """So much more of it came. Raises RemoteTooLarge, RemoteFull."""
        most = self._quota.limits.bundle_bytes
        if self._size + size > most:
            raise RemoteTooLarge(f"{self._size + size} bytes, at most {most} are taken")
        self._take(size)

    def keeps(self, size: int) -> None:
        """What is kept of it has so many bytes: it came packed. Raises RemoteFull."""
        if size > self._size:
            self._take(size - self._size)

    def _take(self, size: int) -> None:
        self._size += size
        self._quota.take(self._ticket, size)


class TenantQuota:
    """Of one tenant, for one thread; `place` tells tenants apart in this process."""

    def __init__(
        self, place: str, roster: Roster, limits: EndpointLimits, allowed: Callable[[], int | None] | None = None
    ) -> None:
        """`allowed` tells what the quota is now, None for none; without it, what `limits` say holds."""
        self._roster = roster
        self.limits = limits
        self._allowed = allowed
        self._most = limits.tenant_bytes
        self._read_at = time.monotonic()
        self._step = _COUNT_STEP
        with _PROCESS_GUARD:
            self._process = _PROCESS.setdefault(place, _ProcessUsage())

    def check(self, size: int) -> None:
        """Whether there is room for something that is counted at once, or small. Raises RemoteTooLarge, RemoteFull."""
        with self.taking(size):
            pass

    @contextlib.contextmanager
    def taking(self, size: int = 0) -> Iterator[QuotaReservation]:
        """While something is taken that is not counted yet: nobody in this process takes its room meanwhile. Raises
        RemoteTooLarge, RemoteFull."""
        ticket = self._process.begin()
        try:
            made = QuotaReservation(self, ticket)
            made.more(size)
            yield made
        finally:
            self._process.end(ticket)

    def grew(self, agent_id: str, size: int) -> bool:
        """Whether an agent, which grew by some bytes, is to be counted now."""
        return self._process.grow(agent_id, size) >= self._step

    def counted(self, agent_id: str) -> None:
        """An agent's row says how large it is."""
        self._process.count(agent_id)

    def take(self, ticket: int, size: int) -> None:
        """So much more of something that has a ticket. Raises RemoteFull."""
        uncounted = self._process.take(ticket, size)
        quota = self._quota()
        if quota is None:
            return
        with as_remote():
            kept = self._roster.bytes_of_all()
            self._step = min(_COUNT_STEP, quota // _UNCOUNTED // max(1, self._roster.counted()))
        if kept + uncounted > quota:
            said = f"{_text(kept)} of {_text(quota)} are taken, and this needs {_text(uncounted)}"
            raise RemoteFull(said, retry_after=FULL_FOR)

    def _quota(self) -> int | None:
        """Read anew now and then: whoever runs the endpoint may change it."""
        if self._allowed is not None and time.monotonic() - self._read_at >= FRESH:
            with as_remote():
                self._most = self._allowed()
            self._read_at = time.monotonic()
        return self._most


def _text(size: int) -> str:
    """Bytes for people."""
    for unit, least in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} bytes"
