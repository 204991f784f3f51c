"""The agent's own databases: each capture has one committed state of them, and leaves nothing beside them."""

from __future__ import annotations

import errno
import os
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_adapters import database_checks
from lifeboat_adapters.stable_reads import file_reading, sqlite_files
from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_core.verify import samples_and_drills
from support.core.database_writers import SPILLING, TABLE, many, rows_in, writer_of
from support.core.protected import Protected, protected_agent
from support.failing_files import FailingFiles
from support.prepared_folders import PreparedFolders

LIMIT = 64 << 20


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Protected:
    return prepared_folders.restore("agent just added", protected_agent)


@pytest.fixture
def database(ada: Protected) -> Path:
    return ada.workspace / "orders.db"


def kept(ada: Protected) -> bytes:
    return bytes(ada.kept()["orders.db"][1])


def restored(ada: Protected, folder: Path, name: str = "orders.db") -> Path:
    restore_agent(ada.context, ada.agent, RestoreOptions(to=folder / "workspace", reindex=False))
    return folder / "workspace" / name


def paths_of(ada: Protected) -> list[str]:
    """Return the archive paths of the newest sequence."""
    with ada.context.vault(ada.agent.id) as vault:
        return [entry.path for entry in vault.state().entries()]


def beside(database: Path) -> dict[str, tuple[int, int, int]]:
    """Return the files of a database that a write into it changes."""
    found = {path.name: path.stat() for path in database.parent.glob(f"{database.name}*")}
    return {name: (each.st_size, each.st_mtime_ns, each.st_ino) for name, each in found.items()}


def test_rows_that_are_in_the_log_alone_are_captured(ada: Protected, database: Path, tmp_path: Path) -> None:
    with writer_of(database) as writer:
        writer.run("pragma journal_mode=wal", TABLE, "pragma wal_checkpoint(truncate)")
        ada.capture()
        writer.run(many(900))
        before = beside(database)
        assert ada.capture().changed
        assert beside(database) == before
        assert not ada.capture().changed
    assert rows_in(restored(ada, tmp_path)) == 900


def test_what_a_program_that_crashed_had_committed_is_captured(ada: Protected, database: Path, tmp_path: Path) -> None:
    with writer_of(database) as writer:
        writer.run("pragma journal_mode=wal", TABLE, many(40))
        writer.crash()
    database.with_name("orders.db-shm").unlink()
    before = beside(database)
    ada.capture()
    assert beside(database) == before
    assert rows_in(restored(ada, tmp_path)) == 40


def test_a_log_that_is_written_back_is_no_change(ada: Protected, database: Path) -> None:
    with writer_of(database) as writer:
        writer.run("pragma journal_mode=wal", TABLE, many(40))
        ada.capture()
        first = kept(ada)
        writer.run("pragma wal_checkpoint(truncate)")
    ada.capture()
    assert kept(ada) == first == database.read_bytes()


@pytest.mark.parametrize("is_crashed", [False, True], ids=["open", "interrupted"])
def test_a_transaction_that_was_written_in_part_is_not_captured(
    ada: Protected, database: Path, tmp_path: Path, *, is_crashed: bool
) -> None:
    with writer_of(database) as writer:
        writer.run(TABLE, many(2000), "create index whats on orders(what)")
        committed = database.read_bytes()
        writer.run(*SPILLING, "delete from orders where id % 3 = 0")
        if is_crashed:
            writer.crash()
        assert database.read_bytes() != committed
        before = beside(database)
        report = ada.capture()
        assert (report.changed, report.unstable, report.unread) == (True, {}, {})
        assert beside(database) == before
    assert rows_in(restored(ada, tmp_path)) == 2000


def test_an_open_transaction_does_not_make_a_verification_fail(ada: Protected, database: Path) -> None:
    with writer_of(database) as writer:
        writer.run(TABLE, many(2000), "pragma cache_size=5", "begin", "update orders set what = hex(randomblob(20))")
        ada.capture()
        assert len(kept(ada)) == database.stat().st_size
        assert kept(ada) != database.read_bytes()
        assert samples_and_drills.drill_vault(ada.context, ada.agent).mismatches == []


