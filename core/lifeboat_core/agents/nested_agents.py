"""Tell agents whose workspace lies in that of another one, and is not captured with it, from overlapping ones."""

from __future__ import annotations

from pathlib import Path

from lifeboat_adapters.contract import Placement
from lifeboat_adapters.errors import AdapterError
from lifeboat_alf.archive import archive_layout
from lifeboat_core.home.context import Context


def leaves_out(context: Context, runtime: str, outer: Path, inner: Path) -> bool:
    """Return whether a workspace of this runtime is captured and restored without a folder in it. Hermes keeps profiles
    in the home of another agent. A runtime whose adapter or profile cannot be used leaves nothing out."""
    if outer not in inner.parents:
        return False
    try:
        adapter = context.adapter(runtime)
    except AdapterError:
        return False
    path = archive_layout.raw_prefix(runtime) + inner.relative_to(outer).as_posix()
    return adapter.place(path, is_folder=True) is Placement.EXCLUDED
