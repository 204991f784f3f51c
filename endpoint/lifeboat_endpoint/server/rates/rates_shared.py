"""Token buckets that processes on many machines share, in rows.

Most clients stay far below their limit, and a query for each request would slow down everything. So a process grants a
small share of each bucket without asking. Beyond it, it takes several tokens at once and keeps those that are left. A
refusal is remembered until there may be a token again. With N processes at most

    burst + rate * T  +  N * (SHARE * (burst + rate * T) + ahead + threads)

requests pass in T seconds, where `ahead` is at most a sixteenth of the burst and a tenth of a second.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable

from lifeboat_alf.errors import LifeboatError
from lifeboat_endpoint.engines.contract import BucketRows
from lifeboat_endpoint.server.rates.token_buckets import Buckets

SHARE = 1 / 64
_MOST_KEYS = 10_000
_AWAY = 1.0
"""Seconds until rows that did not answer are asked again."""
_KEY_AWAY = 30.0
"""Seconds until an unavailable key is asked for again, which may take long."""
_DIGEST_BYTES = 16


class SharedRates:
    """Rate limits through `rows`, which see digests of the keys. `secret` returns the key of the digests, the same in
    all processes. While the rows do not answer, a bucket of this process decides."""

    def __init__(self, rows: BucketRows, secret: Callable[[], bytes], rate: float, burst: float) -> None:
        self._rows = rows
        self._secret = secret
        self._rate = rate
        self._burst = burst
        self._ahead = max(1, int(min(burst / 16, rate / 10)))
        self._share = Buckets(rate * SHARE, burst * SHARE)
        self._alone = Buckets(rate, burst)
        self._guard = threading.Lock()
        self._kept: dict[str, float] = {}
        self._refused: dict[str, float] = {}
        self._asking: Counter[str] = Counter()
        self._away = 0.0

    def take(self, key: str, now: float) -> float:
        # The process grants its share without asking.
        if not self._share.take(key, now):
            return 0.0
        found = self._known(key, now)
        return self._asked(key, now) if found is None else found

    def _known(self, key: str, now: float) -> float | None:
        """Return the result if it is known without asking."""
        with self._guard:
            until = self._refused.get(key, now)
            if until > now:
                return until - now
            kept = self._kept.get(key, 0.0)
            if kept < 1:
                return None
            self._kept[key] = kept - 1
            return 0.0

    def _asked(self, key: str, now: float) -> float:
        if now < self._away:
            return self._alone.take(key, now)
        with self._guard:
            # Only one thread at a time takes tokens in advance.
            wanted = 1 if self._asking[key] else self._ahead
            self._asking[key] += 1
        try:
            taken = self._taken(key, wanted, now)
        finally:
            self._asked_for(key)
        return self._alone.take(key, now) if taken is None else self._noted(key, *taken, now)

    def _taken(self, key: str, wanted: float, now: float) -> tuple[float, float] | None:
        """Take tokens from the rows, None if they do not answer."""
        try:
            digest = hashlib.blake2b(key.encode(), key=self._secret(), digest_size=_DIGEST_BYTES).digest()
        except LifeboatError:
            self._away = now + _KEY_AWAY
            return None
        try:
            return self._rows.take(digest, wanted, self._rate, self._burst)
        except LifeboatError:
            self._away = now + _AWAY
            return None

    def _asked_for(self, key: str) -> None:
        with self._guard:
            self._asking[key] -= 1
            if not self._asking[key]:
                del self._asking[key]

    def _noted(self, key: str, given: float, level: float, now: float) -> float:
        with self._guard:
            if len(self._kept) + len(self._refused) > _MOST_KEYS:
                self._forget(now)
            if given >= 1:
                self._refused.pop(key, None)
                self._kept[key] = self._kept.get(key, 0.0) + given - 1
                return 0.0
            wait = max(0.001, (1 - level) / self._rate)
            self._refused[key] = now + wait
            return wait

    def _forget(self, now: float) -> None:
        """Drop what is remembered. Dropped tokens are lost for a moment, so too much is refused, never too little."""
        self._kept.clear()
        self._refused = {key: until for key, until in self._refused.items() if until > now}
        if len(self._refused) > _MOST_KEYS:
            self._refused.clear()
