"""Which sequence wrote each line of a file: compared with `git blame` of a repository that commits every sequence."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import AgentError
from lifeboat_core.history import line_origins
from lifeboat_core.history.line_origins import FileVersion, LineOrigin, trace_lines
from lifeboat_core.texts.line_matching import match_lines
from support.alf.raising import raises_code
from support.core.protected import MEMORY, Protected

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
Lines = list[str]
WORDS = ("tea", "boat", "lamp", "harbour", "ink", "plotter", "snow")


class Mirror:
    """A git repository with one file, which commits each sequence."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir()
        self.sequence_of: dict[str, int] = {}
        self._git("init", "--quiet")

    def commit(self, body: bytes | None, number: int) -> None:
        file = self.folder / "MEMORY.md"
        if body is None:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(body)
        self._git("add", "--all")
        self._git("commit", "--quiet", "--allow-empty", "-m", str(number))
        self.sequence_of[self._git("rev-parse", "HEAD").strip()] = number

    def blame(self) -> list[int]:
        found = self._git("blame", "--line-porcelain", "MEMORY.md").split("\n")
        return [self.sequence_of[line.split()[0]] for line in found if line.split()[:1] and _is_commit(line)]

    def added(self, number: int) -> set[str]:
        """Return the lines that a commit added."""
        (commit,) = (each for each, one in self.sequence_of.items() if one == number)
        shown = self._git("show", "--format=", "--unified=0", commit).split("\n")
        return {line[1:] for line in shown if line.startswith("+") and not line.startswith("+++")}

    def _git(self, *arguments: str) -> str:
        around = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1"}
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "core.autocrlf=false")
        command = ("git", *who, *arguments)
        return subprocess.run(
            command, cwd=self.folder, env=around, check=True, capture_output=True, text=True, timeout=60
        ).stdout


def _is_commit(line: str) -> bool:
    first = line.split()[0]
    return len(first) == 40 and all(letter in "0123456789abcdef" for letter in first) and not line.startswith("\t")


class UniqueEdits:
    """Random edits in which no line returns and none is moved, so there is one answer only."""

    def __init__(self, chance: random.Random) -> None:
        self._chance, self._count = chance, 0

    def line(self) -> str:
        self._count += 1
        return f"{self._chance.choice(WORDS)} {self._count}"

    def edit(self, lines: Lines) -> Lines:
        chance, made = self._chance, list(lines)
        for _ in range(chance.randint(1, 4)):
            at = chance.randint(0, len(made))
            kind = chance.choice(("insert", "remove", "replace"))
            new = [self.line() for _ in range(chance.randint(1, 3))]
            span = 0 if kind == "insert" else chance.randint(1, 3)
            made[at : at + span] = [] if kind == "remove" else new
        return made


class RepeatedEdits(UniqueEdits):
    """Random edits with repeated lines and moved sections, where several answers are right."""

    def line(self) -> str:
        return self._chance.choice(("", "", "- done", super().line()))

    def edit(self, lines: Lines) -> Lines:
        made = super().edit(lines)
        if len(made) > 4 and self._chance.random() < 0.5:
            start = self._chance.randrange(len(made) - 2)
            section = made[start : start + 3]
            del made[start : start + 3]
            at = self._chance.randint(0, len(made))
            made[at:at] = section
        return made


def _history(tmp_path: Path, seed: int, edits: type[UniqueEdits], rounds: int = 12) -> tuple[Protected, Mirror]:
    chance = random.Random(seed)
    writer = edits(chance)
    lines = ["# Memory", *(writer.line() for _ in range(8))]
    ada, mirror = Protected(tmp_path), Mirror(tmp_path / "mirror")
    ada.write("MEMORY.md", "\n".join(lines) + "\n")
    ada.add()
    mirror.commit(ada.body("raw/openclaw/MEMORY.md"), 0)
    for number in range(1, rounds):
        lines = writer.edit(lines)
        ada.write("MEMORY.md", "\n".join(lines) + ("\n" if chance.random() < 0.8 else ""))
        ada.write("round.txt", str(number))  # every round is a sequence, also one that leaves the file as it was
        ada.capture()
        mirror.commit(ada.body("raw/openclaw/MEMORY.md"), number)
    return ada, mirror


def blame(ada: Protected, name: str = "MEMORY.md", at: str | None = None) -> list[JsonObject]:
    lines: list[JsonObject] = line_origins.list_line_origins(ada.context, ada.agent, name, at)["lines"]
    return lines


@needs_git
@pytest.mark.parametrize("seed", range(4))
def test_each_line_has_the_origin_that_git_blame_names(tmp_path: Path, seed: int) -> None:
    ada, mirror = _history(tmp_path, seed, UniqueEdits)
    assert [line["sequence"] for line in blame(ada)] == mirror.blame()