def test_a_database_at_rest_comes_back_byte_for_byte(ada: Protected, database: Path, tmp_path: Path) -> None:
    for mode in ("delete", "wal"):
        with closing(sqlite3.connect(database, isolation_level=None)) as connection:
            connection.execute(f"pragma journal_mode={mode}")
            connection.execute(f"create table {mode}_rows(x)")
        ada.capture()
        assert [*beside(database)] == ["orders.db"]
        assert restored(ada, tmp_path / mode).read_bytes() == database.read_bytes()


def test_a_database_is_known_by_its_header_and_its_log_is_no_file_of_its_own(
    ada: Protected, database: Path, tmp_path: Path
) -> None:
    path = database.with_name("memory.dat")
    ada.write("notes-wal", "A note about waves, beside no database.\n")
    ada.write("tides-wal", "As this one.\n")
    ada.write("tides", "A note.\n")
    with writer_of(path) as writer:
        writer.run("pragma journal_mode=wal", TABLE, many(7))
        report = ada.capture()
    assert "artifacts/memory.dat-wal" not in report.left_out
    names = {"memory.dat", "notes-wal", "tides", "tides-wal"}
    assert {name for name in ada.kept() if not name.endswith(".md")} == names
    assert report.skipped["raw/openclaw/memory.dat-wal"] == "a journal file of a database"
    assert rows_in(restored(ada, tmp_path, "memory.dat")) == 7


