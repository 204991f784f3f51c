"""A purge removes a text from an SQLite database and leaves the database readable."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_alf.purging.body_cuts import cut_body
from lifeboat_alf.purging.purge_terms import PurgeTerms

TEXT = "the code is 4711-blue"
PATH = "artifacts/own.db"


def database(folder: Path, *statements: str) -> bytes:
    path = folder / "own.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in (*statements, "create table fact(id integer primary key, said)"):
            connection.execute(statement)
        said = [(f"row {number}",) for number in range(200)] + [(f"now {TEXT}, and more",)]
        connection.executemany("insert into fact(said) values (?)", said)
    return path.read_bytes()


def rows(folder: Path, body: bytes) -> list[str]:
    path = folder / "cut.db"
    path.write_bytes(body)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
        return [said for (said,) in connection.execute("select said from fact order by id")]


@pytest.mark.parametrize("statement", ["pragma journal_mode=delete", "pragma journal_mode=wal", "pragma page_size=512"])
def test_every_other_row_stays(tmp_path: Path, statement: str) -> None:
    body, wanted = database(tmp_path, statement), PurgeTerms(texts=(TEXT,))
    made = cut_body(PATH, body, lambda body: wanted.spans(PATH, body), passage=True)
    assert made is not None and not made.is_dropped
    assert not wanted.spans(PATH, made.body)
    *others, last = rows(tmp_path, made.body)
    assert others == [f"row {number}" for number in range(200)]
    assert last == f"now {' ' * len(TEXT)}, and more"


@pytest.mark.parametrize("before", range(0, 512, 16))
def test_a_text_over_two_pages_goes_and_every_other_row_stays(tmp_path: Path, before: int) -> None:
    path, wanted = tmp_path / "own.db", PurgeTerms(texts=(TEXT,))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("pragma page_size=512")
        connection.execute("pragma synchronous=off")
        connection.execute("create table fact(id integer primary key, said)")
        value = ("." * before + TEXT).ljust(2000, ",")
        connection.executemany("insert into fact(said) values (?)", [("before",), (value,), ("after",)])
    body = path.read_bytes()
    made = cut_body(PATH, body, lambda body: wanted.spans(PATH, body), passage=True)
    assert made is not None and not made.is_dropped
    assert rows(tmp_path, made.body) == ["before", value.replace(TEXT, " " * len(TEXT)), "after"]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("fact(id integer", "select 1"),
        ("said", "create virtual table words using fts5(said)"),
    ],
)
def test_a_database_that_would_not_be_whole_without_it_goes_whole(tmp_path: Path, text: str, statement: str) -> None:
    body, wanted = database(tmp_path, statement), PurgeTerms(texts=(text,))
    made = cut_body(PATH, body, lambda body: wanted.spans(PATH, body), passage=True)
    assert made is not None and made.is_dropped and made.body == b""


def test_what_only_begins_like_a_database_goes_whole() -> None:
    wanted = PurgeTerms(texts=(TEXT,))
    body = b"SQLite format 3\0" + b"\0" * 500 + TEXT.encode()
    made = cut_body(PATH, body, lambda body: wanted.spans(PATH, body), passage=True)
    assert made is not None and made.is_dropped
