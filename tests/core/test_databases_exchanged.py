"""An agent replaces the folder of its memory database by a link: no other database is captured, and a restore replaces
none."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.restore import RestoreOptions, recover_restores, restore_agent
from lifeboat_core.restore.restore_undo import undo_restore
from support.adapters.zeroclaw_installs import Install
from support.core.zeroclaw_protected import ProtectedClaw
from support.exchanging import everything_in, exchange, needs_exchange

pytestmark = needs_exchange
EARLY = "0.5.9"
OUTSIDE = "remembered by somebody outside"


class Jail:
    """An agent of a release that keeps `memory/brain.db` in the workspace, and another database outside."""

    def __init__(self, folder: Path) -> None:
        self.ada = ProtectedClaw(folder, EARLY)
        self.install: Install = self.ada.install
        self.workspace, self.memory = self.install.workspace(), self.install.database.parent
        self.install.remember("first", "The first memory.")
        self.ada.add(name="ada")
        self.install.remember("second", "The second memory.")
        self.ada.capture()
        self.outside = folder / "outside"
        shutil.copytree(self.memory, self.outside)
        other = Install(folder / "other", EARLY)
        (folder / "other" / "workspace").mkdir(parents=True)
        (folder / "other" / "workspace" / "memory").symlink_to(self.outside)
        other.remember("third", OUTSIDE)
        self.swap = self.workspace / "swap"
        self.swap.symlink_to(self.outside)
        self.before = everything_in(self.outside)

    def exchange(self) -> None:
        exchange(self.memory, self.swap)

    def check(self) -> None:
        assert everything_in(self.outside) == self.before
        assert OUTSIDE not in self.ada.memories()

    def restore(self, at: int = 0) -> None:
        restore_agent(self.ada.context, self.ada.agent, RestoreOptions(at=at, yes=True, reindex=False))


@pytest.fixture
def jail(tmp_path: Path) -> Jail:
    return Jail(tmp_path)


def test_rows_of_a_database_behind_a_link_in_the_workspace_are_not_captured(jail: Jail) -> None:
    jail.exchange()
    report = jail.ada.capture(full=True)
    assert any("contains a symbolic link" in why for why in report.unread.values())
    jail.check()
    assert set(jail.ada.memories()) == {"The first memory.", "The second memory."}
    jail.exchange()
    assert jail.ada.capture(full=True).unread == {}


def test_a_database_behind_a_link_in_the_workspace_is_not_replaced_by_a_restore(jail: Jail) -> None:
    jail.exchange()
    with pytest.raises((LifeboatError, OSError), match="contains a symbolic link"):
        jail.restore()
    jail.check()


def test_a_database_is_not_made_behind_a_link_in_the_workspace(jail: Jail) -> None:
    """This also holds if there is no database behind the link."""
    for path in jail.outside.iterdir():
        path.unlink()
    jail.before = everything_in(jail.outside)
    jail.exchange()
    with contextlib.suppress(LifeboatError, OSError):
        jail.restore()
    jail.check()


@pytest.mark.parametrize("every", [1, 2, 3])
def test_no_row_outside_is_captured_and_none_written_while_the_folder_is_exchanged(
    jail: Jail, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exchange before SQLite opens something, each time or randomly."""
    connect, count = sqlite3.connect, 0

    def exchanged(*arguments: Any, **options: Any) -> sqlite3.Connection:
        nonlocal count
        count += 1
        if count % every == 0:
            jail.exchange()
        return connect(*arguments, **options)

    for at in (0, 1, 0):
        monkeypatch.setattr(sqlite3, "connect", exchanged)
        for work in (
            lambda: jail.ada.capture(full=True),
            lambda at=at: jail.restore(at),
            lambda: undo_restore(jail.ada.context, jail.ada.agent, force=True),
        ):
            with contextlib.suppress(LifeboatError, OSError):
                work()
        monkeypatch.setattr(sqlite3, "connect", connect)
        if jail.memory.is_symlink():
            jail.exchange()
        recover_restores(jail.ada.context)
        jail.check()
    assert count > 12
