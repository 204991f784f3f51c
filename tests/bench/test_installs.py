"""The generated memory databases of the benchmarks."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import installs


def _rows(made: installs.Install) -> list[Any]:
    with closing(sqlite3.connect(made.database)) as connection:
        return list(connection.execute("select id, key, content, embedding from memories order by id"))


def test_the_same_seed_makes_the_same_rows(tmp_path: Path) -> None:
    first = installs.many_rows(tmp_path / "first", rows=20, dimensions=8)
    second = installs.many_rows(tmp_path / "second", rows=20, dimensions=8)
    assert _rows(first) == _rows(second)


def test_every_row_has_a_vector_and_one_more_can_be_remembered(tmp_path: Path) -> None:
    made = installs.many_rows(tmp_path, rows=20, dimensions=8)
    made.remember(0)
    assert [len(row[3]) for row in _rows(made)] == [32] * 21
