"""Token buckets, which limit how often a client may do something.

`Buckets` are those of one process. `rates_file` shares buckets between the processes of one machine, `rates_shared`
between processes on many machines. The caller passes the time: monotonic seconds, the same clock in all processes of a
machine.
"""

from __future__ import annotations

import ipaddress
import threading
from typing import Protocol

_MOST_KEYS = 10_000
_IPV6_NETWORK = 64
"""Prefix length: a client with one IPv6 address usually has a whole network of them."""


class Rates(Protocol):
    """A bucket per key, which holds `burst` tokens and gets `rate` tokens a second. For many threads."""

    def take(self, key: str, now: float) -> float:
        """Take a token: return 0, or the seconds until there may be one. Never raises."""


class Buckets:
    """The buckets of one process."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._levels: dict[str, tuple[float, float]] = {}
        self._guard = threading.Lock()

    def take(self, key: str, now: float) -> float:
        with self._guard:
            return self._take(key, now)

    def _take(self, key: str, now: float) -> float:
        level, at = self._levels.get(key, (self._burst, now))
        level, wait = take_token(level, now - at, self._rate, self._burst)
        self._levels[key] = (level, now)
        if len(self._levels) > _MOST_KEYS:
            self._forget(now)
        return wait

    def _forget(self, now: float) -> None:
        """Drop full buckets. If there are still too many, keep the emptiest."""
        kept = {
            key: (level, at)
            for key, (level, at) in self._levels.items()
            if level + (now - at) * self._rate < self._burst
        }
        emptiest = sorted(kept, key=lambda key: kept[key][0])[: _MOST_KEYS // 2]
        self._levels = {key: kept[key] for key in emptiest}


def take_token(level: float, seconds: float, rate: float, burst: float) -> tuple[float, float]:
    """Take a token from a bucket that had `level` some seconds ago.

    Return the new level, and 0 or the seconds until there is a token.
    """
    level = min(burst, level + max(0.0, seconds) * rate)
    return (level - 1, 0.0) if level >= 1 else (level, (1 - level) / rate)


def address_key(address: str) -> str:
    """Return the key for an address: its network, if one client may have as many addresses as it likes."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, _IPV6_NETWORK), strict=False))
