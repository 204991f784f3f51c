"""Large artifacts: which of them are captured now, within the limits for artifacts and the room of the vault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from lifeboat_alf import layout, times
from lifeboat_daemon.capture.scan import Found
from lifeboat_daemon.room import Room
from lifeboat_daemon.words import time_text


@dataclass(frozen=True, slots=True)
class Limits:
    """What is kept of artifacts: sizes in bytes, `interval` between two captures of a large file."""

    threshold: int
    max_file: int
    max_total: int
    interval: timedelta


@dataclass(frozen=True, slots=True)
class Large:
    """A large artifact, or a file of a capped folder, that is captured now."""

    size: int
    captured_at: str


@dataclass(slots=True)
class LargeFiles:
    """Those of one capture. `before` has size and time of the last capture by archive path; `measure` looks how much
    room the vault has; `new` is what is captured now, `no_room` why something was not for want of it."""

    limits: Limits
    before: Mapping[str, tuple[int, str]]
    now: str
    measure: Callable[[], Room]
    new: dict[str, Large] = field(default_factory=dict)
    no_room: str | None = None
    _room: Room | None = None

    def is_large(self, found: Found) -> bool:
        return found.path.startswith(layout.ARTIFACTS) and found.key.size > self.limits.threshold

    def captured_at(self, path: str) -> str | None:
        """When the version that is held was captured."""
        return self.before[path][1] if path in self.before else None

    def take(self, path: str, size: int) -> None:
        self.new[path] = Large(size, self.now)

    def reason_against(self, found: Found, *, anyhow: bool) -> str | None:
        """Why a large file is not taken now; None when it is. `anyhow`: however short ago it was captured."""
        if found.key.size > self.limits.max_file:
            return "larger than artifacts.max_file"
        shortage = self._shortage(found.key.size)
        if shortage is not None:
            self.no_room = shortage
            return f"{shortage}; large files are not taken until there is room"
        taken = {path: size for path, (size, _) in self.before.items()}
        taken |= {path: one.size for path, one in self.new.items()}
        if sum(size for path, size in taken.items() if path != found.path) + found.key.size > self.limits.max_total:
            return "all large files together are larger than artifacts.max_total"
        last = None if anyhow else self.captured_at(found.path)
        if last is not None and times.parse(self.now) - times.parse(last) < self.limits.interval:
            return f"its version of {time_text(last)} is; a large file is captured again after artifacts.interval"
        return None

    def _shortage(self, size: int) -> str | None:
        """Looked up once, and only for a large file: notes and credentials are always taken."""
        self._room = self._room or self.measure()
        return self._room.shortage(size + sum(one.size for one in self.new.values()))
