"""A database is read while an agent puts links, FIFOs and other folders in its way: no row of another database is read,
and nothing is written beside another one."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters import database_copies, database_reading, guarded_files
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.guarded_files import resolve_guarded
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.seams import held_folder
from support.exchanging import ExchangingFiles, everything_in, exchange, needs_exchange

pytestmark = needs_exchange
OWN, OTHER = "own row", "row of another database"


class Places:
    """`memory` holds the agent's database. It can change places with a link to `outside`, which holds another one."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.outside = folder / "outside"
        self.memory, self.swap = self.workspace / "memory", self.workspace / "swap"
        for place, text in ((self.memory, OWN), (self.outside, OTHER)):
            place.mkdir(parents=True)
            with closing(sqlite3.connect(place / "brain.db")) as made, made:
                made.execute("pragma journal_mode=wal")
                made.execute("create table rows(text)")
                made.execute("insert into rows values (?)", (text,))
        self.swap.symlink_to(self.outside)
        self.before = everything_in(self.outside)

    @property
    def database(self) -> Path:
        return self.memory / "brain.db"

    def exchange(self) -> None:
        exchange(self.memory, self.swap)

    def read(self, *, inside: bool = True) -> list[str]:
        return list(self.rows(inside=inside))

    def rows(self, *, inside: bool = True) -> Iterator[str]:
        workspace = self.workspace if inside else self.outside.parent / "elsewhere"
        return database_reading.read_database(self.database, texts, workspace=workspace)


def texts(opened: sqlite3.Connection) -> Iterator[str]:
    for (text,) in opened.execute("select text from rows order by rowid"):
        yield text


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return Places(tmp_path)


@pytest.fixture(params=["in one call", "by components"])
def walk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "by components":
        monkeypatch.setattr(held_folder, "load_openat2", lambda: None)


@pytest.mark.usefixtures("walk")
@pytest.mark.parametrize("inside", [True, False])
def test_a_database_is_read_in_the_workspace_and_beside_it(places: Places, inside: bool) -> None:
    assert places.read(inside=inside) == [OWN]


@pytest.mark.usefixtures("walk")
@pytest.mark.parametrize("inside", [True, False])
def test_a_database_in_use_is_read_as_it_is_now_and_nothing_beside_it_changes(places: Places, inside: bool) -> None:
    with closing(sqlite3.connect(places.database)) as writer, writer:
        writer.execute("insert into rows values ('in the log')")
        writer.commit()
        names = sorted(path.name for path in places.memory.iterdir())
        assert places.read(inside=inside) == [OWN, "in the log"]
        assert sorted(path.name for path in places.memory.iterdir()) == names


def test_a_log_that_a_killed_runtime_left_in_the_workspace_is_read(places: Places) -> None:
    with closing(sqlite3.connect(places.database)) as writer:
        writer.execute("insert into rows values ('in the log')")
        writer.commit()
        left = {name: (places.memory / name).read_bytes() for name in ("brain.db", "brain.db-wal")}
    for name, data in left.items():
        (places.memory / name).write_bytes(data)
    assert places.read() == [OWN, "in the log"]
    assert sorted(path.name for path in places.memory.iterdir()) == ["brain.db", "brain.db-wal"]


def test_a_copy_has_no_name_while_it_is_read(places: Places, tmp_path: Path) -> None:
    with closing(sqlite3.connect(places.database)) as writer:
        writer.execute("insert into rows values ('in the log')")
        writer.commit()
        rows = places.rows()
        assert next(rows) == OWN
        assert list((tmp_path / "temporary").iterdir()) == []
        rows.close()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("walk")
def test_no_link_in_the_workspace_is_followed(places: Places) -> None:
    places.exchange()
    with pytest.raises(RuntimeDatabaseError, match="contains a symbolic link, which Lifeboat does not follow"):
        places.read()
    places.exchange()
    places.database.unlink()
    places.database.symlink_to(places.outside / "brain.db")
    with pytest.raises(RuntimeDatabaseError, match="contains a symbolic link, which Lifeboat does not follow"):
        places.read()
    assert everything_in(places.outside) == places.before


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_no_link_beside_a_database_is_followed(places: Places, end: str) -> None:
    (places.outside / f"brain.db{end}").write_bytes(b"\0" * 100)
    places.database.with_name(f"brain.db{end}").symlink_to(places.outside / f"brain.db{end}")
    with pytest.raises(RuntimeDatabaseError, match="contains a symbolic link, which Lifeboat does not follow"):
        places.read()


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_a_fifo_makes_nobody_wait(places: Places, end: str, inside: bool) -> None:
    path = places.database.with_name(f"brain.db{end}")
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    if end:
        assert places.read(inside=inside) == [OWN]
    else:
        with pytest.raises(RuntimeDatabaseError, match="not a regular file"):
            places.read(inside=inside)


