"""Token buckets: how often somebody may do something. Pure but for the time that is given."""

from __future__ import annotations

import threading

_MOST_KEYS = 10_000


class Buckets:
    """A bucket a key: `burst` at once, `rate` a second on average. For many threads."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._levels: dict[str, tuple[float, float]] = {}
        self._guard = threading.Lock()

    def take(self, key: str, now: float) -> float:
        """Take one; 0 when there was one, else the seconds until there is. `now` in seconds, never going back."""
        with self._guard:
            return self._take(key, now)

    def _take(self, key: str, now: float) -> float:
        level, at = self._levels.get(key, (self._burst, now))
        level = min(self._burst, level + (now - at) * self._rate)
        if level < 1:
            self._levels[key] = (level, now)
            return (1 - level) / self._rate
        self._levels[key] = (level - 1, now)
        if len(self._levels) > _MOST_KEYS:
            self._forget(now)
        return 0.0

    def _forget(self, now: float) -> None:
        """Let full buckets go; when there are still too many, the emptiest stay."""
        kept = {
            key: (level, at)
            for key, (level, at) in self._levels.items()
            if level + (now - at) * self._rate < self._burst
        }
        emptiest = sorted(kept, key=lambda key: kept[key][0])[: _MOST_KEYS // 2]
        self._levels = {key: kept[key] for key in emptiest}
