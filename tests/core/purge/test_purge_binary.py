"""Purges of binary files: a database keeps its other rows, and no live file is emptied."""

from __future__ import annotations

import io
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_alf.purging import body_cuts
from lifeboat_alf.purging.byte_spans import Span
from lifeboat_alf.redaction.redactions import ByteEdit
from lifeboat_cli import program
from lifeboat_core.restore import RestoreOptions, restore_agent
from support.cli.cli_client import run
from support.core.machines import Machine

PIN = "X1234567 is the PIN of the door"
ROWS = 100


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    with closing(sqlite3.connect(made.workspace / "own.db", isolation_level=None)) as connection:
        connection.execute("create table fact(id integer primary key, said)")
        connection.executemany("insert into fact(said) values (?)", [("calm",)] * ROWS)
        connection.execute("insert into fact(said) values (?)", (f"({PIN})",))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", PIN)
    made.write("pack.zip", packed.getvalue())
    made.add(name="ada")
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "home"))
    return made


def said(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
        return [row[0] for row in connection.execute("select said from fact order by id")]


def test_a_database_loses_the_passage_alone_in_the_history_and_in_the_workspace(ada: Machine, tmp_path: Path) -> None:
    done = run("purge", "ada", "--text", PIN, "--workspace", "--yes")
    assert [path.rpartition("/")[2] for path in done["dropped"]] == ["pack.zip"]
    restore_agent(ada.context, ada.known_agent, RestoreOptions(at=0, to=tmp_path / "new", reindex=False))
    for database in (tmp_path / "new" / "own.db", ada.workspace / "own.db"):
        assert said(database) == [*["calm"] * ROWS, f"({' ' * len(PIN)})"]


def test_a_live_file_of_which_nothing_would_be_left_stays_and_is_named(
    ada: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (ada.workspace / "pack.zip").read_bytes()
    done = run("purge", "ada", "--text", PIN, "--workspace", "--yes")
    assert done["workspace"] == ["artifacts/own.db"]
    assert (ada.workspace / "pack.zip").read_bytes() == before
    command = f"rm {ada.workspace / 'pack.zip'}"
    assert [each["command"] for each in done["live"] if each["command"]] == [command]
    assert program.run_command(["purge", "ada", "--kept-out", "--yes"]) == 0
    assert command in "".join(capsys.readouterr())
    assert (ada.workspace / "pack.zip").read_bytes() == before
    ada.capture()
    assert "pack.zip" in str(run("status", "ada"))
    assert ada.entries_at()["artifacts/pack.zip"] == b""


def test_a_line_of_text_in_two_bytes_a_letter_leaves_the_live_file(ada: Machine) -> None:
    ada.write("wide.txt", f"{PIN} and more".encode("utf-16"))
    done = run("purge", "ada", "--text", PIN, "--line", "--workspace", "--yes")
    assert any(path.endswith("wide.txt") for path in done["workspace"])
    assert (ada.workspace / "wide.txt").read_bytes() == b""


def test_a_link_is_no_file_that_was_not_looked_through(ada: Machine) -> None:
    (ada.workspace / "link").symlink_to("MEMORY.md")
    (ada.workspace / "dangling").symlink_to("nowhere")
    done = run("purge", "ada", "--text", PIN, "--yes")
    assert done["unreachable"] == []
    unreachable = run("receipts", "show", done["receipt"])["receipt"]["unreachable"]
    assert unreachable == []


def test_people_are_told_that_a_binary_file_that_changes_may_be_left_out(
    ada: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.run_command(["purge", "ada", "--text", PIN, "--dry-run"]) == 0
    assert (
        "captures may leave out these files after their next change, unless you remove the text from the files: own.db"
        in "".join(capsys.readouterr())
    )
    assert program.run_command(["purge", "ada", "--text", PIN, "--dry-run", "--workspace"]) == 0
    assert "may leave out" not in "".join(capsys.readouterr())


def say(database: Path, *texts: str) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.executemany("insert into fact(said) values (?)", [(text,) for text in texts])


def test_a_database_that_changed_is_captured_without_what_was_purged(ada: Machine, tmp_path: Path) -> None:
    run("purge", "ada", "--text", PIN, "--yes")
    say(ada.workspace / "own.db", "new", f"again: {PIN}!")
    ada.capture()
    body = ada.entries_at()["artifacts/own.db"]
    assert (PIN.encode() in body, b"again: " in body) == (False, True)
    (tmp_path / "own.db").write_bytes(body)
    assert said(tmp_path / "own.db")[-2:] == ["new", f"again: {' ' * len(PIN)}!"]


@pytest.fixture
def pin(ada: Machine) -> str:
    """Put guessable text into the database."""
    say(ada.workspace / "own.db", "the pin is 483920")
    ada.capture()
    return "483920"


def test_a_database_that_changed_and_may_hold_a_short_text_is_left_out_and_named(ada: Machine, pin: str) -> None:
    run("purge", "ada", "--text", pin, "--yes")
    assert not ada.capture().over_limit
    say(ada.workspace / "own.db", "new")
    report = ada.capture()
    assert set(report.over_limit) == {"artifacts/own.db"}
    assert pin.encode() not in ada.entries_at()["artifacts/own.db"]
    found = run("status", "ada")["agents"][0]
    assert (found["over_limit"], found["limit_fix"]) == (1, "lifeboat purge ada --let-in")
    assert any(
        "own.db is not captured: a purge removed text from this file; the file has changed since" in reason
        for reason in found["reasons"]
    )
    assert program.run_command(["status", "--check"]) == 1


def test_a_file_that_was_left_out_is_captured_once_the_user_says_so(ada: Machine, pin: str) -> None:
    run("purge", "ada", "--text", pin, "--yes")
    with closing(sqlite3.connect(ada.workspace / "own.db", isolation_level=None)) as connection:
        connection.execute("delete from fact where said like '%pin%'")
        connection.execute("vacuum")
    say(ada.workspace / "own.db", "new")
    ada.capture()
    assert run("purge", "ada", "--let-in", "--dry-run")["let_in"] == ["artifacts/own.db"]
    assert run("purge", "ada", "--let-in")["let_in"] == ["artifacts/own.db"]
    assert not ada.capture().over_limit
    assert b"new" in ada.entries_at()["artifacts/own.db"]
    assert run("purge", "ada", "--let-in")["let_in"] == []


def test_a_database_that_was_cut_in_the_workspace_is_captured_as_it_changes(ada: Machine, pin: str) -> None:
    run("purge", "ada", "--text", pin, "--workspace", "--yes")
    say(ada.workspace / "own.db", "new")
    assert not ada.capture().over_limit
    body = ada.entries_at()["artifacts/own.db"]
    assert (pin.encode() in body, b"new" in body) == (False, True)


def test_a_short_text_of_which_a_print_is_kept_is_cut_out_of_a_database_that_changed(ada: Machine, pin: str) -> None:
    run("purge", "ada", "--text", pin, "--keep-print", "--yes")
    say(ada.workspace / "own.db", "new")
    ada.capture()
    body = ada.entries_at()["artifacts/own.db"]
    assert (pin.encode() in body, b"new" in body) == (False, True)


def test_an_archive_that_changed_is_left_out(ada: Machine) -> None:
    run("purge", "ada", "--text", PIN, "--yes")
    with zipfile.ZipFile(ada.workspace / "pack.zip", "a") as archive:
        archive.writestr("b.txt", "new")
    assert set(ada.capture().over_limit) == {"artifacts/pack.zip"}
    assert ada.entries_at()["artifacts/pack.zip"] == b""


def test_an_archive_that_still_holds_the_text_is_captured_and_named_once_the_user_says_so(ada: Machine) -> None:
    run("purge", "ada", "--text", PIN, "--yes")
    with zipfile.ZipFile(ada.workspace / "pack.zip", "a") as archive:
        archive.writestr("b.txt", f"{PIN}, and more of the same. " * 9, zipfile.ZIP_DEFLATED)
    ada.capture()
    assert run("purge", "ada", "--let-in")["let_in"] == ["artifacts/pack.zip"]
    report = ada.capture()
    assert (report.over_limit, report.purged_again) == ({}, {"artifacts/pack.zip": 1})
    assert ada.entries_at()["artifacts/pack.zip"] == (ada.workspace / "pack.zip").read_bytes()
    assert run("purge", "ada", "--let-in")["let_in"] == []


def test_the_plan_says_that_a_short_text_is_not_known_again(ada: Machine, pin: str) -> None:
    assert run("purge", "ada", "--text", pin, "--dry-run")["guessable"] is True
    assert run("purge", "ada", "--text", PIN, "--dry-run")["guessable"] is False


def test_a_restore_names_a_database_that_a_purge_of_an_earlier_release_damaged(
    ada: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def removed(body: bytes, spans: list[Span]) -> tuple[ByteEdit, ...]:
        return tuple(ByteEdit(start, end - start, b"") for start, end in spans)

    monkeypatch.setattr(body_cuts, "blank_spans", removed)
    run("purge", "ada", "--text", PIN, "--yes")
    done = restore_agent(ada.context, ada.known_agent, RestoreOptions(at=0, to=tmp_path / "new", reindex=False))
    assert "own.db: SQLite reports this database as damaged, because a purge removed content from it" in done.warnings
