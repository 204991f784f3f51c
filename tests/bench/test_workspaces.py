"""The generated workspaces and the table of the benchmarks."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from benchmarks import measure, workspaces
from benchmarks.measure import Budget, Row


def _digest(folder: Path) -> str:
    """Of every path, every byte and every time."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)} {path.stat().st_mtime}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def test_the_same_seed_makes_the_same_workspace(tmp_path: Path) -> None:
    first = workspaces.many_files(tmp_path / "first", files=60, size=600_000)
    second = workspaces.many_files(tmp_path / "second", files=60, size=600_000)
    other = workspaces.many_files(tmp_path / "other", files=60, size=600_000, seed=1)
    assert _digest(first.folder) == _digest(second.folder) != _digest(other.folder)


def test_a_workspace_has_the_files_and_the_size_that_were_asked_for(tmp_path: Path) -> None:
    made = workspaces.many_files(tmp_path, files=100, size=1_000_000)
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert made.files == len(found) == 100
    assert made.size == sum(path.stat().st_size for path in found)
    assert 0.8 < made.size / 1_000_000 < 1.2
    assert set(made.notes) == set((tmp_path / "memory").rglob("*.md"))


def test_records_are_divided_over_the_files(tmp_path: Path) -> None:
    made = workspaces.many_records(tmp_path, records=500, files=20)
    assert sum(note.read_text().count("\n## ") for note in made.notes) == 500
    assert len(made.notes) == 20


def test_no_two_sections_are_the_same(tmp_path: Path) -> None:
    made = workspaces.many_records(tmp_path, records=2000, files=40)
    sections = [section for note in made.notes for section in note.read_text().split("\n## ")[1:]]
    assert len(set(sections)) == len(sections)


@pytest.mark.parametrize(("value", "verdict"), [(0.7, "pass"), (1.0, "near"), (1.06, "miss")])
def test_a_budget_is_missed_clearly_or_nearly(value: float, verdict: str) -> None:
    assert Budget("<= 0.7", value, 0.7).verdict == verdict


def test_the_worst_budget_of_a_row_counts() -> None:
    row = Row("work", "1 s", budgets=[Budget("a", 1, 2), Budget("b", 9, 2), Budget("c", 2.5, 2)])
    assert row.verdict == "miss"
    assert "miss" in measure.table([row])


def test_a_tool_that_is_not_there_is_said_to_be_missing() -> None:
    row = measure.faster("work", 0.5, "restic backup", None, 1 / 20)
    assert row.theirs == "not installed"
    assert row.verdict == ""


def test_a_comparison_says_how_much_faster_and_against_what() -> None:
    row = measure.faster("work", 0.02, "restic backup", 1.0, 1 / 20)
    assert (row.ratio, row.verdict, row.budgets[0].text) == ("50 x faster", "pass", ">= 20 x faster")
    slower = measure.faster("work", 0.5, "tar x && sync", 0.2, 2)
    assert (slower.ratio, slower.verdict) == ("2.50 x", "near")
