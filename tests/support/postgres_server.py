"""A temporary PostgreSQL server of the installed version, on a socket in a temporary folder. Without PostgreSQL the
tests are skipped with a reason."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from support.patience import patience

PASSWORD = "not-a-real-password"
_OPTIONS = "-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off -c shared_buffers=32MB"
_OPTIONS += " -c autovacuum_naptime=1s"  # short-lived tables get statistics like long-lived ones


@dataclass(frozen=True)
class PostgresServer:
    """A server. `options` are more settings for the next start."""

    folder: Path
    options: str = ""

    def address(self, password: str = PASSWORD, database: str = "postgres") -> str:
        return f"postgresql://postgres:{password}@/{database}?host={self.folder}"

    def safe_address(self, database: str = "postgres") -> str:
        """Return the address without its password, which is in a separate file, as an endpoint.json may contain it."""
        return f"postgresql:///{database}?host={self.folder}&passfile={self.folder}/passfile"

    def restart(self, mode: str = "immediate") -> None:
        """Restart the server. `immediate` acts like a crash: every connection is cut."""
        self.stop(mode)
        self.start()

    def stop(self, mode: str = "immediate") -> None:
        _run(_found() / "pg_ctl", "-D", str(self.folder / "data"), "-w", "-t", _seconds(), "-m", mode, "stop")

    def kill(self) -> None:
        """Kill the server and all its processes, which are in separate process groups, as a power cut would."""
        first = psutil.Process(int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0]))
        family = [first, *first.children(recursive=True)]
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        assert psutil.wait_procs(family, timeout=patience())[1] == []

    def promote(self) -> None:
        """Promote a standby, and return when it accepts writes."""
        _run(_found() / "pg_ctl", "-D", str(self.folder / "data"), "-w", "-t", _seconds(), "promote")

    def follow(self, primary: PostgresServer, name: str = "standby") -> None:
        """Configure the server, which is not started, as a standby of another one under a name for
        `synchronous_standby_names`."""
        data = self.folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        if not (self.folder / "passfile").exists():
            _write_passfile(self.folder)
        shutil.copy(primary.folder / "passfile", self.folder / "followed")
        if os.getuid() == 0:
            shutil.chown(self.folder / "followed", "postgres")
        where = f"host={primary.folder} user=postgres passfile={self.folder}/followed application_name={name}"
        options = ["-R", "-X", "stream", "-c", "fast", "--no-sync"]
        _run(_found() / "pg_basebackup", "-d", where, "-D", str(data), *options)

    def start(self) -> None:
        options = f"{_OPTIONS.format(folder=self.folder)} {self.options}"
        log = f"{self.folder}/log"
        data = str(self.folder / "data")
        _run(_found() / "pg_ctl", "-D", data, "-w", "-t", _seconds(), "-l", log, "-o", options, "start")


def _seconds() -> str:
    """Return how long `pg_ctl` waits for a server to start or stop on a busy machine."""
    return f"{patience():.0f}"


def programs() -> Path | None:
    """Return the folder of `initdb` and `pg_ctl`, which Debian leaves out of PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    found = shutil.which("pg_ctl")
    every = [*([Path(found).resolve().parent] if found else []), *reversed(debian)]
    return next((folder for folder in every if (folder / "initdb").exists()), None)


def _found() -> Path:
    found = programs()
    if found is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    return found


@functools.cache
def _initialised_data() -> Path:
    """Return the data of a server that was never started, made once by this process and removed at its end."""
    folder = Path(tempfile.mkdtemp(prefix="pg-data."))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "password").write_text(PASSWORD)
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
        shutil.chown(folder / "password", "postgres")
    options = ["-U", "postgres", "-A", "scram-sha-256", f"--pwfile={folder}/password", "-E", "UTF8", "--no-sync"]
    _run(_found() / "initdb", "-D", str(folder / "data"), "--locale=C.UTF-8", *options)
    return folder / "data"


@contextmanager
def running() -> Iterator[PostgresServer]:
    """Run a server, and delete everything that it wrote."""
    _found()
    folder = Path(tempfile.mkdtemp(prefix="pg-test."))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "postgres")
        # copy owners and modes too, because the server checks them
        subprocess.run(["cp", "-a", _initialised_data(), folder / "data"], check=True)
        _write_passfile(folder)
        server = PostgresServer(folder)
        server.start()
        try:
            yield server
        finally:
            with suppress(RuntimeError):  # the server has stopped already
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def standby_of(primary: PostgresServer, name: str = "standby") -> Iterator[PostgresServer]:
    """Run a standby of another server, and delete everything that it wrote."""
    _found()
    folder = Path(tempfile.mkdtemp(prefix="pg-test."))
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "postgres")
        server = PostgresServer(folder)
        server.follow(primary, name)
        server.start()
        try:
            yield server
        finally:
            with suppress(RuntimeError):
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_passfile(folder: Path) -> None:
    path = folder / "passfile"
    path.touch(mode=0o600)
    path.write_text(f"*:*:*:*:{PASSWORD}\n")


def _run(program: Path, *arguments: str) -> None:
    """Run a program as another user, because PostgreSQL refuses to run as root."""
    around = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.getuid() == 0 else []
    environment = {"PATH": f"{program.parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [*around, str(program), *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=2 * patience(),  # `pg_ctl` gives up earlier and reports the reason
        cwd="/",
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{program.name}: {done.stderr.decode(errors='replace')}")
