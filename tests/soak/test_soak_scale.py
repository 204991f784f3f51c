"""A daemon at size: more changes than the system's queue holds, and tens of thousands of folders. Figures on standard
output (`pytest -s`)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_cli.demo.tree_comparison import read_tree
from support.core.harbour import Harbour, harbour
from support.core.invariants import always
from support.daemon.serving import Daemon, serving
from support.waiting import until

pytestmark = [
    pytest.mark.skipif(not Path("/proc/sys/fs/inotify").exists(), reason="measures inotify"),
]
WRITES = 8000
FOLDERS = 20_000
LONG = 300.0
"""Seconds: a deadline, on a machine with much else to do."""


@pytest.fixture
def ada(tmp_path: Path) -> Harbour:
    return harbour(tmp_path)


def log(ada: Harbour) -> list[dict[str, object]]:
    """What the daemon wrote down, oldest first."""
    path = ada.context.home.folder / "logs" / "daemon.log"
    return [json.loads(line) for line in path.read_text().splitlines()]


def paths(ada: Harbour) -> set[str]:
    """What is in the newest sequence of the workspace."""
    prefixes = ("raw/openclaw/", "artifacts/")
    with ada.context.vault(ada.agent.id) as vault:
        return {entry.path.removeprefix(each) for each in prefixes for entry in vault.state().entries(each)}


def test_8000_writes_while_the_daemon_is_stopped_are_all_found(ada: Harbour) -> None:
    """Each file is written three times and renamed: more events than the queue of mostly 16,384 holds."""
    queue = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    with serving(ada.context) as daemon:
        until(daemon.is_settled, "the first look to end")
        settled = len(log(ada))
        os.kill(daemon.pid, signal.SIGSTOP)
        rounds = max(3, 1 + queue // WRITES)
        for number in range(WRITES):
            path = ada.workspace / "memory" / f"note-{number}.md"
            for edit in range(rounds):
                path.write_text(f"# Note {number}\n\nEdit {edit}.\n")
        began = time.monotonic()
        os.kill(daemon.pid, signal.SIGCONT)
        wanted = {f"memory/note-{number}.md" for number in range(WRITES)}
        until(lambda: wanted <= paths(ada), "every note to be captured", seconds=LONG)
        print(f"\n{WRITES} files, {rounds * WRITES * 3} events: in a sequence after {time.monotonic() - began:.1f} s")
        until(daemon.is_settled, "the daemon to rest", seconds=LONG)
        until(lambda: daemon.agent()["state"] == "ok", "the agent to be ok", seconds=LONG)
        reasons = [line.get("reason") for line in log(ada)[settled:] if line["kind"] == "captured"]
        assert "rescan" in reasons, f"no overflow was noticed: {reasons}"
    ada.trees[ada.head] = read_tree(ada.workspace)
    always(ada.context, ada.agent, ada.trees)


@pytest.fixture
def forest(ada: Harbour) -> Iterator[Path]:
    """The workspace with 20,000 folders more, some files in each tenth of them."""
    made = ada.workspace / "forest"
    for number in range(FOLDERS // 100):
        for below in range(99):
            folder = made / str(number) / str(below)
            os.makedirs(folder)
            if below % 10 == 0:
                (folder / "note.md").write_text(f"# Note {number}.{below}\n")
    yield made


def test_20000_folders_are_watched_and_the_daemon_answers_all_the_while(ada: Harbour, forest: Path) -> None:
    deepest = forest / "7" / "7" / "a" / "b" / "c" / "d"
    deepest.mkdir(parents=True)
    daemon = Daemon(ada.context)
    try:
        began = time.monotonic()
        daemon.start()
        longest = {"hello": 0.0, "daemon": 0.0, "status": 0.0}

        def is_watched() -> bool:
            asked = time.monotonic()
            with daemon.client() as client:
                greeted = time.monotonic()
                found = client.call("daemon")["agents"]
                answered = time.monotonic()
                client.call("status")
            longest["hello"] = max(longest["hello"], greeted - asked)
            longest["daemon"] = max(longest["daemon"], answered - greeted)
            longest["status"] = max(longest["status"], time.monotonic() - answered)
            return bool(found) and found[0]["mode"] == "events" and found[0]["watches"] > FOLDERS

        until(is_watched, "all folders to be watched", seconds=LONG)
        took = time.monotonic() - began
        print(f"\n{FOLDERS} folders: watched after {took:.1f} s; "
              f"longest answers {({name: round(each, 2) for name, each in longest.items()})} s")  # fmt: skip
        assert max(longest["hello"], longest["daemon"]) < took / 3, "the daemon answers all the while"
        until(daemon.is_settled, "the daemon to rest", seconds=LONG)
        until(lambda: daemon.agent()["state"] == "ok", "the agent to be ok", seconds=LONG)
        (deepest / "note.md").write_text("# Deep down\n")
        wanted = "forest/7/7/a/b/c/d/note.md"
        until(lambda: wanted in paths(ada), "the change in the deepest folder to be captured", seconds=LONG)
        until(daemon.is_settled, "the daemon to rest", seconds=LONG)
        # Events are still being read when a capture ends, and the tick looks after 20,000 folders.
        assert until(lambda: ticks_in(daemon.pid, 10.0) <= 2, "ten seconds without work", seconds=120)
    finally:
        daemon.kill()
    ada.trees[ada.head] = read_tree(ada.workspace)
    always(ada.context, ada.agent, ada.trees)


def mode(daemon: Daemon) -> str:
    """How the agent is watched, "" while it is in no list yet."""
    return next((str(one["mode"]) for one in daemon.ask("daemon")["agents"]), "")


def ticks_in(pid: int, seconds: float) -> int:
    """Clock ticks (mostly hundredths of a second) that a process takes in a time in which nothing happens."""
    before = _ticks(pid)
    time.sleep(seconds)
    return _ticks(pid) - before


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def limited(watches: int) -> tuple[str, ...]:
    """A command that runs another one with fewer watches than there are folders."""
    setting = "/proc/sys/user/max_inotify_watches"
    script = f'echo {watches} > {setting} && exec "$@"'
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed here")
    tried = subprocess.run(["unshare", "-Ur", "sh", "-c", script, "sh", "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("no user namespace with a limit of its own can be made here")
    return ("unshare", "-Ur", "sh", "-c", script, "sh")


def test_where_watches_end_it_is_said_and_changes_are_captured_all_the_same(ada: Harbour, forest: Path) -> None:
    daemon = Daemon(ada.context, tick=3.0, before=limited(1000))
    try:
        daemon.start()
        until(lambda: mode(daemon) == "partial", "the limit to be noticed", seconds=LONG)
        seen = daemon.ask("daemon")["agents"][0]
        assert seen["watches"] <= 1000 and seen["folders"] > FOLDERS and "max_user_watches" in seen["reason"]
        until(lambda: not daemon.ask("daemon")["jobs"], "the daemon to rest", seconds=LONG)
        assert any("the system limit for" in reason for reason in daemon.agent()["reasons"]), daemon.agent()["reasons"]
        wanted = set()
        for number in range(0, FOLDERS // 100, 20):
            (forest / str(number) / "98" / "new.md").write_text("# New\n")
            wanted.add(f"forest/{number}/98/new.md")
        until(lambda: wanted <= paths(ada), "changes in folders that are not watched to be captured", seconds=LONG)
    finally:
        daemon.kill()
    ada.trees[ada.head] = read_tree(ada.workspace)
    always(ada.context, ada.agent, ada.trees)
