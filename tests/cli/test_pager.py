"""Long lists go through a pager on a terminal, and nowhere else."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from lifeboat_cli.terminal.pager import choose_pager, show_in_pager
from support.docs import doc_pages
from support.patience import patience
from support.terminal import Terminal

LINES = "".join(f"line {number}\n" for number in range(30_000))
"""More than fits into a pipe."""
MARKED = {"LIFEBOAT_PAGER": "sed s/^/paged:/", "LINES": "10"}


def _console() -> Console:
    return Console(file=io.StringIO(), width=80, height=10, force_terminal=True)


def _pager(folder: Path, script: str) -> str:
    path = folder / "pager.py"
    path.write_text(script)
    return f"{sys.executable} {path}"


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({"LIFEBOAT_PAGER": "most -w", "PAGER": "less"}, ["most", "-w"]),
        ({"PAGER": "less -S"}, ["less", "-S"]),
        ({"PAGER": "cat"}, None),
        ({"LIFEBOAT_PAGER": "", "PAGER": "less"}, None),
        ({"PAGER": "less 'open"}, None),
        ({"PATH": "/nonexistent"}, None),
    ],
)
def test_the_variables_choose_the_pager(environment: dict[str, str], command: list[str] | None) -> None:
    assert choose_pager(environment) == command


def test_a_text_that_fits_the_screen_is_printed_without_a_pager(tmp_path: Path) -> None:
    console = _console()
    pager = _pager(tmp_path, f"open({str(tmp_path / 'started')!r}, 'w')")
    show_in_pager("one\ntwo\n", console, {"PAGER": pager})
    assert console.file.getvalue() == "one\ntwo\n"  # type: ignore[attr-defined]
    assert not (tmp_path / "started").exists()


def test_a_pager_gets_the_whole_text_and_less_its_options(tmp_path: Path) -> None:
    script = (
        "import os, pathlib, sys\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "(folder / 'text').write_bytes(sys.stdin.buffer.read())\n"
        "(folder / 'less').write_text(os.environ['LESS'])\n"
    )
    console = _console()
    show_in_pager(f"\x1b[1mhead\x1b[0m\n{LINES}", console, {"PAGER": _pager(tmp_path, script)})
    assert (tmp_path / "text").read_text() == f"head\n{LINES}"
    assert (tmp_path / "less").read_text() == "FRX"
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize("script", ["import sys; sys.stdin.readline()", "import os; os.kill(os.getpid(), 9)"])
def test_a_pager_that_is_left_or_killed_is_no_error(script: str, tmp_path: Path) -> None:
    console = _console()
    show_in_pager(LINES, console, {"PAGER": _pager(tmp_path, script)})
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]


def test_without_a_pager_that_can_be_started_the_text_is_printed() -> None:
    console = _console()
    show_in_pager(LINES, console, {"PAGER": "/nonexistent/pager"})
    assert console.file.getvalue() == LINES  # type: ignore[attr-defined]


def test_a_long_list_goes_through_the_pager_on_a_terminal(tmp_path: Path) -> None:
    with Terminal("config", "list", LIFEBOAT_HOME=str(tmp_path / "home"), **MARKED) as terminal:
        assert terminal.ended() == 0
    assert terminal.said.startswith("paged:setting ") and "\npaged:capture.quiet " in terminal.said


def test_every_command_that_may_print_long_lists_takes_the_option_of_the_pager() -> None:
    names = {"audit", "diff", "doctor", "list", "log", "search", "timeline"}
    lists = {words: command for words, command in doc_pages.commands().items() if words.split()[-1] in names}
    options = {words: {name for each in command.params for name in each.opts} for words, command in lists.items()}
    assert sorted(words for words, known in options.items() if "--no-pager" not in known) == []
    assert {"doctor", "endpoint doctor", "remote list"} <= lists.keys()


@pytest.mark.parametrize(
    "arguments",
    [
        ("config", "list", "--no-pager"),
        ("--no-pager", "config", "list"),
        ("config", "list", "--json"),
        ("--json", "config", "list"),
    ],
)
def test_no_pager_starts_if_it_is_not_wanted(arguments: tuple[str, ...], tmp_path: Path) -> None:
    with Terminal(*arguments, LIFEBOAT_HOME=str(tmp_path / "home"), **MARKED) as terminal:
        assert terminal.ended() == 0
    assert "paged:" not in terminal.said and "capture.quiet" in terminal.said


def test_no_pager_starts_without_a_terminal(tmp_path: Path) -> None:
    environment = {"LIFEBOAT_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", **MARKED}
    command = [sys.executable, "-c", "from lifeboat_cli import main; main(['config', 'list'])"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=patience())
    assert done.stdout.startswith("setting ") and "paged:" not in done.stdout
