"""Words that a user types to confirm: a wrong one is answered with the expected one."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from rich.console import Console

from lifeboat_cli.terminal.command_session import ask_typed_word
from lifeboat_cli.terminal.output import CommandOutput, wrap_question
from support.cli.cli_client import run
from support.paths import ROOT
from support.terminal import Terminal


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that the user types."""
    typed: list[str] = []
    lines: Iterator[str] = (typed.pop(0) for _ in range(99))
    monkeypatch.setattr(click, "prompt", lambda *_, **__: next(lines))
    return typed


def test_a_wrong_word_is_answered_with_the_expected_one_and_is_not_repeated(
    answers: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    answers += ["a secret", "purge 3"]
    ask_typed_word(CommandOutput(as_json=False), "purge 3")
    said = capsys.readouterr().err
    assert said == "That is not 'purge 3'. Nothing was changed. Try again.\n"


@pytest.mark.parametrize("typed", [[""], ["x", ""], ["x", "y", "z"]])
def test_an_empty_answer_or_three_wrong_ones_end_the_command(answers: list[str], typed: list[str]) -> None:
    answers += typed
    with pytest.raises(click.Abort):
        ask_typed_word(CommandOutput(as_json=False), "purge 3")
    assert answers == []


def test_the_name_of_a_machine_may_be_typed_in_another_case(answers: list[str]) -> None:
    answers += ["LAPTOP"]
    ask_typed_word(CommandOutput(as_json=False), "laptop", ignores_case=True)


def test_no_other_code_asks_for_a_word_to_be_typed() -> None:
    asking = [path for path in (ROOT / "cli").rglob("*.py") if " to continue (Enter stops)" in path.read_text()]
    assert [path.name for path in asking] == ["command_session.py"]
    others = [path.name for path in (ROOT / "cli").rglob("*.py") if "Type {" in path.read_text()]
    assert others == []


def test_a_purge_says_what_was_expected(isolated_home: Path) -> None:
    workspace = isolated_home / ".openclaw/workspace"
    workspace.mkdir(parents=True)
    (workspace / "IDENTITY.md").write_text("# Identity\n- **Name:** Juniper\n")
    (workspace / "MEMORY.md").write_text("# Memory\n\nBen likes tulips.\n")
    run("agents", "add", workspace)
    with Terminal("purge", "Juniper", "--text", "tulips", COLUMNS="200") as terminal:
        word = terminal.wait_for(r"Type '([^']+)'")[1]
        terminal.type("yes")
        terminal.wait_for(f"That is not '{word}'. Nothing was changed. Try again.")
        terminal.type("")
        assert terminal.ended() == 130


def test_a_long_question_is_wrapped_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Console(file=io.StringIO(), force_terminal=True).file)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    lines = wrap_question("Restore Juniper with its credentials, and make this machine its writer?").split("\n")
    assert len(lines) == 3 and max(map(len, lines)) <= 32
    assert " ".join(lines) == "Restore Juniper with its credentials, and make this machine its writer?"
