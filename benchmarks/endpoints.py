"""Servers for measurements: a real endpoint and the floor below it, each in separate processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks import processes, served
from benchmarks.load import Connection

HOST = "127.0.0.1"
_ROOT = Path(__file__).parent.parent
_SERVE = "import sys; from lifeboat_cli import main; main(sys.argv[1:])"

Request = tuple[str, str, Path | None]
"""Method, target, and the file with the body."""


@dataclass
class Endpoint:
    """A running server."""

    pid: int
    port: int
    token: str
    data: Path
    url: str = ""
    pin: str = ""

    @property
    def ca(self) -> Path:
        return self.data / "tls" / "ca.pem"

    def rss(self) -> int:
        """Return the memory in bytes of all its processes together."""
        return sum(processes.rss(pid) for pid in processes.family(self.pid))

    def cpu(self) -> float:
        """Return the processor seconds that its processes have taken so far."""
        return processes.effort(self.pid).cpu

    def connection(self) -> Connection:
        return Connection(self._place())

    def load(self, connections: Sequence[Sequence[Request]]) -> dict[str, Any]:
        """Send all these requests from another process. Returns what `load` prints, with the processor seconds that the
        server took."""
        before = self.cpu()
        asked = [[(method, target, file and str(file)) for method, target, file in each] for each in connections]
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=self.data.parent) as spec:
            json.dump({**self._place(), "connections": asked}, spec)
            spec.flush()
            command = [sys.executable, "-m", "benchmarks.load", spec.name]
            done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
        found: dict[str, Any] = json.loads(done.stdout)
        if found["refused"]:
            raise SystemExit(f"the server refused: {found['refused']}")
        return {**found, "cpu": self.cpu() - before}

    def _place(self) -> dict[str, Any]:
        return {"host": HOST, "port": self.port, "ca": str(self.ca), "token": self.token}


@contextlib.contextmanager
def endpoint(folder: Path, workers: int, *, environment: Mapping[str, str] | None = None) -> Iterator[Endpoint]:
    """Run `lifeboat endpoint serve` on a free port until the end of the block, in an empty folder or in one that
    `command` has prepared."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "endpoint"
    given = ["endpoint", "serve", "--listen", f"{HOST}:0", "--workers", str(workers), "--data", str(data), "--json"]
    program = [sys.executable, "-c", _SERVE, *given]
    with _running(program, _environment(folder, environment), folder / "endpoint.err") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"the endpoint did not start:\n{(folder / 'endpoint.err').read_text()}")
        told = json.loads(line)
        port = urlsplit(told["url"]).port or 0
        yield Endpoint(process.pid, port, told["token"] or "", data, told["url"], told["pin"])


def command(folder: Path, *words: str, environment: Mapping[str, str] | None = None) -> str:
    """Return the output of `lifeboat endpoint WORDS` for the endpoint in this folder. Raises SystemExit."""
    folder.mkdir(parents=True, exist_ok=True)
    program = [sys.executable, "-c", _SERVE, "endpoint", *words, "--data", str(folder / "endpoint")]
    given = _environment(folder, environment)
    done = subprocess.run(program, cwd=_ROOT, env=given, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def _environment(folder: Path, more: Mapping[str, str] | None) -> dict[str, str]:
    own = {"XDG_CONFIG_HOME": str(folder / "config"), "LIFEBOAT_HOME": str(folder / "home")}
    return {**os.environ, **own, **(more or {})}


@contextlib.contextmanager
def floor(beside: Endpoint, workers: int) -> Iterator[Endpoint]:
    """Run the floor with the certificate of an endpoint until the end of the block."""
    folder = beside.data.parent / "floor"
    folder.mkdir()
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
    tls = beside.data / "tls"
    certificate, key = str(tls / "endpoint.pem"), str(tls / "endpoint.key")
    command = [sys.executable, "-m", "benchmarks.floor", str(folder), HOST, str(port), str(workers), certificate, key]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    with _running(command, environment, folder / "floor.err") as process:
        served.until(lambda: _answers(port), "the floor to answer", 30)
        yield Endpoint(process.pid, port, "none", beside.data)


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def _running(command: list[str], environment: dict[str, str], err: Path) -> Iterator[subprocess.Popen[bytes]]:
    with err.open("ab") as stream:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stream,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
