"""Unified diffs: what `difflib` writes, and texts that would keep it busy for minutes."""

from __future__ import annotations

import difflib
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_core.texts.unified_diffs import unified_diff_lines

LINES = st.lists(st.sampled_from(["", "boat", "tea", "harbour", "rope"]), max_size=30)


def applied(folder: Path, old: list[str], diff: list[str]) -> list[str]:
    """Return what `git apply` makes of the old text."""
    (folder / "text").write_text("".join(f"{line}\n" for line in old))
    (folder / "diff").write_text("".join(f"{line}\n" for line in diff))
    subprocess.run(["git", "apply", "--unsafe-paths", "diff"], cwd=folder, check=True, capture_output=True)
    return (folder / "text").read_text().splitlines()


@pytest.mark.parametrize("context", [0, 1, 3])
def test_one_change_gives_what_the_standard_library_gives(context: int) -> None:
    old = [f"line {number}" for number in range(30)]
    for new in ([*old[:7], "new", *old[7:]], old[:12] + old[15:], [*old[:20], "other", *old[21:]], [], old[1:]):
        wanted = list(difflib.unified_diff(old, new, "a/text", "b/text", lineterm="", n=context))
        assert list(unified_diff_lines(old, new, "a/text", "b/text", context=context)) == wanted


def test_equal_texts_have_no_diff() -> None:
    assert list(unified_diff_lines(["boat"] * 9, ["boat"] * 9)) == []


@pytest.mark.parametrize("seed", range(12))
def test_git_makes_the_new_text_of_the_old_one_and_the_diff(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    old, new = ([chance.choice(["", "boat", "tea", "rope"]) for _ in range(chance.randrange(1, 60))] for _ in range(2))
    diff = list(unified_diff_lines(old, new, "a/text", "b/text"))
    assert applied(tmp_path, old, diff) == new if diff else old == new


@given(LINES, LINES)
def test_the_lines_of_both_sides_are_those_of_both_texts(old: list[str], new: list[str]) -> None:
    lines = [line for line in list(unified_diff_lines(old, new, context=100))[2:] if not line.startswith("@@")]
    if old == new:
        assert lines == []
        return
    assert [line[1:] for line in lines if line[0] in " -"] == old
    assert [line[1:] for line in lines if line[0] in " +"] == new


def test_thousands_of_few_different_lines_are_compared() -> None:
    chance = random.Random(7)
    old, new = ([f"kind {chance.randrange(150)}" for _ in range(7_000)] for _ in range(2))
    diff = list(unified_diff_lines(old, new, context=0))
    kept = 7_000 - sum(line.startswith("-") for line in diff[2:])
    assert kept > 700, "the common lines of both texts are found"
