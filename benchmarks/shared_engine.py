"""PostgreSQL as it is measured: a cluster of its own in a folder, durable as in production, and what it counts.

What is told of itself: `fsync`, `full_page_writes` and `synchronous_commit` are on, so a commit waits for the disk. The
statistics of statements are on, which cost a little of every statement.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import psycopg
from benchmarks import processes

SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_buffers": "2GB",
    "max_connections": "100",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "15min",
    "wal_compression": "on",
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track": "top",
    "track_io_timing": "off",
}
SAID = "PostgreSQL with fsync, full_page_writes and synchronous_commit on"
_SECONDS = 300
_COUNTED = """select coalesce(sum(calls) filter (where not e), 0)::float8,
    coalesce(sum(calls) filter (where e), 0)::float8,
    coalesce(sum(shared_blks_hit + shared_blks_read), 0)::float8, coalesce(sum(shared_blks_read), 0)::float8,
    coalesce(sum(wal_fpi), 0)::float8
    from (select s.*, query like '%lifeboat_control.enter(%' as e from pg_stat_statements s
    join pg_database d on d.oid = s.dbid where d.datname = current_database()
    and query !~* '^(begin|commit|rollback)') found"""
_LOGGED = """select (pg_current_wal_lsn() - '0/0')::float8,
    pg_snapshot_xmax(pg_current_snapshot())::text::float8"""
_ROWS = """select coalesce(sum(n_tup_upd + n_tup_del), 0)::float8, coalesce(sum(n_tup_hot_upd), 0)::float8
    from pg_stat_user_tables"""


@dataclass(frozen=True)
class Counts:
    """Counters since the cluster began: processor seconds of all processes; statements without those about
    transactions; pages touched, and those not in memory; transactions of the endpoint; transaction ids; bytes of WAL,
    and its full page images; dead rows, and those of them that need no vacuum."""

    cpu: float
    statements: float
    pages: float
    read: float
    transactions: float
    commits: float
    wal: float
    whole: float
    dead: float
    hot: float

    def since(self, before: Counts, each: float = 1) -> Counts:
        """Return the differences, divided by `each`."""
        found = {
            field.name: (getattr(self, field.name) - getattr(before, field.name)) / each for field in fields(Counts)
        }
        return Counts(**found)


@dataclass(frozen=True)
class Cluster:
    """A running cluster. Anyone who can enter its folder can connect as any user."""

    folder: Path

    @property
    def pid(self) -> int:
        return int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])

    def address(self, database: str = "postgres") -> str:
        """Return the address without a user."""
        return f"postgresql:///{database}?host={self.folder}"

    @contextlib.contextmanager
    def connected(self, database: str = "postgres") -> Iterator[psycopg.Connection[Any]]:
        """Connect as the superuser with one transaction per statement."""
        with psycopg.connect(self.address(database), user="postgres", autocommit=True) as connection:
            yield connection

    def create(self, database: str) -> None:
        """Create a database with statistics."""
        with self.connected() as connection:
            connection.execute(f'create database "{database}"')
        with self.connected(database) as connection:
            connection.execute("create extension pg_stat_statements")
            connection.execute("create extension pg_buffercache")

    def counts(self, database: str) -> Counts:
        """Return the counters. Row counts are reported with a delay of up to a second."""
        with self.connected(database) as connection:
            statements, transactions, pages, read, whole = _one(connection, _COUNTED)
            dead, hot = _one(connection, _ROWS)
            wal, taken = _one(connection, _LOGGED)
        return Counts(self.cpu(), statements, pages, read, transactions, taken, wal, whole, dead, hot)

    def cpu(self) -> float:
        """Return processor seconds including all processes that it started."""
        return processes.effort(self.pid).cpu

    def restart(self) -> None:
        """Restart with an empty PostgreSQL cache. The cache of the system remains."""
        _run(
            _programs() / "pg_ctl", "-D", self.folder / "data", "-w", "-m", "fast", "restart", "-l", self.folder / "log"
        )

    @contextlib.contextmanager
    def hurried(self) -> Iterator[None]:
        """Do not wait for disks inside of the block, which only prepares data. Everything is written at its end."""
        self._set("alter system set fsync = off", "alter system set full_page_writes = off")
        try:
            yield
        finally:
            self._set("alter system reset fsync", "alter system reset full_page_writes")
            os.sync()

    def _set(self, *statements: str) -> None:
        with self.connected() as connection:
            for statement in (*statements, "select pg_reload_conf()"):
                connection.execute(statement)

    def version(self) -> str:
        with self.connected() as connection:
            row = connection.execute("show server_version").fetchone()
        return "" if row is None else str(row[0]).split()[0]

    def costliest(self, database: str, count: int = 15) -> list[tuple[float, float, float, str]]:
        """Return calls, total milliseconds, pages per call and text of the statements that took longest in total."""
        with self.connected(database) as connection:
            found = connection.execute(
                """select calls::float8, total_exec_time + total_plan_time,
                (shared_blks_hit + shared_blks_read)::float8 / calls, regexp_replace(query, '\\s+', ' ', 'g')
                from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = current_database()
                order by 2 desc limit %s""",
                (count,),
            )
            return [(row[0], row[1], row[2], row[3]) for row in found]

    def forget(self, database: str) -> None:
        """Reset the statement counters."""
        with self.connected(database) as connection:
            connection.execute("select pg_stat_statements_reset()")


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """Create a cluster in a temporary folder, and delete it after the block. Raises SystemExit if PostgreSQL is not
    installed."""
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="lifeboat-pg."))
    data = folder / "data"
    try:
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(folder, "postgres")
        _run(programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        lines = [*(f"{name} = '{value}'" for name, value in SETTINGS.items()), "listen_addresses = ''"]
        with (data / "postgresql.conf").open("a") as stream:
            stream.write("\n".join([*lines, f"unix_socket_directories = '{folder}'", ""]))
        _run(programs / "pg_ctl", "-D", data, "-w", "-t", "60", "-l", folder / "log", "start")
        try:
            yield Cluster(folder)
        finally:
            _run(programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _one(connection: psycopg.Connection[Any], statement: str) -> tuple[float, ...]:
    row = connection.execute(statement).fetchone()
    assert row is not None
    return tuple(float(value) for value in row)


def _programs() -> Path:
    """Return the folder of the programs, which Debian leaves out of PATH."""
    found = shutil.which("initdb")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: int(each.parent.name))
    every = [*([Path(found).resolve().parent] if found else []), *reversed(debian)]
    if not every:
        raise SystemExit("PostgreSQL is not installed: apt-get install postgresql")
    return every[0]


def _run(program: Path, *arguments: str | Path) -> None:
    around = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.getuid() == 0 else []
    done = subprocess.run(
        [*around, str(program), *map(str, arguments)],
        env={"PATH": f"{program.parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=_SECONDS,
        cwd="/",
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{program.name}: {done.stderr.decode(errors='replace')}")
