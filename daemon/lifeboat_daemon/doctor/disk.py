"""Room for the vaults."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from lifeboat_daemon.context import Context
from lifeboat_daemon.doctor import Finding, Level
from lifeboat_daemon.words import size_text

TITLE = "Space on the disk"
LEAST_FREE = 1_000_000_000


def check(context: Context) -> Iterator[Finding]:
    free = shutil.disk_usage(context.home.folder).free
    level = Level.OK if free >= LEAST_FREE else Level.ERROR
    fix = None if level is Level.OK else "lifeboat config set artifacts.max_total 500MB"
    yield Finding(level, str(context.home.folder), f"{size_text(free)} are free", fix)
