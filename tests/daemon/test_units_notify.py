"""Notifications of the service to systemd."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_daemon.units import systemd_notify
from support.patience import patience


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Make the socket of a service manager."""
    if request.param == "abstract" and sys.platform != "linux":
        pytest.skip("abstract sockets are Linux only")
    name = str(tmp_path / "n") if request.param == "path" else f"@lifeboat-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(name.replace("@", "\0", 1) if name.startswith("@") else name)
        listening.settimeout(patience())
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        yield listening


def test_it_says_that_it_is_ready_alive_and_stopping(manager: socket.socket) -> None:
    for tell, said in (
        (systemd_notify.notify_ready, "READY=1"),
        (systemd_notify.notify_watchdog, "WATCHDOG=1"),
        (systemd_notify.notify_stopping, "STOPPING=1"),
    ):
        assert tell() and manager.recv(1000).decode() == said
    assert systemd_notify.notify_status("3 agents") and manager.recv(1000).decode() == "STATUS=3 agents"
    assert systemd_notify.notify_ready("3 agents") and manager.recv(1000).decode() == "READY=1\nSTATUS=3 agents"


def test_without_a_manager_nothing_happens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert not systemd_notify.notify_ready()
    for name in (str(tmp_path / "gone"), "relative", "@" + "x" * 300, ""):
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        assert not systemd_notify.notify_ready()


def test_a_manager_that_does_not_read_is_not_waited_for(manager: socket.socket) -> None:
    told = [systemd_notify.notify_watchdog() for _ in range(5000)]
    assert told[0] and not told[-1]
