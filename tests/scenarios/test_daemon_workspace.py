"""What happens to workspaces: emptied, replaced, re-templated, unmounted, while a daemon watches. Nothing of it is a
deletion that goes on, all of it is said, and what comes back is taken up again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_cli.demo.tree_comparison import read_tree
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.settings import config_file
from support.cli.commands import command
from support.core.harbour import Harbour, harbour
from support.core.invariants import always
from support.daemon.serving import Daemon, serving, settled
from support.waiting import until

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


@pytest.fixture
def ada(protected_ada: Harbour) -> Harbour:
    return without_pause(protected_ada)


def without_pause(ada: Harbour) -> Harbour:
    """The same agent, whose large files are captured at once also where they were copied back."""
    config_file.write_config(ada.context.home, ada.context.files, "artifacts.interval", "0s")
    return ada


@pytest.fixture
def daemon(ada: Harbour) -> Iterator[Daemon]:
    with settled(ada.context) as running:
        yield running


def state(daemon: Daemon) -> str:
    return str(daemon.agent()["state"])


def test_an_emptied_workspace_is_said_and_comes_back_whole(ada: Harbour, daemon: Daemon, tmp_path: Path) -> None:
    shutil.copytree(ada.workspace, tmp_path / "copy", symlinks=True)
    for entry in list(ada.workspace.iterdir()):
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    until(lambda: state(daemon) == "error", "the loss to be said")
    assert ada.head == 0
    shutil.copytree(tmp_path / "copy", ada.workspace, symlinks=True, dirs_exist_ok=True)
    until(lambda: state(daemon) == "ok", "what came back to be taken")
    always(ada.context, ada.agent, ada.trees)


def test_a_workspace_that_another_one_took_the_place_of_is_not_captured(
    ada: Harbour, daemon: Daemon, tmp_path: Path
) -> None:
    ada.workspace.rename(tmp_path / "aside")
    ada.workspace.mkdir()
    (ada.workspace / "MEMORY.md").write_text("# Memory\n\n- Of somebody else.\n")
    until(lambda: state(daemon) == "error", "the stranger to be noticed")
    shutil.rmtree(ada.workspace)
    (tmp_path / "aside").rename(ada.workspace)
    until(lambda: state(daemon) == "ok", "the own one to be taken again")
    assert ada.head == 0
    with (ada.workspace / "MEMORY.md").open("a") as memory:
        memory.write("\n- Home again.\n")
    until(lambda: ada.head == 1, "changes to be captured again")


def test_a_template_over_the_memory_is_held_and_captures_go_on(ada: Harbour, daemon: Daemon) -> None:
    (ada.workspace / "MEMORY.md").write_text("# Memory\n\n- Write here what you want to remember.\n")
    for log in (ada.workspace / "memory").glob("*.md"):
        log.unlink()
    until(lambda: state(daemon) == "held", "the loss to be held")
    held = daemon.agent()["held"]
    before = ada.head
    (ada.workspace / "SOUL.md").write_text("# Soul\n\nStill here.\n")
    until(lambda: ada.head > before, "captures to go on")
    assert state(daemon) == "held"
    status, document = in_home(ada, "restore", "Ada", "--at", str(held["previous"]), "--yes")
    assert status == 0, document
    until(lambda: state(daemon) == "ok", "the restore to end it")
    assert (ada.workspace / "MEMORY.md").read_bytes() and len(list((ada.workspace / "memory").glob("*.md"))) > 0


def in_home(ada: Harbour, *arguments: str) -> tuple[int, dict[str, object]]:
    """A command in the home that the daemon serves."""
    before = dict(os.environ)
    os.environ.update(ada.context.environment)
    try:
        return command(*arguments)
    finally:
        os.environ.clear()
        os.environ.update(before)


@NEEDS_ROOT
def test_a_workspace_that_is_unmounted_is_waited_for(tmp_path: Path) -> None:
    ada = without_pause(harbour(tmp_path))
    disk = tmp_path / "disk"
    shutil.copytree(ada.workspace, disk, symlinks=True)
    subprocess.run(["mount", "--bind", str(disk), str(ada.workspace)], check=True)
    try:
        with serving(ada.context) as daemon:
            until(lambda: state(daemon) == "ok" and daemon.is_settled(), "the workspace to be taken")
            kept = ada.head
            shutil.rmtree(tmp_path / "below", ignore_errors=True)
            subprocess.run(["umount", "-l", str(ada.workspace)], check=True)
            for entry in list(ada.workspace.iterdir()):  # what lies below a mount point is nothing, mostly
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
            until(lambda: state(daemon) == "error", "the loss to be said")
            assert ada.head == kept
            subprocess.run(["mount", "--bind", str(disk), str(ada.workspace)], check=True)
            in_home(ada, "sync")
            until(lambda: state(daemon) == "ok", "the workspace to be back")
            (ada.workspace / "MEMORY.md").write_text("# Memory\n\n- After the return.\n")
            until(lambda: ada.head > kept, "changes to be captured again", seconds=90)
    finally:
        subprocess.run(["umount", "-l", str(ada.workspace)], check=False)


def test_who_holds_an_agent_is_waited_for_and_named(ada: Harbour, daemon: Daemon) -> None:
    with agent_lock(ada.context, ada.agent.id, "restore"):
        (ada.workspace / "memory" / "wait.md").write_text("# Written while a command is at work\n")
        until(lambda: state(daemon) == "waiting", "the wait to be said")
        reason = daemon.agent()["reasons"][0]
        assert str(os.getpid()) in reason and "restore" in reason
        assert ada.head == 0
    until(lambda: ada.head == 1, "the capture to be made up for")
    until(lambda: state(daemon) == "ok", "all to be well")


def test_a_restore_beside_a_daemon_is_captured_once_and_whole(ada: Harbour, daemon: Daemon) -> None:
    before = read_tree(ada.workspace)
    (ada.workspace / "SOUL.md").write_text("# Soul\n\nA change to be taken back.\n")
    until(lambda: ada.head == 1, "the change to be captured")
    status, document = in_home(ada, "restore", "Ada", "--at", "0", "--yes")
    assert status == 0, document
    until(lambda: ada.head > 1 and daemon.is_settled(), "the restore to be seen")
    assert {name: node.content for name, node in read_tree(ada.workspace).items()} == {
        name: node.content for name, node in before.items()
    }
    with ada.context.vault(ada.agent.id) as vault:
        kinds = [row.kind for row in vault.sequences()]
    assert kinds.count("restore") == 1
