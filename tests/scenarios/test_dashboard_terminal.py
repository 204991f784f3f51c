"""A restore and a purge by keys alone, on a real terminal, with a real daemon: what a person does, and sees."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from support import tmux
from support.adapters.openclaw_workspaces import make_workspace
from support.cli import cli_client
from support.daemon.serving import serving
from support.patience import factor
from support.tmux import Terminal

run = cli_client.run
CANARY = "the canary's passport is 4711-X"
BEFORE = f"# Memory\n\n## Tea\n\nGreen tea in the morning.\n\n## Passport\n\nOf all things {CANARY}.\n"
AFTER = "# Memory\n\n## Nothing\n\nAll was overwritten by accident.\n"
LIFEBOAT = (sys.executable, "-c", "from lifeboat_cli import main; main()")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Three sequences: the canary comes in 1 and goes in 2."""
    folder = tmp_path / "workspace"
    make_workspace(folder)
    run("agents", "add", folder, "--name", "ada")
    for text in (BEFORE, AFTER):
        (folder / "MEMORY.md").write_text(text)
        run("sync")
    return folder


@pytest.fixture
def terminal(workspace: Path) -> Iterator[Terminal]:
    with serving(Context.open()), tmux.terminal(LIFEBOAT, dict(os.environ)) as opened:
        opened.shows("Agents [1]", "ada")
        yield opened


def test_a_restore_from_the_timeline_and_back_again(terminal: Terminal, workspace: Path) -> None:
    terminal.press("Enter")
    terminal.shows("timeline", "Sequences [3]")
    terminal.press("Down")
    terminal.shows("0 → 1", "Green tea")
    terminal.press("r")
    terminal.shows("Preview", "From   sequence 1", "OVERWRITE", "lifeboat restore ada --at 1")
    assert (workspace / "MEMORY.md").read_text() == AFTER
    terminal.press("R")
    terminal.shows("Restored sequence 1 of ada", "press u, or run")
    assert (workspace / "MEMORY.md").read_text() == BEFORE
    terminal.press("u")
    terminal.shows("Undo the last restore?")
    terminal.press("Tab", "Enter")
    terminal.shows("was undone")
    assert (workspace / "MEMORY.md").read_text() == AFTER
    terminal.press("Escape")
    terminal.shows("timeline")


def test_a_purge_from_the_search_to_the_proof(terminal: Terminal, workspace: Path) -> None:
    terminal.press("P")
    terminal.shows("1 Search", "What to purge")
    terminal.type(CANARY)
    terminal.press("Enter")
    shown = terminal.shows("Preview", "will be purged", "MEMORY.md")
    assert CANARY not in shown
    terminal.press("C-n")
    words = re.search(r"Type +(purge \d+) +to continue", terminal.shows("Type  purge"))
    assert words is not None
    terminal.type(words[1])
    terminal.shows_times(words[1], 2)  # what is to be typed, and what was typed
    while "3 Confirm ◉" in terminal.screen:  # the first one goes on to the button, which is another step
        terminal.press("Enter")
        time.sleep(2 * factor())
    shown = terminal.shows("0 matches", "The receipt is valid")
    assert CANARY not in shown
    assert run("search", "ada", "canary", "--history")["hits"] == []
    (receipt,) = run("receipts", "list")["receipts"]
    assert receipt["done"] and run("receipts", "show", receipt["id"])["holds"]
    run("restore", "ada", "--at", "1", "--to", workspace.with_name("then"))
    then = (workspace.with_name("then") / "MEMORY.md").read_text()
    assert "Green tea" in then and CANARY not in then


def test_closing_it_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    terminal.press("q")
    screen = terminal.shows("EXIT 0")
    assert "Agents" not in screen


def test_a_terminal_that_shrinks_and_grows_is_drawn_anew(terminal: Terminal) -> None:
    terminal.resize(50, 12)
    terminal.shows("The terminal is 50x12; the dashboard needs 60x15.")
    terminal.resize(80, 24)
    terminal.shows("Agents [1]", "sync")
