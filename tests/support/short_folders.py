"""Folders with short paths: a Unix socket's path has a limit of about 100 bytes, and TMPDIR may be long."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def short_folder() -> Iterator[Path]:
    """Make a folder whose path is short on every machine, and remove it at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="lb-", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def short() -> Iterator[Path]:
    """Yield a folder whose path is so short that the socket of a home in it fits the limit."""
    with short_folder() as folder:
        yield folder
