"""Quota of a tenant under concurrent writes.

Rows count what a tenant keeps, but with a delay: an arriving bundle has no row yet, and the growth of vaults is counted
in steps. So a process keeps both in memory, for all of its threads. Other processes do not see it. With N processes a
tenant exceeds its quota by at most N bundles and N 64ths of the quota.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from weakref import WeakValueDictionary

from lifeboat_alf.common.size_texts import size_text
from lifeboat_endpoint.service.agent_roster import Roster
from lifeboat_endpoint.service.endpoint_limits import EndpointLimits
from lifeboat_endpoint.service.remote_errors import as_remote
from lifeboat_vault.errors import RemoteFull, RemoteTooLarge

FULL_FOR = 3600.0
"""Seconds after which a client should try again when its quota is used up."""
FRESH = 10.0
"""Seconds for which a quota that was read is used."""
_COUNT_STEP = 256 << 10
"""Bytes by which a vault grows before its row is updated, so that a push is one transaction instead of two."""
_UNCOUNTED = 64
"""All agents of a tenant together grow by at most this part of the quota before they are counted."""


class _ProcessUsage:
    """Uncounted bytes of one tenant in this process. For many threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._tickets = itertools.count()
        self._taking: dict[int, int] = {}
        self._grown: Counter[str] = Counter()

    def begin(self) -> int:
        """Begin a reservation and return its ticket."""
        with self._guard:
            ticket = next(self._tickets)
            self._taking[ticket] = 0
            return ticket

    def take(self, ticket: int, size: int) -> int:
        """Add bytes to a reservation; return all uncounted bytes except those of later reservations.

        Of two that do not fit together, the first one is accepted.
        """
        with self._guard:
            self._taking[ticket] += size
            # Tickets count up, so smaller ones are older.
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
    """Room that is reserved for something that is arriving."""

    def __init__(self, quota: TenantQuota, ticket: int) -> None:
        self._quota = quota
        self._ticket = ticket
        self._size = 0

    def more(self, size: int) -> None:
        """Reserve room for more bytes that arrived. Raises RemoteTooLarge, RemoteFull."""
        most = self._quota.limits.bundle_bytes
        if self._size + size > most:
            raise RemoteTooLarge(
                f"the upload has at least {self._size + size} bytes; the endpoint accepts at most {most}"
            )
        self._take(size)

    def keeps(self, size: int) -> None:
        """Reserve room for the unpacked size of what arrived. Raises RemoteFull."""
        if size > self._size:
            self._take(size - self._size)

    def _take(self, size: int) -> None:
        self._size += size
        self._quota.take(self._ticket, size)


class TenantQuota:
    """The quota of one tenant, for one thread. `place` identifies the tenant in this process."""

    def __init__(
        self, place: str, roster: Roster, limits: EndpointLimits, allowed: Callable[[], int | None] | None = None
    ) -> None:
        """`allowed` returns the present quota, None for none. Without it, `limits` decide."""
        self._roster = roster
        self.limits = limits
        self._allowed = allowed
        self._most = limits.tenant_bytes
        self._read_at = time.monotonic()
        self._step = _COUNT_STEP
        with _PROCESS_GUARD:
            self._process = _PROCESS.setdefault(place, _ProcessUsage())

    def check(self, size: int) -> None:
        """Check that there is room for something small, or counted immediately. Raises RemoteTooLarge, RemoteFull."""
        with self.taking(size):
            pass

    @contextlib.contextmanager
    def taking(self, size: int = 0) -> Iterator[QuotaReservation]:
        """Reserve room while something arrives that is not counted yet. Raises RemoteTooLarge, RemoteFull."""
        ticket = self._process.begin()
        try:
            made = QuotaReservation(self, ticket)
            made.more(size)
            yield made
        finally:
            self._process.end(ticket)

    def grew(self, agent_id: str, size: int) -> bool:
        """Add the growth of an agent; return whether it should be counted now."""
        return self._process.grow(agent_id, size) >= self._step

    def counted(self, agent_id: str) -> None:
        """Note that the row of an agent has its present size."""
        self._process.count(agent_id)

    def take(self, ticket: int, size: int) -> None:
        """Reserve room for more bytes of a ticket. Raises RemoteFull."""
        uncounted = self._process.take(ticket, size)
        quota = self._quota()
        if quota is None:
            return
        with as_remote():
            kept = self._roster.bytes_of_all()
            # With a small quota or many agents, agents are counted in smaller steps.
            self._step = min(_COUNT_STEP, quota // _UNCOUNTED // max(1, self._roster.counted()))
        if kept + uncounted > quota:
            used, needed = size_text(kept), size_text(uncounted)
            said = f"{used} of the quota of {size_text(quota)} are in use, and this request needs {needed}"
            raise RemoteFull(said, retry_after=FULL_FOR)

    def _quota(self) -> int | None:
        """Return the quota, read again periodically because the operator may change it."""
        if self._allowed is not None and time.monotonic() - self._read_at >= FRESH:
            with as_remote():
                self._most = self._allowed()
            self._read_at = time.monotonic()
        return self._most