def test_a_folder_with_the_name_of_a_log_is_captured_as_a_folder(ada: Protected, database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(TABLE)
    ada.write("orders.db-journal/note.txt", "A note.\n")
    os.utime(database, (0, 0))  # SQLite cannot open it beside this folder
    assert ada.capture().complete
    assert {"orders.db", "orders.db-journal/note.txt"} <= ada.kept().keys()


def test_counters_in_the_header_are_no_change(ada: Protected, database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(TABLE)
    ada.capture()
    first = kept(ada)
    data = bytearray(first)
    data[27] ^= 1
    data[95] ^= 1
    ada.write("orders.db", bytes(data))
    assert not ada.capture().changed
    data[-1] ^= 1
    ada.write("orders.db", bytes(data))
    assert ada.capture().changed


def test_rights_that_change_together_with_the_counters_are_captured(ada: Protected, database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(TABLE)
    ada.capture()
    first = kept(ada)
    data = bytearray(first)
    data[27] ^= 1
    ada.write("orders.db", bytes(data), mode=0o600)
    assert ada.capture().changed
    assert (kept(ada), (ada.meta("artifacts/orders.db") or {})["private"]) == (first, True)
    assert not ada.capture().changed


def test_a_first_transaction_that_was_written_in_part_is_not_captured(
    ada: Protected, database: Path, tmp_path: Path
) -> None:
    with writer_of(database) as writer:
        writer.run("pragma cache_size=5", "begin", TABLE, many(3000))
        assert database.stat().st_size > 0
        report = ada.capture()
        assert (report.unstable, report.unread, kept(ada)) == ({}, {}, b"")
        writer.run("commit")
    ada.capture()
    assert rows_in(restored(ada, tmp_path)) == 3000


def test_what_only_begins_like_a_database_is_kept_as_it_is(ada: Protected, database: Path) -> None:
    ada.write("orders.db", sqlite_files.HEADER + b"no more than that".ljust(1008, b"."))
    ada.capture()
    assert kept(ada) == database.read_bytes()


def test_a_log_larger_than_a_file_may_be_is_named(database: Path, tmp_path: Path) -> None:
    with writer_of(database) as writer:
        writer.run("pragma journal_mode=wal", TABLE, many(900))
        with pytest.raises(file_reading.OverLimit):
            sqlite_files.read_database(SystemFiles(), database, 100_000, tmp_path / "scratch")
    assert list((tmp_path / "scratch").iterdir()) == []


class Interrupting(SystemFiles):
    """Lets a program continue after the database was copied and before its log is."""

    def __init__(self, writer: object) -> None:
        self.steps = [lambda: writer.run("pragma wal_checkpoint(restart)", many(5))]  # type: ignore[attr-defined]

    def write_new(self, path: StrPath, data: bytes, *, mode: int = 0o666, sync: bool = True) -> None:
        super().write_new(path, data, mode=mode, sync=sync)
        if os.fspath(path).endswith("database") and self.steps:
            self.steps.pop()()


def test_a_log_that_begins_again_while_it_is_copied_is_copied_again(database: Path, tmp_path: Path) -> None:
    with writer_of(database) as writer:
        writer.run("pragma journal_mode=wal", TABLE, many(900))
        files = Interrupting(writer)
        found = sqlite_files.read_database(files, database, LIMIT, tmp_path / "scratch")
    assert files.steps == []
    (tmp_path / "copy.db").write_bytes(found.data)
    assert rows_in(tmp_path / "copy.db") == 905


def test_a_locked_database_without_a_journal_waits_until_it_was_left_alone(database: Path, tmp_path: Path) -> None:
    with writer_of(database) as writer:
        writer.run("pragma journal_mode=memory", "pragma locking_mode=exclusive", TABLE, many(5))
        with pytest.raises(file_reading.Unstable):
            sqlite_files.read_database(SystemFiles(), database, LIMIT, tmp_path / "scratch")
        os.utime(database, (0, 0))
        found = sqlite_files.read_database(SystemFiles(), database, LIMIT, tmp_path / "scratch")
    assert found.data == database.read_bytes()


def test_a_transaction_that_keeps_no_journal_is_not_captured_in_part(database: Path, tmp_path: Path) -> None:
    with writer_of(database) as writer:
        writer.run("pragma journal_mode=memory", TABLE, many(2000), "create index whats on orders(what)", *SPILLING)
        os.utime(database, (1, 1))
        with pytest.raises(file_reading.Unstable):
            sqlite_files.read_database(SystemFiles(), database, LIMIT, tmp_path / "scratch")
        writer.run("rollback")
    assert (
        sqlite_files.read_database(SystemFiles(), database, LIMIT, tmp_path / "scratch").data == database.read_bytes()
    )


def test_a_locked_database_of_the_future_was_left_alone(database: Path, tmp_path: Path) -> None:
    with writer_of(database) as writer:
        writer.run("pragma locking_mode=exclusive", TABLE, many(10))
        os.utime(database, (1 << 33, 1 << 33))
        found = sqlite_files.read_database(SystemFiles(), database, LIMIT, tmp_path / "scratch")
    assert found.data == database.read_bytes()


def test_what_stands_where_a_log_would_and_is_no_file_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "a-wal").mkdir()
    os.mkfifo(tmp_path / "b-wal")
    (tmp_path / "c-wal").symlink_to("c-wal")
    (tmp_path / "file").touch()
    found = [sqlite_files.has_log(SystemFiles(), tmp_path / name) for name in ("a", "b", "c", "file/in.md")]
    assert found == [False] * 4


@pytest.mark.parametrize("nth", [1, 2])
def test_a_database_that_cannot_be_read_for_a_moment_is_named_and_its_log_is_no_file_of_its_own(
    ada: Protected, tmp_path: Path, nth: int
) -> None:
    database = ada.workspace / "orders"
    with writer_of(database) as writer:
        writer.run("pragma journal_mode=wal", TABLE, many(9))
        ada.files = failing = FailingFiles(errno.EIO)
        left = [nth]

        def refuses(name: str, path: str) -> bool:
            left[0] -= name == "open_regular" and path == str(database)
            return left[0] == 0 and name == "open_regular" and path == str(database)

        failing.refuses = refuses
        report = ada.capture()
        assert failing.fired == 1
        assert not report.complete
        assert not any("orders-" in path for path in paths_of(ada))
        failing.heal()
        assert ada.capture().complete
        assert not any("orders-" in path for path in paths_of(ada))
    assert rows_in(restored(ada, tmp_path, "orders")) == 9


def test_a_link_beside_what_is_named_like_a_log_hinders_no_capture(ada: Protected) -> None:
    (ada.workspace / "orders").symlink_to("MEMORY.md")
    ada.write("orders-wal", "no log\n")
    assert ada.capture().complete
    assert {"orders", "orders-wal"} <= {path.rpartition("/")[2] for path in paths_of(ada)}


def leave_journal(database: Path, super_journal: Path) -> None:
    """Leave the journal of an interrupted transaction of several databases: it rolls this database back to its present
    state, and names the file whose removal would have committed the transaction."""
    body, magic, nonce = database.read_bytes(), bytes.fromhex("d9d505f920a163d7"), 12345
    size = int.from_bytes(body[16:18], "big")
    page = body[:size]
    check = (nonce + sum(page[place] for place in range(size - 200, 0, -200))) & 0xFFFFFFFF
    header = magic + struct.pack(">IIIII", 1, nonce, len(body) // size, 512, size)
    name = os.fsencode(super_journal)
    end = struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    journal = header.ljust(512, b"\0") + struct.pack(">I", 1) + page + struct.pack(">I", check) + end
    database.with_name(f"{database.name}-journal").write_bytes(journal)


def with_changed_header(database: Path) -> bytes:
    """Write a page as a transaction would; return what was there before."""
    before = database.read_bytes()
    database.write_bytes(before[:60] + b"\1" + before[61:])  # the user version
    return before


@pytest.mark.parametrize("times", [1, 2])
def test_a_capture_removes_no_file_that_a_journal_names(
    ada: Protected, database: Path, tmp_path: Path, times: int
) -> None:
    """SQLite removes a super-journal that no database needs, and the agent can write any path into its journal."""
    with writer_of(database) as writer:
        writer.run(TABLE, many(40))
    keys = tmp_path / "authorized_keys"
    keys.write_text("ssh-ed25519 AAAA user\n")
    leave_journal(database, keys)
    if times == 2:
        journal = database.with_name("orders.db-journal")
        end = journal.read_bytes()[-(20 + len(os.fsencode(keys))) :]
        journal.write_bytes(journal.read_bytes() + end)
    before = with_changed_header(database)
    ada.capture()
    assert keys.read_text() == "ssh-ed25519 AAAA user\n"
    assert kept(ada)[60] == before[60]


def test_a_transaction_of_several_databases_is_committed_once_its_super_journal_is_gone(
    ada: Protected, database: Path, tmp_path: Path
) -> None:
    with writer_of(database) as writer:
        writer.run(TABLE, many(40))
    leave_journal(database, tmp_path / "gone-mj1")
    changed = with_changed_header(database)
    ada.capture()
    assert (changed[60], kept(ada)[60]) == (0, 1)


def _make_costly(path: Path, letters: int) -> None:
    """Make a database whose check computes this many letters for each of 200 rows."""
    column = f"b int not null as (length(hex(zeroblob({letters} + a))))"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t(a)")
        connection.executemany("insert into t values (?)", [(number,) for number in range(200)])
        connection.execute("pragma writable_schema = on")  # what has no rows yet costs nothing
        connection.execute("update sqlite_master set sql = ?", (f"create table t(a, {column})",))


def test_a_database_that_is_costly_to_check_is_checked_for_a_while_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_checks, "SECONDS", 0.0)
    _make_costly(tmp_path / "costly.db", 400_000)
    for damage in (
        sqlite_files.find_damage(tmp_path / "costly.db"),
        sqlite_files.find_damage_in((tmp_path / "costly.db").read_bytes()),
    ):
        assert damage == "SQLite did not finish its check of the database within 0 seconds"


@pytest.mark.parametrize(
    "computed",
    [
        "instr(a, substr(a, 1, length(a) / 2) || 'b')",
        "replace(a, substr(a, 1, length(a) / 2) || 'b', '')",
        "replace(a, 'a', substr(a, 1, 10000))",
        "trim('b' || a, substr(a, 1, length(a) / 2) || 'b')",
    ],
)
def test_a_check_calls_no_function_that_compares_for_hours(tmp_path: Path, computed: str) -> None:
    path = tmp_path / "costly.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t(a)")
        connection.execute("insert into t values (?)", ("a" * 20_000_000,))
        connection.execute("pragma writable_schema = on")
        connection.execute("update sqlite_master set sql = ?", (f"create table t(a, b not null as ({computed}))",))
    assert sqlite_files.find_damage(path) == "string or blob too big"


def test_a_check_calls_functions_of_usual_values(tmp_path: Path) -> None:
    path = tmp_path / "usual.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "create table t(a check (a like 'A!%%' escape '!' and a glob 'a*' and trim(a, 'x') = a),"
            " b not null as (instr(a, 'b') || replace(a, 'a', 'c')))"
        )
        connection.executemany("insert into t values (?)", [("a%b",), ("A%\0b".lower(),)])
    assert sqlite_files.find_damage(path) is None


def test_a_check_computes_no_value_that_is_larger_than_any_in_the_database(tmp_path: Path) -> None:
    _make_costly(tmp_path / "costly.db", 300_000_000)
    assert sqlite_files.find_damage(tmp_path / "costly.db") == "string or blob too big"
