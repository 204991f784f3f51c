"""Several daemons of one home: one serves, whatever became of the files by which it is known."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.agents import manage_agents
from lifeboat_daemon.service.daemon_lock import find_lock_holder
from support.core.harbour import Harbour
from support.core.invariants import always
from support.daemon.serving import Daemon, serving
from support.waiting import until


@pytest.fixture
def ada(protected_ada: Harbour) -> Harbour:
    made = protected_ada
    manage_agents.write_setting(made.context, made.agent, "capture.quiet", "0s")
    return made


@contextlib.contextmanager
def daemons(ada: Harbour, count: int, *options: str, **how: float) -> Iterator[list[Daemon]]:
    """So many, started at once, each with its own words in `<number>.out`."""
    made = [Daemon(ada.context, **how) for _ in range(count)]  # type: ignore[arg-type]
    try:
        for daemon in made:
            daemon.start(*options, answering=False)
        yield made
    finally:
        for daemon in made:
            daemon.kill()


def alive(made: list[Daemon]) -> list[Daemon]:
    return [daemon for daemon in made if daemon.process is not None and daemon.process.poll() is None]


def serves(daemon: Daemon) -> bool:
    """Whether it is this one that has the lock and answers."""
    found = find_lock_holder(daemon.context.home)
    return found is not None and found.pid == daemon.pid and daemon.answers()


def locks(ada: Harbour) -> Path:
    return ada.context.home.locks_folder


def test_of_ten_that_start_at_once_one_serves_and_the_others_say_who(ada: Harbour) -> None:
    with daemons(ada, 10) as made:
        until(lambda: len(alive(made)) == 1, "nine to give way")
        (winner,) = alive(made)
        until(lambda: serves(winner), "one to serve")
        assert sorted(daemon.wait() for daemon in made if daemon is not winner) == [3] * 9
        said = (ada.context.home.folder.parent / "daemon.out").read_text()
        assert said.count(f"process {winner.pid} has been the daemon for") == 9
        with (ada.workspace / "MEMORY.md").open("a") as memory:
            memory.write("\n- Ten came, one stayed.\n")
        until(lambda: ada.head == 1, "a change to be captured")
    always(ada.context, ada.agent, ada.trees)


def test_after_a_kill_the_next_one_takes_over_at_once_whatever_was_left(ada: Harbour) -> None:
    with serving(ada.context) as first:
        until(first.is_settled, "the first look to end")
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait() == -signal.SIGKILL
        left = {"locks/daemon.json", *(f"run/{path.name}" for path in (ada.context.home.folder / "run").iterdir())}
        assert left > {"locks/daemon.json"}, "a daemon that is killed leaves its socket and its note"
        # Whoever has that number now lives, and is no daemon.
        note = json.loads((locks(ada) / "daemon.json").read_text())
        (locks(ada) / "daemon.json").write_text(json.dumps({**note, "pid": os.getpid()}))
        with serving(ada.context) as second:
            assert serves(second)
            (ada.workspace / "MEMORY.md").write_text("# Memory\n\n- After the kill.\n")
            until(lambda: ada.head == 1, "a change to be captured")
    always(ada.context, ada.agent, ada.trees)


def test_a_socket_that_nobody_listens_on_is_in_nobodys_way(ada: Harbour) -> None:
    with serving(ada.context) as first:
        (path,) = (ada.context.home.folder / "run").iterdir()
        first.stop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stale:
        stale.bind(str(path))
    with serving(ada.context) as second:
        assert serves(second)


def test_a_lock_whose_file_is_removed_is_taken_again_and_no_second_daemon_begins(ada: Harbour) -> None:
    with daemons(ada, 1, tick=0.2) as (first,):
        until(lambda: serves(first), "it to serve")
        (locks(ada) / "daemon.lock").unlink()
        second = Daemon(ada.context).start(answering=False)  # the socket is still there, and answered
        assert second.wait() == 3
        until(lambda: serves(first), "the lock to be taken again")
        (locks(ada) / "daemon.lock").unlink()
        until(lambda: serves(first), "the lock to be taken again")


def test_a_daemon_that_lost_lock_and_socket_to_another_one_ends(ada: Harbour) -> None:
    with daemons(ada, 1, tick=1.0) as (first,):
        until(lambda: serves(first), "it to serve")
        os.kill(first.pid, signal.SIGSTOP)
        (locks(ada) / "daemon.lock").unlink()
        for path in (ada.context.home.folder / "run").iterdir():
            path.unlink()
        with serving(ada.context) as second:
            os.kill(first.pid, signal.SIGCONT)
            assert first.wait() == 0
            until(lambda: serves(second), "the second to serve", seconds=70)
            (ada.workspace / "MEMORY.md").write_text("# Memory\n\n- One is enough.\n")
            until(lambda: ada.head == 1, "a change to be captured")
    always(ada.context, ada.agent, ada.trees)
