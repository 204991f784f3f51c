"""Nested folders, deeper than the longest possible path and than the recursion limit."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.restore import journal_moves

DEEPER_THAN_THE_STACK = 1500
DEEPER_THAN_A_PATH = 5000


def nest(folder: Path, depth: int) -> None:
    """Make nested folders."""
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("a", dir_fd=here)
        below = os.open("a", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


@contextlib.contextmanager
def removed_afterwards(folder: Path) -> Iterator[None]:
    """Remove the content of a folder after the block, which `shutil.rmtree` of Python 3.11 cannot do."""
    try:
        yield
    finally:
        journal_moves.remove_tree(SystemFiles(), folder)
