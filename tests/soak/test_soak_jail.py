"""An agent that may write its workspace and nothing else tries to lead Lifeboat out of it.

1,000 random exchanges, links, hard links, FIFOs and renames while captures, restores, undos and purges are at work: no
byte outside is written, none is read, also of databases. Where the test runs as root, the agent has another user id.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.core.jailed_agent import (
    DATABASE_NAMES,
    NAMES,
    Cell,
    assert_nothing_outside_is_kept,
    attacked,
    cell_of_openclaw,
    in_openclaw,
    in_zeroclaw,
    works,
)
from support.core.purged_here import purge
from support.exchanging import needs_exchange

pytestmark = needs_exchange


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that another user can pass, which the one that pytest makes for each test is not."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        path = Path(name).resolve()
        path.chmod(0o711)
        yield path


@pytest.mark.parametrize("seed", [1, 2])
def test_no_byte_outside_is_written_or_read(folder: Path, seed: int) -> None:
    ada = in_openclaw(folder)
    purge(ada, texts=["first one.md"])
    done = attacked(cell_of_openclaw(ada), works(ada), seed)
    assert {"capture", "search", "purge", "recover"} <= set(done), done
    assert_nothing_outside_is_kept(ada)


@pytest.mark.parametrize("seed", [1, 2])
def test_no_byte_outside_is_written_by_an_agent_that_may_change_its_runtimes_folder(folder: Path, seed: int) -> None:
    """There a link that the user made is read, so reading is not asserted; nothing of it is kept."""
    ada = in_openclaw(folder)
    (ada.state_dir / "spare").mkdir()
    (ada.state_dir / "cron").mkdir()
    (ada.state_dir / "swap").symlink_to(folder / "outside")
    cell = Cell(
        ada.state_dir,
        folder / "outside",
        ("workspace/notes", "workspace/notes/inner", "swap", "spare", "cron", "agents"),
        (*(f"workspace/notes/{name}" for name in NAMES), "openclaw.json", ".env", "cron/jobs.json"),
    )
    cell.open_to_everybody()
    done = attacked(cell, works(ada), seed, read=None)
    assert {"capture", "recover"} <= set(done), done
    assert_nothing_outside_is_kept(ada)


@pytest.mark.parametrize("seed", [1, 2])
def test_no_row_outside_is_read_and_no_database_outside_is_written(folder: Path, seed: int) -> None:
    ada, cell = in_zeroclaw(folder)
    done = attacked(cell, works(ada), seed, read=DATABASE_NAMES)
    assert {"capture", "search", "recover"} <= set(done), done
    assert_nothing_outside_is_kept(ada)
