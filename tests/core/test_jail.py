"""A short turn of the jail that tests/soak/test_soak_jail.py keeps up for 1,000 attempts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.core.jailed_agent import (
    DATABASE_NAMES,
    assert_nothing_outside_is_kept,
    attacked,
    cell_of_openclaw,
    in_openclaw,
    in_zeroclaw,
    works,
)
from support.exchanging import needs_exchange

pytestmark = needs_exchange
ATTEMPTS = 60


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that another user can pass, which the one that pytest makes for each test is not."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        path = Path(name).resolve()
        path.chmod(0o711)
        yield path


def test_no_byte_outside_a_workspace_is_written_or_read(folder: Path) -> None:
    ada = in_openclaw(folder)
    attacked(cell_of_openclaw(ada), works(ada), 3, attempts=ATTEMPTS)
    assert_nothing_outside_is_kept(ada)


def test_no_row_outside_a_workspace_is_read_and_no_database_there_is_written(folder: Path) -> None:
    ada, cell = in_zeroclaw(folder)
    attacked(cell, works(ada), 3, attempts=ATTEMPTS, read=DATABASE_NAMES)
    assert_nothing_outside_is_kept(ada)
