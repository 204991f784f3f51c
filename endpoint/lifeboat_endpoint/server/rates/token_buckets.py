"""Token buckets: how often somebody may do something.

`Buckets` are those of one process. `rates_file` has buckets that the processes of one machine share, `rates_shared`
those of processes on many machines. All take the time that they are given: seconds that never go back, the same clock
in all processes of a machine.
"""

from __future__ import annotations

import ipaddress
import threading
from typing import Protocol

_MOST_KEYS = 10_000
_IPV6_NETWORK = 64
"""Bits: whoever has one IPv6 address has a network of them."""


class Rates(Protocol):
    """A bucket a key: `burst` at once, `rate` a second on average. For many threads."""

    def take(self, key: str, now: float) -> float:
        """Take one; 0 when there was one, else the seconds until there may be. Never raises."""
        ...


class Buckets:
    """Of one process."""

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
        """Let full buckets go; when there are still too many, the emptiest stay."""
        kept = {
            key: (level, at)
            for key, (level, at) in self._levels.items()
            if level + (now - at) * self._rate < self._burst
        }
        emptiest = sorted(kept, key=lambda key: kept[key][0])[: _MOST_KEYS // 2]
        self._levels = {key: kept[key] for key in emptiest}


def take_token(level: float, seconds: float, rate: float, burst: float) -> tuple[float, float]:
    """The level of a bucket after one was taken that had `level` some seconds ago, and 0; or, where there is none, the
    level now and the seconds until there is one."""
    level = min(burst, level + max(0.0, seconds) * rate)
    return (level - 1, 0.0) if level >= 1 else (level, (1 - level) / rate)


def address_key(address: str) -> str:
    """Whose bucket an address has: its network's, where one machine has as many addresses as it likes."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, _IPV6_NETWORK), strict=False))
