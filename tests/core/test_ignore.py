"""`.lifeboatignore` follows the common part of gitignore."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from lifeboat_core.capture.ignore_file import parse_ignore_file

CASES = [
    ("*.log", ["a.log", "x/a.log"], ["a.txt", "a.log.md"]),
    ("/top.md", ["top.md"], ["x/top.md"]),
    ("private/", ["private/a", "x/private/b/c"], ["private.md"]),
    ("docs/*.md", ["docs/a.md"], ["docs/x/a.md", "x/docs/a.md"]),
    ("**/cache", ["cache", "a/cache", "a/b/cache/x"], ["caches"]),
    ("a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["z", "b/a/y"]),
    ("logs/**", ["logs/a", "logs/b/c"], ["logs.md"]),
    ("*.md\n!keep.md", ["a.md"], ["keep.md", "x/keep.md"]),
    ("[abc].txt", ["a.txt"], ["d.txt", "ab.txt"]),
    ("[!abc].txt", ["d.txt"], ["a.txt"]),
    ("?.txt", ["a.txt"], ["ab.txt"]),
    ("# comment\n\n   \nreal", ["real"], ["# comment"]),
    ("\\#hash", ["#hash"], ["hash"]),
    ("\\!bang", ["!bang"], ["bang"]),
    ("trailing   ", ["trailing"], ["trailing   "]),
    ("a+b(c).md", ["a+b(c).md"], ["aab(c).md"]),
    ("private/\n!private/keep.md", ["private/keep.md"], []),
]


def ignored(text: str, path: str) -> bool:
    """Return whether a path is ignored as the scan checks it: folders first."""
    rules = parse_ignore_file(text)
    parts = path.split("/")
    folders = ["/".join(parts[:end]) for end in range(1, len(parts))]
    return any(rules.matches(one, is_folder=True) for one in folders) or rules.matches(path, is_folder=False)


@pytest.mark.parametrize(("text", "yes", "no"), CASES)
def test_patterns_fit_what_they_say(text: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes if not ignored(text, path)] == []
    assert [path for path in no if ignored(text, path)] == []


@pytest.mark.parametrize(("text", "yes", "no"), CASES)
def test_git_says_the_same(text: str, yes: list[str], no: list[str], tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed here")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text(text)
    for path in (*yes, *no):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    asked = subprocess.run(
        ["git", "-C", str(tmp_path), "check-ignore", "--no-index", "--stdin", "-z"],
        input="\0".join((*yes, *no)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert set(asked.stdout.split("\0")) - {""} == set(yes)


def test_a_line_that_is_no_pattern_fits_nothing() -> None:
    assert not parse_ignore_file("[z-a]").matches("z", is_folder=False)


def test_without_a_file_nothing_is_ignored() -> None:
    assert not parse_ignore_file("").matches("anything", is_folder=False)
