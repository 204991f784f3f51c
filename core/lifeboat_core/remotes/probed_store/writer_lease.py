"""Which machine may replace heads in a store that has no conditional writes.

The lease is one object per agent. It names a machine, which keeps it until another machine takes it, so that the
writer of an agent waits only once. A machine that takes it writes its own word, waits until every replacement that the
former holder could have begun has ended, and looks whether the word is still there: the mutual exclusion of Fischer,
which needs reads that see the last write and machines that measure seconds. A holder therefore replaces a head only
within a few seconds after it read the lease, and in one try.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec

from lifeboat_alf.common import json_codec
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_core.remotes.probed_store.store_client import ONE_TRY, StoreClient
from lifeboat_vault.errors import RemoteBusy

FRESH = 5.0
"""Seconds after which a holder reads the lease again before it replaces a head."""
SETTLING = 2 * (FRESH + ONE_TRY)
"""Seconds until a replacement that the former holder could have begun has ended."""
SETTLING_NEW = 2.0
"""The same for an agent without a lease: only its registration can be in progress."""


class _LeaseDocument(msgspec.Struct, frozen=True):
    """`writer`: the device that holds the lease. `word` differs with every taking."""

    writer: str
    word: str


class WriterLease:
    """The lease in the object `key` for the device `writer`. `sleep` waits for some seconds."""

    def __init__(
        self, client: StoreClient, key: str, writer: str, clock: Clock, sleep: Callable[[float], None]
    ) -> None:
        self._client = client
        self._key = key
        self._writer = writer
        self._clock = clock
        self._sleep = sleep
        self._read_at = float("-inf")

    def take(self) -> bool:
        """Hold the lease. Return whether another machine may have replaced the head since this machine held it. Raises
        RemoteBusy if another machine takes it at the same time."""
        known = self._read()
        if known is not None and known.writer == self._writer:
            return False
        own = _LeaseDocument(self._writer, secrets.token_hex(16))
        self._client.put(self._key, json_codec.encode_json(own))
        self._sleep(SETTLING_NEW if known is None else SETTLING)
        if self._read() != own:
            raise RemoteBusy(f"another machine is taking over the {self._client.words.place}", retry_after=SETTLING)
        return True

    def confirm(self) -> None:
        """Check right before the one write under the lease that it was read a moment ago. Raises RemoteBusy."""
        if self._clock.since_boot() - self._read_at > FRESH:
            self.check()

    def check(self) -> None:
        """Raises RemoteBusy if another machine holds the lease."""
        known = self._read()
        if known is None or known.writer != self._writer:
            raise RemoteBusy(f"another machine took over the {self._client.words.place}", retry_after=SETTLING)

    def _read(self) -> _LeaseDocument | None:
        """Return the lease, None if there is none or it is damaged: then it is taken."""
        # The time before the request counts: another machine may have taken the lease while the answer was on its way.
        self._read_at = self._clock.since_boot()
        found = self._client.get_once(self._key)
        try:
            return None if found is None else msgspec.json.decode(found.data, type=_LeaseDocument)
        except (msgspec.DecodeError, RecursionError):
            return _LeaseDocument("", "")