@needs_git
@pytest.mark.parametrize("seed", range(4))
def test_origins_of_repeated_and_moved_lines_follow_from_the_versions(tmp_path: Path, seed: int) -> None:
    """Several answers are right here. In each of them, the lines that are at least as old as a version stand in it, in
    their order; and where the answer differs from git's, the commit did change the file."""
    ada, mirror = _history(tmp_path, seed, RepeatedEdits)
    found, expected = blame(ada), mirror.blame()
    assert len(found) == len(expected)
    for number in range(12):
        version = iter((ada.body("raw/openclaw/MEMORY.md", number)).decode().split("\n"))
        assert all(line["text"] in version for line in found if line["sequence"] <= number), number
    for line, number in zip(found, expected, strict=True):
        assert line["sequence"] == number or mirror.added(line["sequence"]), line


def test_there_is_one_item_for_each_line_with_its_memory(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    ada.add()
    ada.write("MEMORY.md", MEMORY.replace("green", "white"))
    ada.capture()
    lines = blame(ada)
    assert [line["text"] for line in lines] == MEMORY.replace("green", "white").split("\n")[:-1]
    assert [line["sequence"] for line in lines] == [0, 0, 0, 0, 1, 0, 0, 0, 0]
    tea = next(one["id"] for one in ada.memories().values() if "white tea" in one["content"])
    assert [line["line"] for line in lines if line["memory"] == tea] == [3, 4, 5, 6]
    assert {line["session"] for line in lines} == {None} and all(line["exact"] for line in lines)


def test_an_earlier_version_can_be_shown(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    ada.add()
    ada.write("MEMORY.md", MEMORY.replace("green", "white"))
    ada.capture()
    assert {line["sequence"] for line in blame(ada, at="0")} == {0}


def test_a_file_that_was_removed_and_written_again_has_a_new_origin(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    ada.write("plan.txt", "one\n")
    ada.add()
    (ada.workspace / "plan.txt").unlink()
    ada.capture()
    ada.write("plan.txt", "one\n")
    ada.capture()
    assert [line["sequence"] for line in blame(ada, "plan.txt")] == [2]


def test_an_unknown_file_and_a_binary_file_are_refused_with_the_cause(tmp_path: Path) -> None:
    ada = Protected(tmp_path)
    ada.write("picture.bin", b"\0\1\2")
    ada.write("empty.txt", b"")
    ada.add()
    with raises_code(AgentError.UNKNOWN_PATH):
        blame(ada, "nothing.md")
    with raises_code(AgentError.NO_LINES):
        blame(ada, "picture.bin")
    assert blame(ada, "empty.txt") == []


def test_lines_behind_an_unreadable_version_may_be_older() -> None:
    versions = [FileVersion(3, b"a\nb\n", True), FileVersion(2, b"a\n", True), FileVersion(1, None, True)]
    assert trace_lines(versions) == [LineOrigin(2, exact=False), LineOrigin(3)]


_texts = st.lists(st.sampled_from([b"\n", b"a\n", b"b\n", b"c\n", b"d"]), max_size=30)


@given(_texts, _texts)
def test_matched_lines_are_equal_and_keep_their_order(old: list[bytes], new: list[bytes]) -> None:
    matched = match_lines(old, new)
    assert all(old[there] == new[here] for here, there in matched.items())
    pairs = sorted(matched.items())
    assert [there for _, there in pairs] == sorted({there for _, there in pairs})


@given(_texts)
def test_a_text_matches_itself_completely(lines: list[bytes]) -> None:
    assert match_lines(lines, list(lines)) == {number: number for number in range(len(lines))}


@pytest.mark.parametrize("make", [lambda lines: lines[1:], lambda lines: lines[:3] + lines[4:]])
def test_a_removed_line_leaves_all_others_matched(make: Callable[[list[bytes]], list[bytes]]) -> None:
    old = [b"a\n", b"\n", b"b\n", b"\n", b"c\n"]
    new = make(old)
    assert len(match_lines(old, new)) == len(new)


def _longest_common(old: list[bytes], new: list[bytes]) -> int:
    """Return the length of a longest common subsequence, from the textbook's table."""
    row = [0] * (len(old) + 1)
    for line in new:
        before = row
        row = [0]
        for place, other in enumerate(old):
            row.append(before[place] + 1 if line == other else max(before[place + 1], row[-1]))
    return row[-1]


@pytest.mark.parametrize(("first", "second"), [(b"ab", b"bba"), (b"abb", b"aab"), (b"abcb", b"bcca")])
def test_few_different_lines_that_repeat_many_times_are_matched_as_far_as_possible(first: bytes, second: bytes) -> None:
    """A comparison whose time grows with the third power of the lines would take minutes for these."""
    old, new = ([bytes([letter]) for letter in pattern] * (2400 // len(pattern)) for pattern in (first, second))
    assert len(match_lines(old, new)) == _longest_common(old, new)
