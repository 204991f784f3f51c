"""A disk that is full, at every write: the home lies on a small file system that is filled to ever other brims."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_cli.demo.tree_comparison import read_tree
from lifeboat_core.settings import config_file
from support.cli.cli_client import run
from support.core.harbour import Harbour, harbour
from support.core.invariants import always
from support.daemon.serving import Daemon, serving
from support.waiting import until

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root"),
]

SIZE = 24 * 1024 * 1024
LEFT = [0, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768]
"""KiB that are left free, one round each: less and less of a capture's writes find room."""


@pytest.fixture
def ada(tmp_path: Path) -> Iterator[Harbour]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", str(home)], check=True)
    try:
        made = harbour(tmp_path)
        config_file.write_config(made.context.home, made.context.files, "vault.min_free", 0)
        made.trees.clear()  # the first capture left large files out: the setting was not there yet
        yield made
    finally:
        subprocess.run(["umount", "-l", str(home)], check=True)


def fill(ada: Harbour, left: int) -> Path:
    """Take all the room but so many KiB, and say with which file."""
    filler = ada.context.home.folder / "logs" / "filler"
    free = os.statvfs(ada.context.home.folder)
    with filler.open("wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, max(1, free.f_bavail * free.f_frsize - left * 1024))
    return filler


def a_day(ada: Harbour, number: int) -> None:
    """Something of every kind changes: memory, a new file, a file beyond what lies in the database."""
    with (ada.workspace / "MEMORY.md").open("a") as memory:
        memory.write(f"\n## Day {number}\n\nThe tide came {number} times.\n")
    (ada.workspace / "memory" / f"full-{number}.md").write_text(f"# Full {number}\n\n- A line\n" * 20)
    (ada.workspace / f"sound-{number}.bin").write_bytes(os.urandom(300_000))


def test_a_full_disk_is_said_and_once_there_is_room_all_is_captured_again(ada: Harbour) -> None:
    said = 0
    with serving(ada.context) as daemon:
        until(daemon.is_settled, "the first look to end")
        for number, left in enumerate(LEFT):
            before = ada.head
            filler = fill(ada, left)
            a_day(ada, number)
            until(lambda before=before: captured(daemon, before) or is_troubled(daemon), "a capture or a word about it")
            said += is_troubled(daemon)
            filler.unlink()
            (ada.workspace / f"sound-{number}.bin").unlink()
            until(lambda before=before: captured(daemon, before), "the capture to be made up for", seconds=90)
            until(lambda: daemon.agent()["state"] == "ok" and daemon.is_settled(), "all to be well", seconds=90)
            assert daemon.ask("sync")["agents"][0]["state"] == "ok"
            ada.trees[ada.head] = read_tree(ada.workspace)
    assert said > len(LEFT) / 4
    always(ada.context, ada.agent, ada.trees)
    print(f"{said} of {len(LEFT)} brims were said, sequence {ada.head}")


def test_history_is_read_and_restored_to_another_disk_while_the_disk_is_full(
    ada: Harbour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "LIFEBOAT_HOME"):
        monkeypatch.setenv(name, ada.context.environment[name])
    fill(ada, 0)
    a_day(ada, 1)
    assert run("timeline", ada.agent.name)["entries"][0]["sequence"] == 0
    assert run("log")["entries"]
    assert run("verify", ada.agent.name, expect=1)["mismatches"] == []  # a large file found no room
    run("restore", ada.agent.name, "--to", tmp_path / "back", "--with-credentials", "--no-reindex")
    assert (tmp_path / "back" / "MEMORY.md").is_file()
    failed = run("sync", expect=1)["agents"][0]
    assert (failed["state"], failed["sequence"]) == ("error", 0)
    run("status", "--check", expect=1)
    assert any("is full" in problem for problem in run("status")["problems"])


def captured(daemon: Daemon, before: int) -> bool:
    """Asked of the daemon: on a full disk nobody else can open the vault either."""
    return int(daemon.agent()["sequence"]) > before


def is_troubled(daemon: Daemon) -> bool:
    return daemon.agent()["state"] in ("error", "waiting")
