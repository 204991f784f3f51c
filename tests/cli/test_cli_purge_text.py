"""The output of `lifeboat purge` for people: each purged text exactly once, and text of live files on a terminal
only."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from functools import partial
from pathlib import Path

import pytest

from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli import program
from lifeboat_cli.purge.purge_text import describe_extent
from lifeboat_core.grants import proposals
from lifeboat_core.grants.proposals import ProposalBook, Request
from support.cli.cli_client import run
from support.core.machines import Machine
from support.core.purged import SCANNER, TEXT
from support.disguises import over_two_pages


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    made.add(name="ada")
    made.write("MEMORY.md", f"# Memory\n\n## Passport\n\n{TEXT}\n")
    made.capture()
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "home"))
    return made


def planned(**given: object) -> dict[str, object]:
    none = {"records": 0, "record_ids": [], "files": {}, "hits": [], "versions": 3, "sequences_rewritten": 2}
    return {**none, **given}


def test_memories_go_whole_and_of_files_the_places() -> None:
    document = planned(records=2, record_ids=["a", "b"], files={"notes.txt": 1})
    assert describe_extent(document) == "2 memories and places in 1 file (3 versions in 2 states)"


def test_a_memory_of_which_the_match_alone_goes_is_no_memory_that_goes() -> None:
    hit = {"kind": "record", "where": "a", "line": None, "masked": "...."}
    assert describe_extent(planned(hits=[hit, hit])) == "places in 1 memory (3 versions in 2 states)"


def test_the_text_of_live_files_goes_into_no_pipe(ada: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command(["purge", "ada", "--text", TEXT, "--workspace", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "Matches in the workspace file MEMORY.md: 1 place" in said
    assert SCANNER.text(said, "a pipe") == []


def test_a_text_over_two_pages_of_a_database_is_purged_and_then_found_no_more(ada: Machine, tmp_path: Path) -> None:
    over_two_pages(TEXT.encode(), tmp_path / "made.db")
    body = (tmp_path / "made.db").read_bytes()
    assert TEXT.encode() not in body
    ada.write("notes/skill.db", body)
    ada.capture()
    said = run("purge", "ada", "--text", TEXT, "--dry-run")
    assert "notes/skill.db" in json.dumps(said)
    run("purge", "ada", "--text", TEXT, "--workspace", "--yes")
    assert "notes/skill.db" not in json.dumps(run("purge", "ada", "--text", TEXT, "--dry-run"))
    with contextlib.closing(sqlite3.connect(ada.workspace / "notes" / "skill.db")) as opened:
        assert opened.execute("pragma integrity_check").fetchone() == ("ok",)
        assert opened.execute("select count(*) from notes").fetchone() == (3,)


def test_ctrl_c_in_the_middle_of_a_purge_does_not_say_that_nothing_was_done(
    ada: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(step: CrashPoint) -> None:
        if step is CrashPoint.PURGE_SWEPT:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(crash_points, "hook", pressed)
        assert program.run_command(["purge", "ada", "--text", TEXT, "--memory", "--yes"]) == 130
    said = capsys.readouterr().err
    assert "the purge was interrupted" in said and "half done" not in said
    assert program.run_command(["receipts", "list"]) == 0
    assert "1 memory  done" in capsys.readouterr().out


@pytest.fixture
def labelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return an agent that has the text in the name of a sequence and in a proposal, and in no file."""
    made = Machine(tmp_path)
    made.add(name="ada")
    made.write("MEMORY.md", "# Memory\n\n## Boat\n\nThe red boat needs paint.\n")
    made.capture()
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "home"))
    with made.context.vault(made.known_agent.id) as vault:
        vault.label(0, f"learned {TEXT}")
        for reason in (TEXT, "please"):
            asked = Request(proposals.RESTORE_FILE, 0, path=f"notes/{len(reason)}.md", reason=reason)
            proposals.change_book(vault, partial(_with_proposal, asked, made.context.now()), proposals.MADE)
    return made


def _with_proposal(asked: Request, now: str, book: ProposalBook) -> ProposalBook:
    return proposals.add_proposal(book, asked, now=now, session="s-1", client="", agent_name="ada")


def test_a_text_that_is_only_in_a_name_and_a_proposal_is_purged_too(
    labelled: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    where = "the name of sequence 0 and proposal 1 of the agent"
    assert program.run_command(["purge", "ada", "--text", TEXT, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "2 names or proposals of ada would be destroyed." in said and f"Would be removed: {where}." in said
    assert program.run_command(["purge", "ada", "--text", TEXT, "--yes"]) == 0
    assert f"Removed: {where}." in capsys.readouterr().out
    with labelled.context.vault(labelled.known_agent.id) as vault:
        assert vault.sequence(0).label is None
        assert [one.number for one in proposals.read_book(vault).proposals] == [2]
        assert vault.verify(trusted=labelled.context.keys().trusted).findings == []
    assert SCANNER.folders(labelled.folder / "home") == []
    assert run("purge", "ada", "--text", TEXT, "--dry-run")["labels"] == []
