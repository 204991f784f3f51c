"""The version is said in one place, and what lies beside it keeps in step."""

from __future__ import annotations

import re
import subprocess
from importlib.metadata import version as installed_version
from pathlib import Path

import pytest

import facts
import locked
from support.cli.cli_client import run


def _tree(folder: Path, changelog: str, version: str = "0.2.0") -> Path:
    folder.mkdir()
    (folder / "pyproject.toml").write_text(f'[project]\nname = "x"\nversion = "{version}"\n')
    (folder / "CHANGELOG.md").write_text(changelog)
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    return folder


def test_the_version_stands_in_one_file_only() -> None:
    """What a program says of itself comes from its metadata; a second place would be forgotten once."""
    stated = re.compile(rf"""__version__|["']{re.escape(facts.version())}["']""")
    runtimes = ("tests/", "benchmarks/", "adapters/")
    sources = [name for name in facts.tracked() if name.endswith(".py") and not name.startswith(runtimes)]
    assert [name for name in sources if stated.search((facts.ROOT / name).read_text())] == []
    assert installed_version("agent-lifeboat") == facts.version()


def test_the_changelog_is_in_step_with_the_version() -> None:
    """What is released is dated, newest first, and no section is newer than the version in pyproject.toml."""
    newest, *older = facts.changelog()
    assert newest.points
    assert newest.version in (facts.UNRELEASED, facts.version())
    for section in [each for each in (newest, *older) if each.version != facts.UNRELEASED]:
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", section.day or ""), section.version
    numbers = [tuple(map(int, each.version.split("."))) for each in older]
    assert numbers == sorted(numbers, reverse=True)
    assert all(number <= tuple(map(int, facts.version().split("."))) for number in numbers)


def test_a_tree_that_is_ready_can_be_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert facts.unready(_tree(tmp_path / "x", "# Changelog\n\n## 0.2.0 - 2026-11-22\n\n- It is.\n")) == []


def test_what_hinders_a_release_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    tree = _tree(tmp_path / "x", "# Changelog\n\n## Unreleased\n\n- It is.\n")
    (tree / "new").touch()
    assert len(facts.unready(tree)) == 3
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## 0.2.0\n\n- It is.\n")
    assert "has no date" in facts.unready(tree)[0]


def test_points_of_the_changelog_are_read_whole(tmp_path: Path) -> None:
    tree = _tree(
        tmp_path / "x",
        "# Changelog\n\n## 0.2.0 - 2026-11-22\n\n### Added\n\n- One\n  line.\n\n### Fixed\n\n- Two.\n\n"
        "## 0.1.0 - 2026-10-01\n\n- Old.\n",
    )
    assert facts.changelog(tree) == [
        facts.Section("0.2.0", "2026-11-22", ("One line.", "Two.")),
        facts.Section("0.1.0", "2026-10-01", ("Old.",)),
    ]


def test_what_is_ignored_does_not_belong_to_a_tree(tmp_path: Path) -> None:
    tree = _tree(tmp_path / "x", "# Changelog\n")
    (tree / ".gitignore").write_text("*.log\n")
    (tree / "private.log").touch()
    (tree / "new").touch()
    assert facts.tracked(tree) == [".gitignore", "CHANGELOG.md", "new", "pyproject.toml"]


@pytest.mark.parametrize(
    ("python", "debian"),
    [("1.2.3", "1.2.3"), ("0.2.0rc1", "0.2.0~rc1"), ("0.2.0b2", "0.2.0~b2"), ("0.2.0.dev3", "0.2.0~dev3")],
)
def test_a_candidate_comes_before_its_release_in_debian_too(python: str, debian: str) -> None:
    assert facts.debian_version(python) == debian


def test_the_lock_is_read_with_hashes_markers_and_who_asks() -> None:
    found = {each.name: each for each in locked.read()}
    assert all(each.hashes and each.version for each in found.values())
    assert found["backports-zstd"].marker == "python_full_version < '3.14'"
    assert "httpx" in found["anyio"].via


def test_what_only_builds_is_not_needed_to_run() -> None:
    names = {each.name for each in locked.needed()}
    asked = {
        re.split(r"[^A-Za-z0-9._-]", each)[0].replace(".", "-").lower() for each in facts.project()["dependencies"]
    }
    assert asked <= names
    assert not names & {"hatchling", "trove-classifiers", "pip"}
    assert {each.name for each in locked.read()} > names


def test_a_part_of_the_lock_is_a_lock(tmp_path: Path) -> None:
    part = tmp_path / "part.lock"
    part.write_text(locked.text(locked.needed()))
    again = {each.name: (each.version, each.marker, each.hashes) for each in locked.read(part)}
    assert again == {each.name: (each.version, each.marker, each.hashes) for each in locked.needed()}


def test_the_program_says_the_version_of_the_project() -> None:
    assert run("status")["daemon"]["version"] in (None, facts.version())
