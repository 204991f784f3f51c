"""Read and write snapshots (`.alf`): a whole state in one file (ALF §4.1, §4.2)."""

from __future__ import annotations

from lifeboat_alf.snapshot.snapshot_reader import SnapshotReader
from lifeboat_alf.snapshot.snapshot_writer import SnapshotSummary, write_snapshot

__all__ = ["SnapshotReader", "SnapshotSummary", "write_snapshot"]