@pytest.mark.parametrize("in_use", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_no_row_of_another_database_is_read_when_its_folder_is_exchanged_before_sqlite_opens_it(
    places: Places, inside: bool, in_use: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite resolves the path itself, after all checks."""
    connect = sqlite3.connect

    def exchanged(*arguments: Any, **options: Any) -> sqlite3.Connection:
        places.exchange()
        try:
            return connect(*arguments, **options)
        finally:
            places.exchange()

    with closing(connect(places.database)) as writer, closing(connect(places.outside / "brain.db")) as other:
        if in_use:
            for each in (writer, other):
                each.execute("insert into rows values ('in the log')")
                each.commit()
        monkeypatch.setattr(sqlite3, "connect", exchanged)
        if inside:
            assert places.read() == [OWN, *(["in the log"] if in_use else [])]
        else:
            with pytest.raises(RuntimeDatabaseError, match="replaced while it was opened"):
                places.read(inside=False)


def test_what_another_thread_opens_meanwhile_makes_no_exchange(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread's file is open when the first connection is checked, and another file when the second one is."""
    connect, opened = sqlite3.connect, list[Any]()

    def beside(*arguments: Any, **options: Any) -> sqlite3.Connection:
        if len(opened) < 2:
            opened.append((tmp_path / f"of another thread {len(opened)}").open("wb"))
        return connect(*arguments, **options)

    monkeypatch.setattr(sqlite3, "connect", beside)
    try:
        assert places.read(inside=False) == [OWN]
        assert len(opened) == 2
    finally:
        for each in opened:
            each.close()


@pytest.mark.parametrize("every", [1, 2, 3, 5, 20])
def test_no_row_of_another_database_is_copied_while_its_folder_is_exchanged_again_and_again(
    places: Places, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, read = ExchangingFiles(places.workspace), 0
    files.before = lambda number: places.exchange() if number % every == 0 else None
    monkeypatch.setattr(guarded_files, "SystemFiles", lambda: files)
    for _ in range(24):
        try:
            assert places.read() == [OWN]
            read += 1
        except RuntimeDatabaseError:
            continue
    assert files.count > 24
    assert read or every < 20
    assert everything_in(places.outside) == places.before


def test_a_database_that_changes_while_it_is_copied_is_copied_again(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied, left = database_copies._copy_file, 2

    def changing(*arguments: Any) -> None:
        nonlocal left
        copied(*arguments)
        if left:
            left -= 1
            with closing(sqlite3.connect(places.database)) as writer, writer:
                writer.execute("insert into rows values (?)", (f"new {left}",))
            moment = places.database.stat().st_mtime_ns + 1_000_000_000
            os.utime(places.database, ns=(moment, moment))

    monkeypatch.setattr(database_copies, "_copy_file", changing)
    assert places.read() == [OWN, "new 1", "new 0"]
    left = 100
    with pytest.raises(RuntimeDatabaseError, match="changed while it was read"):
        places.read()


def test_a_link_above_the_workspace_or_beside_it_is_the_users_own(places: Places, tmp_path: Path) -> None:
    (tmp_path / "short").symlink_to(places.workspace)
    assert resolve_guarded(tmp_path / "short" / "memory" / "brain.db", tmp_path / "short") == places.database
    (tmp_path / "data").symlink_to("outside")
    assert resolve_guarded(tmp_path / "data" / "brain.db", places.workspace) == places.outside / "brain.db"


def test_a_link_of_the_user_that_leads_into_the_workspace_leads_no_further(places: Places, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(places.swap)
    found = resolve_guarded(tmp_path / "data" / "brain.db", places.workspace)
    assert found == places.swap / "brain.db"
    with pytest.raises(RuntimeDatabaseError, match="contains a symbolic link, which Lifeboat does not follow"):
        list(database_reading.read_database(tmp_path / "data" / "brain.db", texts, workspace=places.workspace))


def test_links_in_a_circle_end(places: Places, tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(RuntimeDatabaseError):
        list(database_reading.read_database(tmp_path / "one" / "brain.db", texts, workspace=places.workspace))


def test_a_small_file_of_the_workspace_is_not_read_through_a_link(places: Places) -> None:
    (places.outside / "one.jsonl").write_text(OTHER)
    (places.memory / "one.jsonl").symlink_to(places.outside / "one.jsonl")
    with pytest.raises(OSError, match="the path of the file contains a symbolic link"):
        read_small(places.memory / "one.jsonl", places.workspace)
    with pytest.raises(OSError, match="the path of the file contains a symbolic link"):
        read_small(places.swap / "one.jsonl", places.workspace)
    assert read_small(places.memory / "one.jsonl").decode() == OTHER
