"""Tell agents whose workspace lies in that of another one, and is not captured with it, from overlapping ones."""

from __future__ import annotations

from pathlib import Path

from lifeboat_adapters.contract import Adapter, Placement
from lifeboat_alf.archive import archive_layout


def leaves_out(adapter: Adapter, outer: Path, inner: Path) -> bool:
    """Return whether a workspace of this runtime is captured and restored without a folder in it. Hermes keeps profiles
    in the home of another agent."""
    if outer not in inner.parents:
        return False
    path = archive_layout.raw_prefix(adapter.runtime) + inner.relative_to(outer).as_posix()
    return adapter.place(path, is_folder=True) is Placement.EXCLUDED
