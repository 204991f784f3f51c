"""The agent's own databases in a restored workspace: each is written with its log, or without one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lifeboat_core.restore import RestoreOptions, restore_agent, undo_restore
from lifeboat_core.verify import samples_and_drills
from support.core.database_writers import TABLE, many, rows_in, writer_of
from support.core.protected import Protected, protected_agent
from support.prepared_folders import PreparedFolders


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Protected:
    return prepared_folders.restore("agent just added", protected_agent)


@pytest.fixture
def database(ada: Protected) -> Path:
    """Return a database with 40 rows, as the last capture has it."""
    path = ada.workspace / "orders.db"
    with writer_of(path) as writer:
        writer.run("pragma journal_mode=wal", TABLE, many(40), "pragma wal_checkpoint(truncate)")
        writer.crash()
    for end in ("-wal", "-shm"):
        path.with_name(f"orders.db{end}").unlink()
    ada.capture()
    return path


def log_of(database: Path) -> Path:
    return database.with_name("orders.db-wal")


def test_rows_that_only_the_log_has_go_with_it_and_an_undo_brings_them_back(ada: Protected, database: Path) -> None:
    with ada.context.vault(ada.agent.id) as vault:
        head = vault.state().sequence.number
    captured = database.read_bytes()
    with writer_of(database) as writer:
        writer.run(many(5))
        writer.crash()
    assert database.read_bytes() == captured
    report = restore_agent(ada.context, ada.agent, RestoreOptions(at=head, yes=True, reindex=False))
    assert report.files["overwritten"] == 1
    assert not log_of(database).exists()
    assert rows_in(database) == 40
    undo_restore(ada.context, ada.agent)
    assert rows_in(database) == 45


def test_a_database_that_is_right_together_with_its_log_stays(ada: Protected, database: Path) -> None:
    with writer_of(database) as writer:
        writer.run(many(5))
        ada.capture()
        before = log_of(database).read_bytes()
        ada.write("SOUL.md", "# Soul\n\nAnother one.\n")
        report = restore_agent(ada.context, ada.agent, RestoreOptions(yes=True, reindex=False))
        assert (report.files["overwritten"], report.files["removed"]) == (1, 0)
        assert log_of(database).read_bytes() == before
    assert rows_in(database) == 45


def test_a_log_that_was_left_behind_alone_is_not_read_into_what_comes_back(ada: Protected, database: Path) -> None:
    with writer_of(database) as writer:
        writer.run(many(5))
        writer.crash()
    database.unlink()
    restore_agent(ada.context, ada.agent, RestoreOptions(path_globs=("orders.db",), yes=True, reindex=False))
    assert rows_in(database) == 40


def test_a_verification_opens_the_databases_that_it_restored(ada: Protected, database: Path) -> None:
    assert samples_and_drills.drill_vault(ada.context, ada.agent).ok
    data = bytearray(database.read_bytes())
    data[4096:5096] = bytes(1000)
    ada.write("orders.db", bytes(data))
    ada.capture()
    found = samples_and_drills.drill_vault(ada.context, ada.agent)
    assert (found.mismatches, len(found.damaged)) == ([], 1)
    shutil.rmtree(ada.workspace)
    (said,) = samples_and_drills.drill_vault(ada.context, ada.agent).mismatches
    assert said.startswith("orders.db: SQLite reports damage: ")


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_verification_compares_a_database_in_use_by_what_is_committed(
    ada: Protected, database: Path, mode: str
) -> None:
    with writer_of(database) as writer, writer_of(database) as reader:
        writer.run(f"pragma journal_mode={mode}", "pragma wal_autocheckpoint=0", many(500), "pragma wal_checkpoint")
        if mode == "wal":  # what the reader does not see yet cannot be written back
            reader.run("begin", "select count(*) from orders")
            writer.run("update orders set what = hex(randomblob(100))", "pragma wal_checkpoint")
            database.touch()
        else:
            writer.run("pragma cache_size=5", "begin", "delete from orders where id % 3 = 0")
        ada.capture()
        assert ada.kept()["orders.db"][1] != database.read_bytes()
        size, compared = len(ada.kept()["orders.db"][1]), samples_and_drills.drill_vault(ada.context, ada.agent)
        assert (compared.mismatches, size) == ([], database.stat().st_size)
