"""Limit the folders that a program writes into all the time to a number, size and rate of files."""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from lifeboat_adapters.contract import CaptureRoot, FolderCap
from lifeboat_alf.common import times
from lifeboat_core.capture.root_scan import FILE, ScannedEntry
from lifeboat_core.capture.scan_cache import KnownFile
from lifeboat_core.texts.human_text import time_text


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
            found |= dict.fromkeys(new[max(cap.count - held, 0) :], f"more than {cap.count} files")
        return found

    def too_soon(self, found: ScannedEntry, captured_at: str | None, now: str) -> str | None:
        """Return why another version of a file is not captured yet; None when it is due."""
        cap = self.of(found)
        if cap is None or captured_at is None:
            return None
        if times.parse_time(now) - times.parse_time(captured_at) >= timedelta(seconds=cap.seconds):
            return None
        return f"its version of {time_text(captured_at)} is; it changes all the time, and is taken once an hour"
