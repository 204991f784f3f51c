"""How much a purge of a text takes: the passage, its line, or the memories that have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_cli import program
from support.cli.cli_client import run
from support.core.machines import Machine

PIN = "X1234567 PIN of the door"
LINE = f"The {PIN} was new in May. Ben likes trains.\n"
MEMORY = f"# Memory\n\n## Travel\n\n{LINE}Lisbon in June.\n\n## Tea\n\nGreen in the morning.\n"


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    made.write("MEMORY.md", "# Memory\n\n## Travel\n\nLisbon in June.\n\n## Tea\n\nGreen in the morning.\n")
    made.add(name="ada")
    made.write("MEMORY.md", MEMORY)
    made.capture()
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "home"))
    return made


def notes(machine: Machine) -> list[str]:
    """Return MEMORY.md at each kept sequence."""
    with machine.context.vault(machine.agent.id) as vault:
        return [vault.state(row.number).body("raw/openclaw/MEMORY.md").decode() for row in vault.sequences()]


@pytest.mark.parametrize("option", [(), ("--passage",)])
def test_without_a_choice_the_passage_alone_goes(ada: Machine, option: tuple[str, ...]) -> None:
    before = notes(ada)
    done = run("purge", "ada", "--text", PIN, "--yes", *option)
    assert (done["records"], done["also"]) == (0, [])
    assert notes(ada) == [each.replace(PIN, "") for each in before]


def test_a_line_goes_with_what_stands_in_it(ada: Machine) -> None:
    before = notes(ada)
    done = run("purge", "ada", "--text", PIN, "--line", "--yes")
    assert [each["texts"] for each in done["also"]] == [1, 1]
    assert notes(ada) == [each.replace(LINE, "") for each in before]


def test_a_memory_goes_whole_where_that_is_asked_for(ada: Machine) -> None:
    done = run("purge", "ada", "--text", PIN, "--memory", "--yes")
    assert done["records"] > 0 and len(done["also"]) > 0
    assert all("Lisbon" not in each for each in notes(ada)[1:])


def test_innocent_lines_of_the_live_file_are_captured_after_a_purge_of_a_passage(ada: Machine) -> None:
    run("purge", "ada", "--text", PIN, "--yes")
    ada.write("MEMORY.md", f"{MEMORY}\nLater.\n")
    ada.capture()
    assert notes(ada)[-1] == f"{MEMORY}\nLater.\n".replace(PIN, "")
    reasons = run("status")["agents"][0]["reasons"]
    assert any("MEMORY.md; captures leave this text out" in each for each in reasons)


def test_the_preview_says_how_much_else_goes_and_shows_no_text_in_a_pipe(
    ada: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.run_command(["purge", "ada", "--text", PIN, "--memory", "--dry-run"]) == 0
    said = capsys.readouterr()
    assert "the purge also destroys text around the matches: " in said.err
    assert "Lisbon" not in said.out + said.err and PIN not in said.out + said.err


def test_two_widths_at_once_are_refused(ada: Machine) -> None:
    run("purge", "ada", "--text", PIN, "--line", "--memory", expect=2)
    run("purge", "ada", "--record", "01a20b97-2f23-711d-9179-32c9d686c320", "--line", expect=2)
