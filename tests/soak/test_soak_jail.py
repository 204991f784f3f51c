"""An agent that may write its workspace and nothing else tries to lead Lifeboat out of it.

1,000 random exchanges, links, hard links, FIFOs and renames while captures, restores, undos and purges are at work: no
byte outside is written, none is read, also of databases. Where the test runs as root, the agent has another user id.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lifeboat_alf.purging import Wanted
from lifeboat_daemon.purge import places, workspace
from lifeboat_daemon.restore import RestoreOptions, recover, restore
from lifeboat_daemon.restore.undo import undo
from support.adapters.zeroclaw_installs import Install, make_database
from support.daemon.jailed_agent import NAMES, OUTSIDE, Cell, attacked
from support.daemon.protected import Protected
from support.daemon.purged_here import purge
from support.daemon.zeroclaw_protected import ProtectedClaw
from support.exchanging import needs_exchange

pytestmark = needs_exchange
EARLY = "0.5.9"
"""A release of ZeroClaw that keeps its databases in the workspace."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that another user can pass, which the one that pytest makes for each test is not."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        path = Path(name).resolve()
        path.chmod(0o711)
        yield path


def works(ada: Protected | ProtectedClaw) -> dict[str, Callable[[], object]]:
    def cut() -> None:
        with ada.context.vault(ada.agent.id) as vault:
            workspace.cut(ada.context, ada.agent, vault, workspace.plan(ada.context, ada.agent, vault))

    first = RestoreOptions(at=0, yes=True, reindex=False)
    return {
        "capture": lambda: ada.capture(full=True),
        "restore": lambda: restore(ada.context, ada.agent, first),
        "undo": lambda: undo(ada.context, ada.agent, force=True),
        "purge": cut,
        "search": lambda: places.look(ada.context, ada.agent, Wanted((OUTSIDE,))),
        "recover": lambda: recover(ada.context),
    }


def write_outside(outside: Path) -> None:
    for name in NAMES:
        (outside / name).parent.mkdir(parents=True, exist_ok=True)
        (outside / name).write_text(f"{OUTSIDE} {name}\n")


def in_openclaw(folder: Path) -> Protected:
    ada = Protected(folder, config='{"agents": {"entries": {"main": {"name": "Ada"}}}}')
    for name in NAMES:
        ada.write(f"notes/{name}", f"first {name}\n")
    (ada.workspace / "spare").mkdir()
    ada.add(name="ada")
    ada.write("notes/one.md", "second one.md\n")
    ada.write_config('{"agents": {"entries": {"main": {"name": "Ada", "model": "example"}}}}')
    ada.capture()
    write_outside(folder / "outside")
    return ada


def assert_nothing_outside_is_kept(ada: Protected | ProtectedClaw) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        for row in vault.sequences():
            state = vault.state(row.number)
            assert not any(OUTSIDE.encode() in record.line for record in state.records())
            paths = (entry.path for entry in state.entries() if entry.sha256 is not None)
            assert not any(OUTSIDE.encode() in state.body(path) for path in paths)


@pytest.mark.parametrize("seed", [1, 2])
def test_no_byte_outside_is_written_or_read(folder: Path, seed: int) -> None:
    ada = in_openclaw(folder)
    purge(ada, texts=["first one.md"])
    (ada.workspace / "swap").symlink_to(folder / "outside")
    cell = Cell(
        ada.workspace,
        folder / "outside",
        ("notes", "notes/inner", "swap", "spare"),
        (*(f"notes/{name}" for name in NAMES), "spare/one.md", "rows.db", "rows.db-journal", "MEMORY.md"),
    )
    cell.open_to_everybody()
    done = attacked(cell, works(ada), seed)
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


DATABASE_NAMES = ("brain.db", "one.md", "inner/brain.db")


@pytest.mark.parametrize("seed", [1, 2])
def test_no_row_outside_is_read_and_no_database_outside_is_written(folder: Path, seed: int) -> None:
    ada = ProtectedClaw(folder, EARLY)
    space, database = ada.install.workspace(), ada.install.database
    ada.install.remember("first", "The first memory.")
    ada.add(name="ada")
    ada.install.remember("second", "The second memory.")
    ada.capture()
    outside = folder / "outside"
    write_outside(outside)
    other = Install(folder / "other", EARLY)
    make_database(other.database, EARLY)
    other.remember("third", OUTSIDE)
    for name in ("brain.db", "inner/brain.db"):
        (outside / name).write_bytes(other.database.read_bytes())
    for name in ("spare", "notes", "good"):
        (space / name).mkdir(exist_ok=True)
    (space / "good" / "brain.db").write_bytes(database.read_bytes())
    (space / "swap").symlink_to(outside)
    beside = tuple(f"memory/brain.db{end}" for end in ("", "", "-wal", "-shm", "-journal"))
    cell = Cell(space, outside, ("memory", "memory", "notes", "swap", "spare"), (*beside, "notes/one.md"))
    cell.open_to_everybody()
    done = attacked(cell, works(ada), seed, read=DATABASE_NAMES)
    assert {"capture", "search", "recover"} <= set(done), done
    assert_nothing_outside_is_kept(ada)
