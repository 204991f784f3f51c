"""An endpoint at its limit of connections for ten minutes (three in CI), while machines push to it: a token holder is
served all the time, and how long it waits is printed. SOAK_SECONDS is another length."""

from __future__ import annotations

import contextlib
import itertools
import os
import selectors
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from lifeboat_alf.common import ids
from lifeboat_endpoint.server.connections import DEFAULT_TOTAL
from lifeboat_endpoint.server.descriptor_limit import raise_descriptor_limit
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from lifeboat_vault.vault import Vault
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.endpoint.served_apps import MACHINE, push_delta
from support.waiting import until

pytestmark = pytest.mark.timeout(1800)

_USUAL = "180" if os.environ.get("CI_BEGUN") else "600"
SECONDS = max(90.0, float(os.environ.get("SOAK_SECONDS", _USUAL)))
"""The server tells of its limit once a minute."""
PUSHING = 2
"""Machines that push one delta after the other."""
HELD = 3 * DEFAULT_TOTAL
ADDRESSES = 200
"""Of this machine, from 127.0.1.1 on; with the bound of each of them they hold far more than the server accepts."""


class Crowd:
    """Connections without a token, from many addresses: some say nothing, some begin TLS, some end it and stop in the
    middle of a request. One that the server closes is opened again."""

    def __init__(self, endpoint: RunningEndpoint) -> None:
        url = httpx.URL(endpoint.url)
        self._target = (url.host, url.port or 443)
        self._tls = ssl.create_default_context(cafile=str(endpoint.ca))
        self._turns = itertools.count()
        self._selector = selectors.DefaultSelector()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.opened: Counter[str] = Counter()
        self.held = 0
        self.refused = 0

    def __enter__(self) -> Crowd:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            for key, _ in self._selector.select(0):
                self._read(key.fileobj)  # type: ignore[arg-type]
            if self.held < HELD:
                self._open()
            self._stopped.wait(0.002)

    def _read(self, connection: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError):
            try:
                ended = not connection.recv(1000)
            except OSError:
                ended = True
            if ended:
                self._selector.unregister(connection)
                connection.close()
                self.held -= 1

    def _open(self) -> None:
        turn = next(self._turns)
        try:
            made = socket.create_connection(self._target, 2.0, source_address=(f"127.0.1.{1 + turn % ADDRESSES}", 0))
        except OSError:
            self.refused += 1
            return
        kind = ("silent", "silent", "half a handshake", "half a request")[turn % 4]
        try:
            if kind == "half a handshake":
                made.sendall(b"\x16\x03\x01\x02\x00\x01")
            elif kind == "half a request":
                made = self._tls.wrap_socket(made, server_hostname=self._target[0])
                made.sendall(b"GET /token HTTP/1.1\r\nHost: x\r\nX-A: ")
        except OSError:
            made.close()
            self.refused += 1
            return
        made.setblocking(False)
        self.opened[kind] += 1
        self.held += 1
        self._selector.register(made, selectors.EVENT_READ)


class Load:
    """Machines with a token that push one delta after the other."""

    def __init__(self, endpoint: RunningEndpoint, folder: Path) -> None:
        self._endpoint, self._folder = endpoint, folder
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(PUSHING)]
        self.codes: Counter[int] = Counter()
        self.times: list[float] = []

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int) -> None:
        agent_id = ids.make_id("2026-11-20T12:00:00.000Z")
        with Vault.create(self._folder / f"load-{number}", agent_id) as vault, self._endpoint.client() as client:
            machine = TrialMachine(agent_id, vault, DeviceKey.generate(UserKey.generate()), MACHINE)
            document = {"id": agent_id, "name": f"load-{number}", "source_runtime": "openclaw"}
            assert client.post("/agents", json=document).status_code == 201
            base = machine.capture().number
            assert client.put(f"/agents/{agent_id}/snapshot", content=machine.snapshot().file.read()).status_code == 201
            while not self._stopped.is_set():
                newest = machine.capture().number
                began = time.monotonic()
                self.codes[push_delta(client, machine, base).status_code] += 1
                self.times.append(time.monotonic() - began)
                base = newest


def told(what: str, times: list[float]) -> str:
    """The median, the 99th percentile and the longest of some times."""
    ordered = sorted(times)
    middle, late = ordered[len(ordered) // 2], ordered[-1 - len(ordered) // 100]
    return f"{len(ordered)} {what}: p50 {middle:.3f} s, p99 {late:.3f} s, longest {ordered[-1]:.3f} s"


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[RunningEndpoint]:
    assert raise_descriptor_limit() > HELD + 1000, "this test needs more open descriptors"
    with running_endpoint(tmp_path, by_exec=True) as running:
        yield running


def answering(endpoint: RunningEndpoint) -> psutil.Process:
    """The process that accepts: it has the most descriptors."""
    assert endpoint.process is not None
    return max(psutil.Process(endpoint.process.pid).children(recursive=True), key=lambda each: each.num_fds())


def test_a_token_holder_is_served_while_the_server_is_at_its_limit(endpoint: RunningEndpoint, tmp_path: Path) -> None:
    codes: Counter[int] = Counter()
    new: list[float] = []
    kept: list[float] = []
    most, end = 0, time.monotonic() + SECONDS
    with Crowd(endpoint) as crowd, endpoint.client() as lasting, Load(endpoint, tmp_path) as load:
        assert lasting.get("/token").status_code == 200
        until(lambda: answering(endpoint).num_fds() >= 0.9 * DEFAULT_TOTAL, "a server at its limit", seconds=120)
        while time.monotonic() < end:
            began = time.monotonic()
            with endpoint.client() as client:
                codes[client.get("/token").status_code] += 1
            new.append(time.monotonic() - began)
            began = time.monotonic()
            codes[lasting.get("/agents").status_code] += 1
            kept.append(time.monotonic() - began)
            most = max(most, answering(endpoint).num_fds())
            time.sleep(0.25)
        assert set(crowd.opened) == {"silent", "half a handshake", "half a request"}
        assert codes.keys() == {200}, codes
        assert load.codes.keys() == {201}, load.codes
        assert most <= DEFAULT_TOTAL + 300
        assert answering(endpoint).memory_info().rss < 1 << 30
    print(f"\n{told('new connections, each with one request', new)}")
    print(told("requests over one connection", kept))
    print(told("pushes of a delta", load.times))
    print(
        f"{sum(crowd.opened.values())} without a token: {dict(crowd.opened)}, {crowd.refused} refused; {most} at most"
    )
    assert "the limit of connections is reached" in endpoint.log
    assert endpoint.stop() == 0


def test_a_process_that_hangs_is_replaced(endpoint: RunningEndpoint) -> None:
    """Stopped by a signal it answers nothing, as one that spins."""
    hanging = answering(endpoint)
    hanging.suspend()
    until(lambda: not hanging.is_running() or hanging.status() == psutil.STATUS_ZOMBIE, "its end", seconds=120)
    with endpoint.client() as client:
        assert until(lambda: client.get("/token").status_code) == 200
    assert "did not answer /livez" in endpoint.log
    assert endpoint.stop() == 0
