"""`lifeboat purge --dry-run` says of each place in how many versions and from which to which kept state it stands."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from support.cli.cli_client import run
from support.core.machines import Machine
from support.core.purged import TEXT


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    made.add(name="ada")
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "home"))
    return made


def planned(monkeypatch: pytest.MonkeyPatch) -> JsonObject:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    return run("purge", "ada", "--text-stdin", "--dry-run")


def test_a_file_is_told_with_its_versions_and_their_states(ada: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ada.capture().sequence or 0
    for day in range(3):
        ada.write("notes.txt", f"day {day}\n{TEXT}\n")
        ada.capture()
    ada.write("notes.txt", "clean\n")
    ada.capture()
    (hit,) = [each for each in planned(monkeypatch)["hits"] if each["where"].endswith("notes.txt")]
    assert (hit["line"], hit["versions"], hit["last"] - hit["first"]) == (2, 3, 2)
    assert hit["first"] > first


def test_a_memory_is_told_by_its_id(ada: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    ada.write("MEMORY.md", f"# Memory\n\n## Passport\n\n{TEXT}\n")
    ada.capture()
    (hit,) = [each for each in planned(monkeypatch)["hits"] if each["kind"] == "record"]
    assert hit["versions"] == 1 and hit["first"] == hit["last"]
