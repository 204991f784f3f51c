"""A purge also purges what it searches; what it cannot search is listed in its plan and receipt."""

from __future__ import annotations

import base64
import gzip
import os
import shutil
import sys
from pathlib import Path

import pytest

from lifeboat_cli import program
from lifeboat_core.purge import local_file_search
from support.cli.cli_client import run
from support.core.machines import Machine

PIN = "X1234567 is the PIN of the door"
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    made.write("notes/a.md", f"before\n{PIN}\nafter\n")
    made.write("notes/a.md.gz", gzip.compress(PIN.encode()))
    made.write("notes/mail.txt", base64.encodebytes(f"{PIN}. {'More of it. ' * 20}".encode()))
    made.write("notes/door.png", PICTURE)
    made.add(name="ada")
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "home"))
    return made


def test_files_in_other_forms_are_looked_into(ada: Machine) -> None:
    planned = run("purge", "ada", "--text", PIN, "--dry-run")
    assert {"notes/a.md", "notes/a.md.gz", "notes/mail.txt"} <= {
        hit["where"].split("/", 1)[1] for hit in planned["hits"]
    }
    done = run("purge", "ada", "--text", PIN, "--workspace", "--yes")
    assert done["searched"]["hits"] == 0
    assert ada.read("notes/a.md") == "before\n\nafter\n"
    assert "More of it." in base64.b64decode(ada.read("notes/mail.txt")).decode("utf-8", "replace")
    again = run("purge", "ada", "--text", PIN, "--dry-run")
    assert again["hits"] == []
    (left,) = again["beside"]  # nothing would be left of it, so it is not cut
    assert left["where"] == "notes/a.md.gz"
    (command,) = (each["command"] for each in done["live"] if each["command"])
    assert command.startswith("rm ") and command.endswith("notes/a.md.gz")


def test_the_plan_and_the_receipt_name_what_is_not_looked_into(ada: Machine) -> None:
    named = [{"where": "notes/door.png", "form": "a picture"}]
    assert run("purge", "ada", "--text", PIN, "--dry-run")["not_looked_into"] == named
    done = run("purge", "ada", "--text", PIN, "--workspace", "--yes")
    unreachable = run("receipts", "show", done["receipt"])["receipt"]["unreachable"]
    assert {each["name"] for each in unreachable} == {"notes/door.png"}


def test_the_receipt_does_not_repeat_the_text_that_a_name_holds(ada: Machine) -> None:
    ada.write(f"notes/{PIN}.png", PICTURE)
    ada.capture()
    planned = run("purge", "ada", "--text", PIN, "--dry-run")
    assert [name.rpartition("/")[2] for name in planned["names"]] == [f"{PIN}.png"]
    done = run("purge", "ada", "--text", PIN, "--yes")
    shown = run("receipts", "show", done["receipt"])
    assert PIN not in str(shown)
    assert any(each["name"].startswith("notes/") and "█" in each["name"] for each in shown["receipt"]["unreachable"])


def test_people_are_told_what_is_never_looked_into(ada: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command(["purge", "ada", "--text", PIN, "--dry-run"]) == 0
    said = "".join(capsys.readouterr())
    assert "these files could not be searched: notes/door.png" in said
    assert "A purge never searches encrypted files, images" in said


ODD = os.fsdecode(b"notes/caf\xe9.png")
SPELLED = "notes/caf%E9.png"


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="its file systems take names in UTF-8 alone")
def test_a_name_that_is_no_utf8_is_spelled_as_archives_spell_it(ada: Machine) -> None:
    shutil.copy(ada.workspace / "notes/door.png", ada.workspace / ODD)
    shutil.copy(ada.workspace / "notes/a.md", (ada.workspace / ODD).with_suffix(".md"))
    planned = run("purge", "ada", "--text", PIN, "--dry-run")
    assert SPELLED in [each["where"] for each in planned["not_looked_into"]]
    assert "notes/caf%E9.md" in [each["where"] for each in planned["beside"]]
    done = run("purge", "ada", "--text", PIN, "--workspace", "--yes")
    unreachable = run("receipts", "show", done["receipt"])["receipt"]["unreachable"]
    assert SPELLED in [each["name"] for each in unreachable]


def test_a_file_has_one_name_in_the_history_and_in_the_workspace(ada: Machine) -> None:
    ada.write("artifacts/a.png", PICTURE)
    ada.write("notes/a%41.png", PICTURE)
    named = [each["where"] for each in run("purge", "ada", "--text", PIN, "--dry-run")["not_looked_into"]]
    assert named == ["artifacts/a.png", "notes/a%2541.png", "notes/door.png"]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="its file systems take names in UTF-8 alone")
def test_a_file_that_cannot_be_read_is_named_in_the_receipt_whatever_it_is_called(
    ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_file_search, "LARGEST", 20)
    (ada.workspace / ODD).write_bytes(b"x" * 21)
    done = run("purge", "ada", "--text", PIN, "--yes")
    assert SPELLED in [each["name"] for each in done["unreachable"]]
    unreachable = run("receipts", "show", done["receipt"])["receipt"]["unreachable"]
    assert SPELLED in [each["name"] for each in unreachable]
