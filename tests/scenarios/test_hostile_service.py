"""What anybody may do to a running service and its files: nothing is lost, nothing silent, nothing made up."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.home.context import Context
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_daemon.control.daemon_client import DaemonClient, open_socket
from lifeboat_daemon.control.socket_address import UnixAddress
from support.core.harbour import Harbour, harbour
from support.daemon.serving import Daemon, serving
from support.patience import patience
from support.short_folders import short
from support.waiting import until

__all__ = ["short"]


@pytest.fixture
def ada(short: Path) -> Harbour:
    return harbour(short)


@pytest.fixture
def daemon(ada: Harbour) -> Iterator[Daemon]:
    with serving(ada.context) as running:
        until(running.is_settled, "the first look to end")
        yield running


def ask(home: Path, method: str, **parameters: object) -> dict[str, Any]:
    """Ask the daemon by a socket that moved with its home."""
    with DaemonClient.connect(Home(home), SystemFiles(), timeout=patience()) as client:
        return client.call(method, **parameters)


def test_a_home_that_is_moved_away_is_said_and_no_other_one_is_made(ada: Harbour, daemon: Daemon, short: Path) -> None:
    home, aside = ada.context.home.folder, short / "aside"
    home.rename(aside)
    assert "was removed" in ask(aside, "reload")["problem"]
    (ada.workspace / "memory" / "homeless.md").write_text("# Written without a home\n")
    failed = ask(aside, "sync")["agents"]
    found = ask(aside, "status")
    assert [one["id"] for one in found["agents"]] == [ada.agent.id] == [one["id"] for one in failed]
    assert found["state"] == "error" and not home.exists()
    aside.rename(home)
    assert daemon.ask("reload")["problem"] is None
    until(lambda: ada.head > 0 and daemon.agent()["state"] == "ok", "the home to be used again")


def test_a_home_in_the_place_of_another_is_not_taken_for_it(ada: Harbour, daemon: Daemon, short: Path) -> None:
    home, aside = ada.context.home.folder, short / "aside"
    home.rename(aside)
    Context.open(ada.context.environment)
    assert "was replaced" in ask(aside, "reload")["problem"]
    found = ask(aside, "status")
    assert found["state"] == "error" and [one["id"] for one in found["agents"]] == [ada.agent.id]


def test_who_comes_while_many_others_do_waits_for_a_turn(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue of a Unix socket refuses at once when it is full, also where the daemon only needs a moment."""
    path = str(short / "full.sock")
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(path)
        listening.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                other = stack.enter_context(socket.socket(socket.AF_UNIX))
                other.setblocking(False)
                other.connect(path)
        monkeypatch.setattr(time, "sleep", lambda _: stack.enter_context(listening.accept()[0]))
        stack.enter_context(open_socket(UnixAddress(path), timeout=patience())).sendall(b"here\n")
