"""The process ends at every step of a restore that writes a database: afterwards rows and files are wholly the old
ones or wholly the new ones, and an undo brings the old database back byte for byte."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from lifeboat_adapters.adapter_registry import load_adapter
from lifeboat_adapters.contract import Installation
from lifeboat_adapters.memory_stores import DatabaseWrite, WriteOrder
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_core.errors import RestoreError
from lifeboat_core.home.context import Context
from lifeboat_core.restore import RestoreOptions, RestoreReport, recover_restores, restore_agent, undo_restore
from support.alf.raising import raises_code
from support.core.migrating import Traveller, Tree, ada_in_zeroclaw, change, found_by, prepared_home, rows_of, tree_of
from support.killing import RESTORE_STEPS, killed_at
from support.prepared_folders import PreparedFolders

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="processes are killed as forks, which this system lacks"
)


class Ada(NamedTuple):
    """Ada in ZeroClaw at sequence 1; `first` is what she was at sequence 0, rows and files, `last` what she is."""

    traveller: Traveller
    home: Path
    database: Path
    first: tuple[list[JsonObject], Tree]
    last: tuple[list[JsonObject], Tree]

    def now(self) -> tuple[list[JsonObject], Tree]:
        return rows_of(self.database), _files(self.home)

    def restore(self, at: int) -> RestoreReport:
        return restore_agent(Context.open(), self.traveller.agent, RestoreOptions(at=at, yes=True, reindex=False))


def _files(home: Path) -> Tree:
    return {name: data for name, data in tree_of(home).items() if ".db" not in name}


@pytest.fixture(params=["0.8.3", "0.5.9"])
def ada(request: pytest.FixtureRequest, prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Ada:
    build = partial(_ada_with_two_sequences, generation=request.param)
    return prepared_home(prepared_folders, monkeypatch, f"ada in zeroclaw {request.param}", build)


def _ada_with_two_sequences(user: Path, folder: Path, generation: str) -> Ada:
    traveller, install = ada_in_zeroclaw(folder, generation)
    first = rows_of(install.database), _files(install.home)
    change(
        install.database,
        ("UPDATE memories SET content = 'Mooring 30 has broken loose.' WHERE key = 'mooring_30'", ()),
        ("DELETE FROM memories WHERE key = 'mooring_45'", ()),
    )
    (install.workspace(install.agents[0]) / "AGENTS.md").write_text("# AGENTS.md\n\nAsk before you read.\n")
    traveller.sync()
    return Ada(traveller, install.home, install.database, first, (rows_of(install.database), _files(install.home)))


def test_an_older_sequence_comes_back_with_its_rows(ada: Ada) -> None:
    report = ada.restore(0)
    assert ada.now() == ada.first
    assert report.undo
    assert found_by(ada.database, '"broken loose"') == []
    assert ada.traveller.sync()["changed"] is False


@pytest.mark.parametrize("step", RESTORE_STEPS)
def test_a_restore_that_is_killed_is_all_old_or_all_new(ada: Ada, step: CrashPoint) -> None:
    reached = 0
    for nth in range(1, 10):
        if not killed_at(lambda: ada.restore(0), step, nth):
            break
        reached += 1
        recover_restores(Context.open())
        assert ada.now() in (ada.first, ada.last)
        ada.restore(1)
        assert ada.now() == ada.last
    assert reached, f"{step} was never reached"


def test_an_undo_brings_the_database_back_byte_for_byte(ada: Ada) -> None:
    before = ada.database.read_bytes()
    ada.restore(0)
    assert ada.database.read_bytes() != before
    undo_restore(Context.open(), ada.traveller.agent)
    assert ada.database.read_bytes() == before
    assert ada.now() == ada.last


@pytest.mark.parametrize(
    "problem", [OSError(errno.ENOSPC, "No space left on device"), sqlite3.OperationalError("database or disk is full")]
)
def test_a_full_disk_while_the_database_is_written_changes_nothing(
    ada: Ada, problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree_of(ada.home)
    databases = load_adapter("zeroclaw").databases
    assert databases is not None
    planned = databases.plan_writes

    def refuse(path: Path) -> None:
        path.write_bytes(b"half a database")
        raise problem

    def failing(installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
        return [replace(write, write=refuse) for write in planned(installation, order)]

    monkeypatch.setattr(type(databases), "plan_writes", staticmethod(failing))
    with raises_code(RestoreError.RESTORE_FAILED):
        ada.restore(0)
    assert tree_of(ada.home) == before
    assert [path for path in ada.home.rglob("*lifeboat*") if path.is_file()] == []


def test_nothing_is_left_beside_the_database(ada: Ada) -> None:
    ada.restore(0)
    beside = {path.name for path in ada.database.parent.iterdir() if path.name.startswith("brain.db")}
    assert beside == {"brain.db"}
    with closing(sqlite3.connect(ada.database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
