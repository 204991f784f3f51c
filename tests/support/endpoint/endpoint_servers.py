"""A real endpoint in separate processes, for tests: start, request, kill, restart."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import psutil

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_vault.remote.join_lines import JoinLine, format_join_line
from support import preloaded
from support.killing import ending_at
from support.paths import TESTS
from support.patience import patience
from support.preloaded import Call

_SERVER = ("lifeboat_cli.endpoint.endpoint_serve", "lifeboat_endpoint.server.asgi_app")


class Process:
    """A command of `lifeboat` in a process, which may have child processes."""

    process: subprocess.Popen[bytes] | None = None

    def stop(self) -> int:
        """Stop it as a service manager does; return its exit status."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Wait until it ends by itself; return its exit status."""
        assert self.process is not None
        ended = self.process.wait(patience())
        self._close()
        return ended

    def kill(self) -> None:
        """Kill all of its processes, as a power cut would."""
        if self.process is None:
            return
        for each in _family(self.process.pid):
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        self.process.wait(patience())
        self._close()

    def _close(self) -> None:
        if self.process is not None and self.process.stdout is not None:
            self.process.stdout.close()


class RunningEndpoint(Process):
    """An endpoint on a free port of this machine with a tenant `home`.

    `token` may push and pull (it was made by the first start); `pin` is "" with `plain`. A restart keeps port and data.
    """

    def __init__(self, data: Path, *, plain: bool, workers: int, options: Sequence[str], by_exec: bool = False) -> None:
        self.data = data
        self.url = ""
        self.pin = ""
        self.token = ""
        self._plain = plain
        self._by_exec = by_exec
        self._options = ["--workers", str(workers), *options]
        self._port = 0

    @property
    def join(self) -> str:
        """The join line of `token`."""
        return format_join_line(JoinLine(self.url, self.token, self.pin))

    @property
    def ca(self) -> Path:
        """The endpoint's own authority, for `httpx.Client(verify=ssl.create_default_context(cafile=...))`."""
        return self.data / "tls" / "ca.pem"

    @property
    def log(self) -> str:
        """Everything that it wrote to standard error."""
        return self._log.read_text()

    @property
    def _log(self) -> Path:
        return self.data.parent / f"{self.data.name}.err"

    def start(self, *, dies: tuple[CrashPoint, int] | None = None) -> JsonObject:
        """Start it and wait until it answers; return its output.

        With `dies`, the process that reaches the crash point for the nth time (from 1) is killed, and the endpoint with
        it.
        """
        given = ["endpoint", "serve", "--listen", f"127.0.0.1:{self._port}", "--data", str(self.data), "--json"]
        given += [*(["--plain-http"] if self._plain else []), *self._options]
        plain_dies = None if dies is None else (dies[0].value, dies[1])
        program = Call("support.endpoint.endpoint_servers", "be_endpoint", (given, plain_dies), imports=_SERVER)
        with self._log.open("ab") as err:
            surroundings: JsonObject = {
                "env": {**os.environ, "PYTHONPATH": str(TESTS), "XDG_CONFIG_HOME": str(self.data.parent / "config")},
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": err,
                "start_new_session": True,
            }
            if self._by_exec:
                self.process = subprocess.Popen(program.command, **surroundings)
            else:
                self.process = preloaded.Popen(program, **surroundings)
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        assert told, f"the endpoint did not start: {self.log[-2000:]}"
        found: JsonObject = json.loads(told)
        assert "url" in found, f"the endpoint did not start: {found}"
        self.url, self.pin = found["url"], found["pin"] or ""
        self.token = self.token or found["token"]
        self._port = httpx.URL(self.url).port or self._port
        return found

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        """Return a client that trusts the endpoint and shows a token, its first one unless given; "" for none."""
        shown = self.token if token is None else token
        headers = {"Authorization": f"Bearer {shown}"} if shown else {}
        verify: Any = True if self._plain else _trusting(self.ca)
        return httpx.Client(base_url=self.url, headers=headers, verify=verify, timeout=patience(), **options)

    def restart(self, *, dies: tuple[CrashPoint, int] | None = None) -> JsonObject:
        """End it in any state, and start it again on the same port."""
        self.kill()
        return self.start(dies=dies)


@contextlib.contextmanager
def running_endpoint(
    folder: Path,
    plain: bool = False,
    workers: int = 1,
    *,
    options: Sequence[str] = (),
    dies: tuple[CrashPoint, int] | None = None,
    by_exec: bool = False,
) -> Iterator[RunningEndpoint]:
    """Yield an endpoint with its data in `folder`/endpoint, and end it afterwards in any case.

    `options` are further options of `lifeboat endpoint serve`. It uses TLS with its own authority, or `plain` HTTP.
    Tests of what the system reports about its processes need `by_exec`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    endpoint = RunningEndpoint(folder / "endpoint", plain=plain, workers=workers, options=options, by_exec=by_exec)
    try:
        endpoint.start(dies=dies)
        yield endpoint
    finally:
        endpoint.kill()


def _trusting(ca: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(ca))


def _family(pid: int) -> list[psutil.Process]:
    try:
        first = psutil.Process(pid)
        return [*first.children(recursive=True), first]
    except psutil.NoSuchProcess:
        return []


# In the endpoint's own process ----------------------------------------------------------------------------------------


def be_endpoint(arguments: list[str], dies: tuple[str, int] | None) -> None:
    """Run the command in this process, which may die at a crash point. Its workers are forks, so this applies to them
    too."""
    from lifeboat_cli import main

    if hasattr(os, "fork"):
        multiprocessing.set_start_method("fork")
    if dies is not None:
        crash_points.hook = ending_at(CrashPoint(dies[0]), dies[1])
    main(arguments)


def until_ended(endpoint: RunningEndpoint) -> None:
    """Wait until an endpoint that should die at a crash point has died."""
    assert endpoint.process is not None
    endpoint.process.wait(patience())
