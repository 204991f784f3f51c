"""Decide which large artifacts this capture reads, within the artifact limits and the quota of the vault."""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from lifeboat_adapters.contract import CaptureRoot, FolderCap
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import times
from lifeboat_alf.common.size_texts import size_text
from lifeboat_core.capture.root_scan import FILE, ScannedEntry
from lifeboat_core.capture.scan_cache import KnownFile
from lifeboat_core.history.vault_quota import VaultQuota
from lifeboat_core.texts.human_text import quote_argument, time_text

PACED_SIZE = 50 << 20


@dataclass(frozen=True, slots=True)
class ArtifactLimits:
    """Limits for artifacts. Sizes are in bytes. `interval` is the time between two unrequested captures of a large
    file; for files over 50 MB it grows with the size, so that reading always takes the same share of a processor."""

    threshold: int
    max_file: int
    max_total: int
    interval: timedelta

    def wait_for(self, size: int) -> timedelta:
        """Return how long a file of this size is not captured again."""
        return self.interval * max(1.0, size / PACED_SIZE)


class ArtifactRefusal(NamedTuple):
    """Why a large file is not captured now. `wait` is the number of seconds until it can be, None for a limit; `fix` is
    the setting that helps, with its value."""

    why: str
    wait: float | None = None
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class LargeArtifact:
    """A large artifact, or a file of a capped folder, that this capture reads."""

    size: int
    captured_at: str


@dataclass(slots=True)
class LargeArtifacts:
    """The large files of one capture of `agent`. `before` has size and time of the last capture by archive path;
    `measure` returns the room in the vault; `new` is what this capture reads; `no_room` says why something was left out
    for lack of room."""

    limits: ArtifactLimits
    before: Mapping[str, tuple[int, str]]
    now: str
    agent: str
    measure: Callable[[], VaultQuota]
    new: dict[str, LargeArtifact] = field(default_factory=dict)
    no_room: str | None = None
    _room: VaultQuota | None = None

    def is_large(self, found: ScannedEntry, *, has_limit_of_the_user: bool = False) -> bool:
        may_be = found.path.startswith(archive_layout.ARTIFACTS) or has_limit_of_the_user
        return may_be and found.kind == FILE and found.key.size > self.limits.threshold

    def captured_at(self, path: str) -> str | None:
        """Return when the stored version was captured."""
        return self.before[path][1] if path in self.before else None

    def take(self, path: str, size: int) -> None:
        self.new[path] = LargeArtifact(size, self.now)

    def reason_against(self, found: ScannedEntry, *, anyhow: bool) -> ArtifactRefusal | None:
        """Return why a large file is not captured now; None when it is. With `anyhow`, ignore how recently it was
        captured."""
        size, limits = found.key.size, self.limits
        if size > limits.max_file:
            return self.too_large(size)
        shortage = self._shortage(found.key.size)
        if shortage is not None:
            self.no_room = shortage
            return ArtifactRefusal(f"{shortage}; large files are not captured until there is space")
        taken = {path: size for path, (size, _) in self.before.items()}
        taken |= {path: one.size for path, one in self.new.items()}
        total = sum(size for path, size in taken.items() if path != found.path) + size
        if total > limits.max_total:
            raised = f"artifacts.max_total {_raised(total)}"
            return ArtifactRefusal(
                "all large files together exceed the limit of the setting artifacts.max_total", fix=raised
            )
        last = None if anyhow else self.captured_at(found.path)
        if last is None:
            return None
        wait = limits.wait_for(size) - (times.parse_time(self.now) - times.parse_time(last))
        if wait <= timedelta(0):
            return None
        why = (
            f"Lifeboat captured this large file at {time_text(last)}, and captures it again after the "
            "time in artifacts.interval"
        )
        return ArtifactRefusal(why, wait.total_seconds())

    def too_large(self, size: int) -> ArtifactRefusal:
        """Return the refusal of a file of this size until the user raises the limit."""
        raised = f"artifacts.max_file {_raised(size)}"
        return ArtifactRefusal(
            f"the file has {size_text(size)}, more than the setting artifacts.max_file allows", fix=raised
        )

    def fix_of(self, refusal: ArtifactRefusal) -> str | None:
        """Return the command that makes room for a file, None when there is none."""
        return (
            None if refusal.fix is None else f"lifeboat config set {refusal.fix} --agent {quote_argument(self.agent)}"
        )

    def _shortage(self, size: int) -> str | None:
        """Measure the room once, and only for a large file: notes and credentials are always captured."""
        self._room = self._room or self.measure()
        return self._room.shortage(size + sum(one.size for one in self.new.values()))


def _raised(size: int) -> str:
    """Return a limit for this many bytes, with room to grow by half."""
    return f"{-(-size * 3 // (2 << 20))}MB"


@dataclass(frozen=True, slots=True)
class FolderCaps:
    """The caps of all roots, each with the prefix of the native names that it applies to."""

    by_prefix: tuple[tuple[str, FolderCap], ...] = ()

    @classmethod
    def of_roots(cls, roots: Iterable[CaptureRoot]) -> FolderCaps:
        return cls(tuple((root.prefix + cap.folder, cap) for root in roots for cap in root.caps))

    def of(self, found: ScannedEntry) -> FolderCap | None:
        return next((cap for prefix, cap in self.by_prefix if found.native.startswith(prefix)), None)

    def over(
        self, suspects: Mapping[str, ScannedEntry], known: Mapping[str, KnownFile], there: Collection[str]
    ) -> dict[str, str]:
        """Return the new files for which a capped folder has no place left, with the reason. Files that are captured
        already stay captured."""
        found: dict[str, str] = {}
        for prefix, cap in self.by_prefix:
            below = (name for name, one in suspects.items() if name.startswith(prefix) and one.kind == FILE)
            new = sorted(name for name in below if name not in known)
            files = (name for name, one in known.items() if name.startswith(prefix) and not stat.S_ISDIR(one.key.mode))
            held = sum(1 for name in files if name in there) if new else 0
            found |= dict.fromkeys(
                new[max(cap.count - held, 0) :], f"the folder has reached its limit of {cap.count} files"
            )
        return found

    def too_soon(self, found: ScannedEntry, captured_at: str | None, now: str) -> str | None:
        """Return why another version of a file is not captured yet; None when it is due."""
        cap = self.of(found)
        if cap is None or captured_at is None:
            return None
        if times.parse_time(now) - times.parse_time(captured_at) >= timedelta(seconds=cap.seconds):
            return None
        return (
            f"Lifeboat has captured the version of {time_text(captured_at)}; this file changes "
            "constantly, so Lifeboat captures it once an hour"
        )
