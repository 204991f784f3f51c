"""A shared endpoint with real parts: PostgreSQL, S3 by Swift, two servers behind a load balancer and two workers, each
in a separate process with its data folder."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.endpoint_config import SharedStore
from lifeboat_endpoint.engines.endpoint_preparation import prepare_endpoint
from lifeboat_endpoint.engines.postgres.postgres_schema import roles_sql
from lifeboat_endpoint.tenancy.callers import DEVICE_SCOPES
from lifeboat_endpoint.tenancy.tenant_rows import Tenant
from lifeboat_vault.remote.join_lines import JoinLine, format_join_line
from support import postgres_server
from support.endpoint.endpoint_servers import Process
from support.paths import TESTS
from support.patience import patience
from support.scale import object_faults, swift_server
from support.scale.balancing import Balancer, balancing, is_ready, wait_until_ready

OBJECT_SECONDS = 5
"""Time limit of a request to the object store in seconds."""
DATABASE = "lifeboat"
ROLES = ("lifeboat_owner", "lifeboat_api", "lifeboat_worker")
KEEPS_ALL = {"all_hours": 8760, "hourly_days": 365, "daily_days": 365}
"""Keep all sequences: machines in tests live in the past, and workers must not thin their history."""
_PATH = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))


# Programs -------------------------------------------------------------------------------------------------------------


class Program(Process):
    """A command of `lifeboat` with a data folder. `log` is all its output."""

    def __init__(self, data: Path, command: Sequence[str]) -> None:
        self.data = data
        self.dies = False
        self._command = list(command)
        self._logged = data.with_name(f"{data.name}.err")

    @property
    def log(self) -> str:
        return self._logged.read_text() if self._logged.exists() else ""

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, *, dies: tuple[CrashPoint, int] | None = None) -> None:
        """Start the command. With `dies`, it ends like after kill -9 when it reaches the step for the nth time (from
        1)."""
        plain = None if dies is None else (dies[0].value, dies[1])
        given = [*self._command, "--data", str(self.data)]
        self.dies = dies is not None
        code = f"from support.endpoint.endpoint_servers import be_endpoint; be_endpoint({given!r}, {plain!r})"
        with self._logged.open("ab") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONPATH": _PATH, "XDG_CONFIG_HOME": str(self.data.parent / "config")},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=err,
                start_new_session=True,
            )

    def restart(self, *, dies: tuple[CrashPoint, int] | None = None) -> None:
        self.kill()
        self.start(dies=dies)


class Server(Program):
    """A server on a fixed port of this machine. `public` is the address that it reports to clients."""

    def __init__(self, data: Path, public: str, *, options: Sequence[str] = ()) -> None:
        self.url = f"http://127.0.0.1:{_free_port()}"
        listen = ["--listen", self.url.removeprefix("http://"), "--plain-http", "--public-url", public]
        super().__init__(data, ["endpoint", "serve", "--json", "--drain", "1", *listen, *options])

    def start(self, *, dies: tuple[CrashPoint, int] | None = None) -> None:
        super().start(dies=dies)
        self.wait_until_it_serves()

    def wait_until_it_serves(self) -> None:
        assert self.process is not None and self.process.stdout is not None
        told = self.process.stdout.readline()
        assert b'"url"' in told, f"the server did not start: {told!r} {self.log[-3000:]}"


def _free_port() -> int:
    with contextlib.closing(__import__("socket").socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# The database ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Database:
    """PostgreSQL that can be stopped and started again. Its roles have passwords, in `passfile`."""

    server: postgres_server.PostgresServer

    @property
    def passfile(self) -> Path:
        return self.server.folder / "passfile"

    @property
    def log(self) -> str:
        return (self.server.folder / "log").read_text(errors="replace")

    def address(self, name: str = DATABASE) -> str:
        return f"postgresql:///{name}?host={self.server.folder}&passfile={self.passfile}"

    def run(self, *statements: str, name: str = "postgres", user: str = "postgres") -> list[Any]:
        """Run statements as the superuser, each in a separate transaction, and return the rows of the last one."""
        import psycopg

        where = f"{self.address(name)}&user={user}"
        with psycopg.connect(where, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []

    def make(self, name: str) -> None:
        """Create a database in which the roles have their rights."""
        self.run(f'create database "{name}" template template0 encoding UTF8')
        rights = roles_sql(*ROLES, name).splitlines()
        self.run(*(text for text in rights if not text.startswith("create role")))

    def stop(self, mode: str = "immediate") -> None:
        self._control("-m", mode, "stop")

    def start(self) -> None:
        options = postgres_server._OPTIONS.format(folder=self.server.folder)
        self._control("-w", "-t", f"{patience():.0f}", "-l", f"{self.server.folder}/log", "-o", options, "start")

    def dump(self, name: str = DATABASE) -> bytes:
        """Return all rows of all tables."""
        programs = postgres_server.programs()
        assert programs is not None
        done = subprocess.run(
            [str(programs / "pg_dump"), "--data-only", f"{self.address(name)}&user=postgres"],
            capture_output=True,
            check=True,
            timeout=patience(),
        )
        return done.stdout

    def _control(self, *arguments: str) -> None:
        programs = postgres_server.programs()
        assert programs is not None
        postgres_server._run(programs / "pg_ctl", "-D", f"{self.server.folder}/data", *arguments)


@contextlib.contextmanager
def database() -> Iterator[Database]:
    with postgres_server.running() as server:
        made = Database(server)
        lines = [f"*:*:*:postgres:{postgres_server.PASSWORD}"]
        lines += [f"*:*:*:{role}:{postgres_server.PASSWORD}-{role}" for role in ROLES]
        made.passfile.write_text("\n".join(lines) + "\n")
        made.passfile.chmod(0o600)
        made.run("alter system set max_connections = 300")
        made.stop("fast")
        made.start()
        made.run(f'create database "{DATABASE}" template template0 encoding UTF8')
        made.run(*roles_sql(*ROLES, DATABASE).splitlines())
        made.run(*(f"alter role {role} password '{postgres_server.PASSWORD}-{role}'" for role in ROLES))
        yield made


# The endpoint ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Joined:
    """A tenant with its tokens. `token` is a device's, `owner` may purge."""

    tenant: Tenant
    token: str
    owner: str
    url: str

    @property
    def join(self) -> str:
        return format_join_line(JoinLine(self.url, self.token, ""))

    def client(self, token: str | None = None, url: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"}
        return httpx.Client(base_url=url or self.url, headers=headers, timeout=patience())


@dataclass
class SharedEndpoint:
    """`url` is the balancer's, `endpoint` the same endpoint in this process as a worker sees it. `faults` is the proxy
    of the object store."""

    folder: Path
    database: Database
    objects: swift_server.SwiftServer
    faults: object_faults.ObjectFaults
    store: SharedStore
    balancer: Balancer
    endpoint: Endpoint
    servers: list[Server] = field(default_factory=list)
    workers: list[Program] = field(default_factory=list)
    _names: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def url(self) -> str:
        return self.balancer.address

    @property
    def logs(self) -> str:
        return "".join(each.log for each in (*self.servers, *self.workers))

    def troubles(self) -> list[str]:
        """Return the errors that the processes logged."""
        return [line for line in self.logs.splitlines() if " ERROR " in line or line.startswith((" ", "Traceback"))]

    def new_tenant(self, **options: Any) -> Joined:
        tenant = self.endpoint.add_tenant(f"tenant-{next(self._names)}", **options)
        control = self.endpoint.control
        token = control.add_token(tenant.id, "laptop", DEVICE_SCOPES)[1]
        owner = control.add_token(tenant.id, "owner", ["purge"])[1]
        return Joined(tenant, token, owner, self.url)

    def all_run(self) -> None:
        """Start every stopped or killed process again, without planned crashes."""
        self.faults.heal()
        self.faults.asked.clear()
        if not _accepts(self.database):
            self.database.start()
        ended = [each for each in (*self.servers, *self.workers) if not each.runs or each.dies]
        self.restart(ended)

    def running_servers(self) -> int:
        return sum(server.runs for server in self.servers)

    def servers_die(self, step: CrashPoint, nth: int = 1) -> None:
        """Restart both servers so that they end when they reach a step for the nth time."""
        self.restart(self.servers, dies=(step, nth))

    def restart(self, programs: Sequence[Program], *, dies: tuple[CrashPoint, int] | None = None) -> None:
        """Restart programs at the same time, because starting takes most of the time."""
        for each in programs:
            each.kill()
            Program.start(each, dies=dies)
        for each in programs:
            if isinstance(each, Server):
                each.wait_until_it_serves()
                wait_until_ready(each.url)
        self.balancer.look()


def _accepts(database: Database) -> bool:
    try:
        database.run("select 1")
    except Exception:
        return False
    return True


def new_folder(folder: Path, name: str, store: SharedStore, key_scope: str = "tenant") -> Path:
    """Create the data folder of one more process; the key is the same for all."""
    data = folder / name
    prepare_endpoint(data, store, key_source=f"file:{folder / 'key' / 'endpoint.key'}", key_scope=key_scope)
    return data


@contextlib.contextmanager
def running(
    *, purge_hours: int = 0, on: Callable[[], contextlib.AbstractContextManager[Database]] = database
) -> Iterator[SharedEndpoint]:
    """Run the whole endpoint, and delete everything that was written. `on` creates its database."""
    folder = Path(tempfile.mkdtemp(prefix="shared-endpoint."))
    try:
        with contextlib.ExitStack() as stack:
            objects = swift_server.shared()
            found = stack.enter_context(on())
            balancer = stack.enter_context(balancing())
            faults = stack.enter_context(object_faults.in_front_of(objects.address))
            options = {**objects.options(faults.address), "timeout": str(OBJECT_SECONDS)}
            store = SharedStore(found.address(), objects.url(), options, connections=8)
            (folder / "key").mkdir(mode=0o700)
            names = ("here", "api-1", "api-2", "worker-1", "worker-2")
            folders = {name: new_folder(folder, name, store) for name in names}
            for each in folders.values():
                _set(each, purge_hours=purge_hours, retention=KEEPS_ALL)
            endpoint = stack.enter_context(Endpoint.open(folders["here"]))
            made = SharedEndpoint(folder, found, objects, faults, store, balancer, endpoint)
            made.new_tenant()  # a server that finds no tenant creates one
            made.servers = [Server(folders[name], balancer.address) for name in ("api-1", "api-2")]
            made.workers = [Program(folders[name], ["endpoint", "work"]) for name in ("worker-1", "worker-2")]
            balancer.upstreams = [server.url for server in made.servers]
            for each in (*made.servers, *made.workers):
                stack.callback(each.kill)
            made.restart([*made.servers, *made.workers])
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _set(data: Path, **values: Any) -> None:
    path = data / "endpoint.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


# Concurrent work ----------------------------------------------------------------------------------------------------


def together(*works: Any) -> list[Any]:
    """Run all functions at the same moment, and return their results or errors."""
    found: list[Any] = [None] * len(works)
    gate = threading.Barrier(len(works))

    def run(number: int) -> None:
        gate.wait(patience())
        try:
            found[number] = works[number]()
        except Exception as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience())
        assert not thread.is_alive(), "it never ended"
    return found


__all__ = ["Joined", "SharedEndpoint", "is_ready", "running", "together"]
