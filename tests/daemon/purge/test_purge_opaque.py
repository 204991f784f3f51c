"""What a purge does not look into is named in its plan and in its receipt."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path

import pytest

from lifeboat_alf.purging.opaque import form_of
from lifeboat_daemon.cli import program
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
