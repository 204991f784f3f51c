"""Databases that are many files: one state of all of them, or the former one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_core.capture import multi_file_stores
from support.core.protected import Protected

LEVEL = ("index/CURRENT", "index/MANIFEST-000001", "index/000003.ldb", "index/000004.log")
LANCE = ("vectors/notes.lance/_versions/1.manifest", "vectors/notes.lance/data/a.lance")
DUCK = ("facts.duckdb", "facts.duckdb.wal")


class Watched(SystemFiles):
    """Calls a function once, when a file of some name is read."""

    def __init__(self) -> None:
        self.when: dict[str, object] = {}

    def open_regular(self, path: StrPath) -> int:
        happens = self.when.pop(os.path.basename(os.fspath(path)), None)
        if callable(happens):
            happens()
        return super().open_regular(path)


@pytest.fixture
def files() -> Watched:
    return Watched()


@pytest.fixture
def ada(tmp_path: Path, files: Watched) -> Protected:
    made = Protected(tmp_path, files=files)
    made.add()
    return made


def write(ada: Protected, names: tuple[str, ...], text: str) -> None:
    for name in names:
        ada.write(name, f"{text} of {name}")


def kept(ada: Protected, names: tuple[str, ...]) -> set[str]:
    found = ada.kept()
    return {found[name][1].decode().split()[0] for name in names if name in found}


@pytest.mark.parametrize("names", [LEVEL, LANCE, DUCK], ids=["LevelDB", "LanceDB", "DuckDB"])
def test_a_store_that_is_being_written_stays_as_it_was_and_is_named(ada: Protected, names: tuple[str, ...]) -> None:
    write(ada, names, "one")
    assert ada.capture().complete
    write(ada, names[1:], "two")
    now = time.time_ns()
    os.utime(ada.workspace / names[-1], ns=(now, now))
    report = ada.capture()
    assert multi_file_stores.BEING_WRITTEN in report.unstable.values()  # so the service looks again soon
    assert not report.complete
    assert kept(ada, names) == {"one"}
    write(ada, names, "two")
    assert ada.capture().complete
    assert kept(ada, names) == {"two"}


@pytest.mark.parametrize("names", [LEVEL, LANCE, DUCK], ids=["LevelDB", "LanceDB", "DuckDB"])
def test_a_store_that_is_written_while_it_is_read_stays_as_it_was(
    ada: Protected, files: Watched, names: tuple[str, ...]
) -> None:
    write(ada, names, "one")
    ada.capture()
    write(ada, names, "two")
    files.when[os.path.basename(names[-1])] = lambda: write(ada, names[:1], "three and more")
    report = ada.capture()
    assert list(report.unstable.values()) == [multi_file_stores.CHANGED]
    assert kept(ada, names) == {"one"}
    assert ada.capture().complete
    assert kept(ada, names) == {"two", "three"}


def test_a_store_whose_files_have_times_in_the_future_is_captured(ada: Protected) -> None:
    write(ada, LEVEL, "one")
    os.utime(ada.workspace / LEVEL[-1], (1 << 33, 1 << 33))
    assert ada.capture().complete
    assert kept(ada, LEVEL) == {"one"}


def test_a_store_that_went_while_it_was_read_is_not_half_there(ada: Protected, files: Watched) -> None:
    write(ada, LEVEL, "one")
    files.when["000004.log"] = (ada.workspace / "index/000003.ldb").unlink
    report = ada.capture()
    assert not report.complete
    assert kept(ada, LEVEL) == set()


def test_other_files_beside_a_store_are_captured(ada: Protected) -> None:
    write(ada, LEVEL, "one")
    now = time.time_ns()
    os.utime(ada.workspace / LEVEL[-1], ns=(now, now))
    ada.write("index.md", "one line")
    ada.capture()
    assert kept(ada, ("index.md",)) == {"one"}


def test_what_went_from_a_store_stays_when_its_other_files_are_not_taken(ada: Protected, files: Watched) -> None:
    write(ada, LEVEL, "one")
    ada.capture()
    write(ada, LEVEL[:2], "two")
    (ada.workspace / LEVEL[2]).unlink()
    files.when["MANIFEST-000001"] = lambda: write(ada, LEVEL[:1], "three and more")
    assert list(ada.capture().unstable.values()) == [multi_file_stores.CHANGED]
    assert set(LEVEL) <= ada.kept().keys()
    assert kept(ada, LEVEL) == {"one"}
    assert ada.capture().complete
    assert LEVEL[2] not in ada.kept()


@pytest.mark.parametrize("names", [LEVEL, LANCE, DUCK], ids=["LevelDB", "LanceDB", "DuckDB"])
def test_a_store_waits_as_a_whole_for_a_large_file_of_it(ada: Protected, names: tuple[str, ...]) -> None:
    large = names[0] if names is DUCK else names[-1]
    write(ada, names, "one")
    ada.write(large, "one " * 50_000)
    ada.capture(paced=True)
    write(ada, names, "two")
    ada.write(large, "two " * 50_000)
    report = ada.capture(paced=True)
    assert multi_file_stores.LATE in report.late.values()
    assert report.due_in is not None
    assert kept(ada, names) == {"one"}
    ada.clock.advance(minutes=2)
    assert not ada.capture(paced=True).late
    assert kept(ada, names) == {"two"}
