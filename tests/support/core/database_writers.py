"""A program that uses a database while it is captured: a process of its own, as locks are not seen within one.

As a program: `python database_writers.py DATABASE` carries out the lines of SQL on its input, and says `done` of each.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


class DatabaseWriter:
    """A process with a connection to a database."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, *statements: str) -> None:
        """Carry out some statements, one after the other."""
        assert self._process.stdin is not None and self._process.stdout is not None
        for statement in statements:
            self._process.stdin.write(f"{statement}\n")
            self._process.stdin.flush()
            assert self._process.stdout.readline() == "done\n"

    def crash(self) -> None:
        """End the process as a power cut does: what it has open is left as it is."""
        self._process.kill()
        self._process.wait()


@contextmanager
def writer_of(path: Path) -> Iterator[DatabaseWriter]:
    """A process that has a database open until the end."""
    command = [sys.executable, __file__, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield DatabaseWriter(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()


def rows_in(path: Path, table: str = "orders") -> int:
    """How many rows a table has, and that SQLite finds nothing wrong with the database."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
        return int(connection.execute(f"select count(*) from {table}").fetchone()[0])


def many(count: int) -> str:
    """A statement that inserts rows."""
    return (
        f"with recursive n(i) as (select 1 union all select i + 1 from n where i < {count})"
        " insert into orders(what) select hex(randomblob(100)) from n"
    )


TABLE = "create table orders(id integer primary key, what text)"
SPILLING = ("pragma cache_size=5", "begin", "update orders set what = hex(randomblob(120))")
"""A transaction so large that SQLite writes pages of it into the database before it is committed."""


if __name__ == "__main__":
    with closing(sqlite3.connect(sys.argv[1], isolation_level=None)) as opened:
        for line in sys.stdin:
            opened.execute(line).fetchall()
            print("done", flush=True)
