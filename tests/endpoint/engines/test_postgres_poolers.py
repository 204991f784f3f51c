"""A pooler is detected and named when a connection is made, in every mode and however lenient it is configured.

Behind a pooler a lock does not last as long as a connection, and settings of a connection have no effect.
"""

from __future__ import annotations

import os
import select
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lifeboat_endpoint.engines.postgres import connection_pools, postgres_schema
from lifeboat_endpoint.engines.postgres.connection_pools import Database, Pools
from lifeboat_vault import errors
from support.endpoint.shared_databases import API, OWNER, WORKER, SharedDatabase, shared_database
from support.patience import patience
from support.postgres_server import PASSWORD
from support.waiting import until

_SETTINGS = """[databases]
* = host={server}
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = 5432
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = {mode}
{lenient}
logfile = {folder}/log
"""
_LENIENT = "ignore_startup_parameters = options"


@dataclass(frozen=True)
class Pooler:
    folder: Path
    database: SharedDatabase

    def at(self, role: str = API) -> Database:
        passfile = self.database.server.folder / "passfile"
        return Database(f"postgresql:///{self.database.name}?host={self.folder}&passfile={passfile}", role)


def _program() -> str:
    found = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        pytest.skip("PgBouncer is not installed: apt-get install pgbouncer")
    return found


@contextmanager
def pooler(database: SharedDatabase, mode: str, lenient: bool) -> Iterator[Pooler]:
    program = _program()
    folder = Path(tempfile.mkdtemp(prefix="pooler.", dir=database.server.folder))
    settings = _SETTINGS.format(
        server=database.server.folder, folder=folder, mode=mode, lenient=_LENIENT if lenient else ""
    )
    (folder / "settings").write_text(settings)
    (folder / "users").write_text("".join(f'"{role}" "{PASSWORD}"\n' for role in (API, OWNER, WORKER)))
    around: list[str] = []
    if os.getuid() == 0:  # a pooler refuses to run as root
        around = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, "postgres")
    process = subprocess.Popen(
        [*around, program, str(folder / "settings")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        ready = folder / ".s.PGSQL.5432"
        until(lambda: ready.exists() or process.poll() is not None, "the pooler to listen")
        assert process.poll() is None, (folder / "log").read_text()
        yield Pooler(folder, database)
    finally:
        process.kill()
        process.wait(patience())


@pytest.fixture(scope="module")
def database() -> Iterator[SharedDatabase]:
    with shared_database() as made:
        yield made


@pytest.fixture(
    scope="module",
    params=[("session", False), ("session", True), ("transaction", False), ("transaction", True)],
    ids=lambda each: f"{each[0]}-{'lenient' if each[1] else 'strict'}",
)
def between(request: pytest.FixtureRequest, database: SharedDatabase) -> Iterator[Pooler]:
    with pooler(database, *request.param) as made:
        yield made


def _lone(pools: Pools) -> None:
    with pools.lone():
        pass


ASKING: dict[str, Callable[[Pools], None]] = {
    "readiness": Pools.check,
    "the tables": postgres_schema.check_schema,
    "a lock": _lone,
}


@pytest.mark.parametrize("what", ASKING)
def test_it_is_refused_and_named(between: Pooler, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pools, "WAIT_SECONDS", 1.0)
    pools = Pools(between.at(), connections=2)
    with closing(pools), pytest.raises(errors.EndpointSettings, match="leads to a connection pooler") as caught:
        ASKING[what](pools)
    assert "PostgreSQL itself" in (caught.value.fix or "")
    assert PASSWORD not in f"{caught.value.message} {caught.value.fix}"


def test_tables_are_not_made_through_it(between: Pooler, database: SharedDatabase) -> None:
    with pytest.raises(errors.EndpointSettings, match="leads to a connection pooler"):
        postgres_schema.prepare_schema(between.at(OWNER), api_role=API, worker_role=WORKER)


def test_one_among_several_servers_is_refused_too(between: Pooler, database: SharedDatabase) -> None:
    hosts = f"/nonexistent,{between.folder}"
    passfile = database.server.folder / "passfile"
    with pytest.raises(errors.EndpointSettings, match="leads to a connection pooler"):
        connection_pools.open_connection(
            Database(f"postgresql:///{database.name}?host={hosts}&passfile={passfile}", API)
        )


def test_locks_do_break_behind_one(database: SharedDatabase) -> None:
    """The reason for the refusal: two sessions hold the same lock at the same time."""
    import psycopg

    with pooler(database, "transaction", lenient=True) as made:
        where = f"{made.at().address}&user={API}"
        with psycopg.connect(where, autocommit=True) as one, psycopg.connect(where, autocommit=True) as other:
            asked = "select pg_try_advisory_lock(4711)"
            assert one.execute(asked).fetchone() == other.execute(asked).fetchone() == (True,)


def test_what_passes_connections_on_as_they_are_is_none(database: SharedDatabase) -> None:
    """A load balancer for TCP passes connections on unchanged."""
    with relay(database) as place, closing(Pools(place, connections=2)) as pools:
        postgres_schema.check_schema(pools)


@contextmanager
def relay(database: SharedDatabase) -> Iterator[Database]:
    target = f"{database.server.folder}/.s.PGSQL.5432"

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.socket(socket.AF_UNIX) as there:
                there.connect(target)
                ends = {self.request: there, there: self.request}
                while True:
                    for each in select.select(list(ends), [], [], patience())[0]:
                        data = each.recv(65536)
                        if not data:
                            return
                        ends[each].sendall(data)

    with tempfile.TemporaryDirectory(prefix="relay.") as folder:
        server = socketserver.ThreadingUnixStreamServer(f"{folder}/.s.PGSQL.5432", Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            passfile = database.server.folder / "passfile"
            yield Database(f"postgresql:///{database.name}?host={folder}&passfile={passfile}", API)
        finally:
            server.shutdown()
            thread.join(patience())
            server.server_close()
