"""Restores that a crash interrupted and that could not be finished yet."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_daemon.context import Context
from lifeboat_daemon.doctor import Finding, Level

TITLE = "Interrupted restores"


def check(context: Context) -> Iterator[Finding]:
    """Every command tries to finish them first; what is left here could not be finished."""
    left = sorted(context.home.restore_folder.glob("*.json"))
    for path in left:
        yield Finding(Level.ERROR, path.name, "a restore is not finished", f"look into {path}, then lifeboat doctor")
    if not left:
        yield Finding(Level.OK, "restores", "none is unfinished")
