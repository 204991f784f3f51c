"""A memory database that cannot be read is not a deletion, and nothing is left beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from support.core.zeroclaw_protected import ProtectedClaw
from support.prepared_folders import PreparedFolders

LATELY = "2026-11-10T08:00:00+00:00"


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> ProtectedClaw:
    return prepared_folders.restore("agent whose database fails", _agent_with_two_rows)


def _agent_with_two_rows(folder: Path) -> ProtectedClaw:
    made = ProtectedClaw(folder)
    made.install.remember("tea", "Likes green tea", created_at=LATELY)
    made.install.remember("boat", "The red boat", created_at=LATELY)
    made.add()
    return made


def gone(database: Path) -> None:
    database.unlink()


def empty(database: Path) -> None:
    database.write_bytes(b"")


def rubbish(database: Path) -> None:
    database.write_bytes(b"no database at all " * 500)


def cut_short(database: Path) -> None:
    data = database.read_bytes()
    database.write_bytes(data[: len(data) // 3])


def another_schema(database: Path) -> None:
    database.unlink()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("create table memories_v9(x)")
        connection.commit()


def without_its_log(database: Path) -> None:
    """Leave a log without its index, as a crash and a careless copy do."""
    Path(f"{database}-wal").write_bytes(b"\0" * 4096)


@pytest.mark.parametrize("broken", [gone, empty, rubbish, cut_short, another_schema, without_its_log])
@pytest.mark.parametrize("caches", ["kept", "lost"])
def test_a_database_that_cannot_be_read_loses_nothing(
    ada: ProtectedClaw, broken: Callable[[Path], None], caches: str
) -> None:
    database = ada.install.database
    whole, memories = database.read_bytes(), ada.memories()
    broken(database)
    if caches == "lost":
        ada.lose_caches()
    report = ada.capture()
    assert ada.memories() == memories
    assert any("brain" in name or "db/" in name for name in report.unread), report.unread
    Path(f"{database}-wal").unlink(missing_ok=True)
    database.write_bytes(whole)
    ada.install.remember("dog", "A dog called Rex", created_at=LATELY)
    report = ada.capture()
    assert (report.records, report.unread) == ({"created": 1}, {})


def test_a_database_that_never_was_there_is_no_error(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    ada.install.database.unlink()
    report = ada.add()
    assert not [name for name in report.unread if "memory" in name or "memories" in name]


def test_a_database_that_somebody_locks_keeps_its_last_rows(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    ada.install.remember("tea", "Likes green tea", created_at=LATELY)
    ada.add()
    with closing(ada.install.connect()) as writer:
        writer.execute("pragma locking_mode=exclusive")
        writer.execute("update memories set content = 'Likes black tea'")
        writer.commit()
        report = ada.capture()
        assert set(ada.memories()) == {"Likes green tea"}
        assert report.unread
    ada.capture()
    assert set(ada.memories()) == {"Likes black tea"}


def test_a_database_that_is_being_written_is_read_as_it_was_committed(ada: ProtectedClaw) -> None:
    with closing(ada.install.connect()) as writer:
        writer.execute("update memories set content = 'The blue boat' where key = 'boat'")
        writer.commit()
        writer.execute("begin immediate")
        writer.execute("delete from memories")
        report = ada.capture()
        writer.rollback()
    assert (report.records, report.unread) == ({"updated": 1}, {})
    assert set(ada.memories()) == {"Likes green tea", "The blue boat"}


def test_a_database_without_a_log_is_not_read_in_the_middle_of_a_write(ada: ProtectedClaw) -> None:
    ada.install.execute("pragma journal_mode=delete")
    ada.capture()
    with closing(ada.install.connect()) as writer:
        writer.execute("pragma cache_size=1")
        writer.execute("begin immediate")
        writer.execute("update memories set content = content || hex(zeroblob(50000))")
        writer.execute("delete from memories")
        report = ada.capture()
        assert report.unread and not report.changed
        writer.rollback()
    assert not ada.capture().unread


@pytest.mark.parametrize("in_use", [False, True])
@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_nothing_is_left_beside_the_database(ada: ProtectedClaw, journal: str, in_use: bool) -> None:
    ada.install.execute(f"pragma journal_mode={journal}")
    writer = ada.install.connect()
    try:
        writer.execute("insert into memory_meta values ('x', 'y')")
        writer.commit()
        if not in_use:
            writer.close()
        before = ada.listing()
        folder = os.stat(ada.install.database.parent).st_mtime_ns
        ada.install.home.joinpath("config.toml").touch()
        ada.capture()
        ada.capture(full=True)
        ada.lose_caches()
        ada.capture()
        assert ada.listing() == before
        assert os.stat(ada.install.database.parent).st_mtime_ns == folder
    finally:
        writer.close()


def test_unknown_tables_and_columns_stop_nothing(ada: ProtectedClaw) -> None:
    ada.install.execute("create table memory_graph(a, b)")
    ada.install.execute("alter table memories add column depth real")
    ada.install.remember("dog", "A dog called Rex", depth=0.25, created_at=LATELY)
    report = ada.capture()
    assert (report.records, report.unread) == ({"created": 1}, {})
    assert ada.memories()["A dog called Rex"]["raw_source_format"]["zeroclaw"]["row"]["depth"] == 0.25


def test_rows_without_an_id_are_named(ada: ProtectedClaw) -> None:
    ada.install.remember("dog", "A dog called Rex", id=None, created_at=LATELY)
    assert ada.capture().unread == {"memory/brain.db": "1 row without an id, which Lifeboat cannot capture"}
    assert ada.capture().unread == {"memory/brain.db": "1 row without an id, which Lifeboat cannot capture"}


def test_a_damaged_shadow_is_made_anew(ada: ProtectedClaw) -> None:
    with closing(sqlite3.connect(ada.context.home.state_file(ada.agent.id))) as connection:
        connection.execute("pragma writable_schema=on")
        connection.execute("update sqlite_master set rootpage = 99999 where name = 'shadow'")
        connection.commit()
    ada.install.execute("update memories set content = 'The blue boat' where key = 'boat'")
    assert ada.capture().records == {"updated": 1}
