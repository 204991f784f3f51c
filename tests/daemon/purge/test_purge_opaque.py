"""What a purge does not look into is named in its plan and in its receipt."""

from __future__ import annotations

import base64
import gzip
import os
import shutil
import sys
from pathlib import Path

import pytest

from lifeboat_alf.purging.opaque import form_of
from lifeboat_daemon.cli import program
from lifeboat_daemon.purge import places
from support.daemon.cli_client import run
from support.daemon.machines import Machine

PIN = "X1234567 is the PIN of the door"


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    made.write("notes/a.md", f"before\n{PIN}\nafter\n")
    made.write("notes/a.md.gz", gzip.compress(PIN.encode()))
    made.write("notes/mail.txt", base64.encodebytes(f"{PIN}. {'More of it. ' * 20}".encode()).replace(b"\n", b""))
    made.add(name="ada")
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "home"))
    return made


def test_the_plan_and_the_receipt_name_files_in_other_forms(ada: Machine) -> None:
    named = [{"where": "notes/a.md.gz", "form": "gzip"}, {"where": "notes/mail.txt", "form": "base64"}]
    assert run("purge", "ada", "--text", PIN, "--dry-run")["not_looked_into"] == named
    done = run("purge", "ada", "--text", PIN, "--workspace", "--yes")
    unreachable = run("receipts", "show", done["receipt"])["receipt"]["unreachable"]
    assert {each["name"] for each in unreachable} == {"notes/a.md.gz", "notes/mail.txt"}


def test_the_receipt_does_not_repeat_the_text_that_a_name_holds(ada: Machine) -> None:
    ada.write(f"notes/{PIN}.gz", gzip.compress(b"calm"))
    ada.capture()
    planned = run("purge", "ada", "--text", PIN, "--dry-run")
    assert [name.rpartition("/")[2] for name in planned["names"]] == [f"{PIN}.gz"]
    done = run("purge", "ada", "--text", PIN, "--yes")
    shown = run("receipts", "show", done["receipt"])
    assert PIN not in str(shown)
    assert any(each["name"].startswith("notes/") and "█" in each["name"] for each in shown["receipt"]["unreachable"])


def test_people_are_told_what_is_never_looked_into(ada: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(["purge", "ada", "--text", PIN, "--dry-run"]) == 0
    said = "".join(capsys.readouterr())
    assert "not looked into: notes/a.md.gz (gzip) and notes/mail.txt (base64)" in said
    assert "Not looked into at all: base64" in said


@pytest.mark.parametrize(
    ("start", "form"),
    [
        (b"PK\x03\x04rest", "zip"),
        (b"%PDF-1.7", "PDF"),
        (b"# A note with a digest: " + b"0123456789abcdef" * 4, ""),
        (b"", ""),
    ],
)
def test_a_form_is_known_by_its_first_bytes(start: bytes, form: str) -> None:
    assert form_of(start) == form


ODD = os.fsdecode(b"notes/caf\xe9.gz")
SPELLED = "notes/caf%E9.gz"


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="its file systems take names in UTF-8 alone")
def test_a_name_that_is_no_utf8_is_spelled_as_archives_spell_it(ada: Machine) -> None:
    shutil.copy(ada.workspace / "notes/a.md.gz", ada.workspace / ODD)
    shutil.copy(ada.workspace / "notes/a.md", (ada.workspace / ODD).with_suffix(".md"))
    planned = run("purge", "ada", "--text", PIN, "--dry-run")
    assert SPELLED in [each["where"] for each in planned["not_looked_into"]]
    assert "notes/caf%E9.md" in [each["where"] for each in planned["beside"]]
    done = run("purge", "ada", "--text", PIN, "--workspace", "--yes")
    unreachable = run("receipts", "show", done["receipt"])["receipt"]["unreachable"]
    assert SPELLED in [each["name"] for each in unreachable]


def test_a_file_has_one_name_in_the_history_and_in_the_workspace(ada: Machine) -> None:
    ada.write("artifacts/a.gz", gzip.compress(b"calm"))
    ada.write("notes/a%41.gz", gzip.compress(b"calm"))
    named = [each["where"] for each in run("purge", "ada", "--text", PIN, "--dry-run")["not_looked_into"]]
    assert named == ["artifacts/a.gz", "notes/a%2541.gz", "notes/a.md.gz", "notes/mail.txt"]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="its file systems take names in UTF-8 alone")
def test_a_file_that_cannot_be_read_is_named_in_the_receipt_whatever_it_is_called(
    ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "LARGEST", 20)
    (ada.workspace / ODD).write_bytes(b"x" * 21)
    done = run("purge", "ada", "--text", PIN, "--yes")
    assert SPELLED in [each["name"] for each in done["unreachable"]]
    unreachable = run("receipts", "show", done["receipt"])["receipt"]["unreachable"]
    assert SPELLED in [each["name"] for each in unreachable]
