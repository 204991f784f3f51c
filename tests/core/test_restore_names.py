"""Names on disk: which may be written, and which a file system can hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.errors import RestoreError
from lifeboat_core.restore import disk_names
from lifeboat_core.restore.restore_options import RestoreOptions
from support.alf.raising import raises_code


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", "a//b", "", ".", "a/.", "a\0b"])
def test_a_name_that_climbs_out_is_refused(name: str) -> None:
    with raises_code(RestoreError.UNSAFE_NAME):
        disk_names.name_on_disk(f"raw/openclaw/{name}", {}, "raw/openclaw/")


def test_a_name_that_climbs_out_in_its_raw_bytes_is_refused() -> None:
    meta = {"name_hex": b"../../.bashrc".hex()}
    with raises_code(RestoreError.UNSAFE_NAME):
        disk_names.name_on_disk("raw/openclaw/harmless", meta, "raw/openclaw/")


def test_the_raw_bytes_of_a_name_win() -> None:
    meta = {"name_hex": b"caf\xe9.md".hex()}
    assert os.fsencode(disk_names.name_on_disk("raw/openclaw/caf%E9.md", meta, "raw/openclaw/")) == b"caf\xe9.md"


@pytest.mark.parametrize(
    ("name", "target", "leaves"),
    [
        ("now", "SOUL.md", False),
        ("memory/now", "../SOUL.md", False),
        ("memory/now", "../../SOUL.md", True),
        ("now", "/etc/passwd", True),
        ("now", "/w/ada/SOUL.md", False),
        ("now", "/w/adam/SOUL.md", True),
        ("deep/a", "../deep/../../x", True),
    ],
)
def test_a_link_leaves_the_folder_by_where_it_leads(name: str, target: str, leaves: bool) -> None:
    assert disk_names.leaves_folder(name, target, Path("/w/ada")) is leaves


def test_names_that_are_too_long_are_listed(tmp_path: Path) -> None:
    long = "x" * 256
    found = disk_names.find_unholdable_names(SystemFiles(), tmp_path, ["short.md", long, f"{long}/in.md"])
    assert {each.name for each in found} == {long, f"{long}/in.md"}


def test_the_longest_name_that_a_file_system_takes_is_taken(tmp_path: Path) -> None:
    longest = ["x" * 255, f"{'é' * 127}a"]
    for name in longest:
        (tmp_path / name).touch()
    assert not disk_names.find_unholdable_names(SystemFiles(), tmp_path / "new", longest)


def test_case_twins_are_decided_by_the_file_system(tmp_path: Path) -> None:
    (tmp_path / "Probe").mkdir()
    is_insensitive = (tmp_path / "probe").exists()
    (tmp_path / "Probe").rmdir()
    found = disk_names.find_unholdable_names(SystemFiles(), tmp_path / "new", ["README.md", "Readme.md"])
    assert bool(found) is is_insensitive
    assert list(tmp_path.iterdir()) == []


class OneCase(SystemFiles):
    """A file system without case: every folder is made in lower case too."""

    def make_folders(self, path: os.PathLike[str] | str, mode: int = 0o777) -> None:
        super().make_folders(path, mode)
        lower = Path(path).with_name(Path(path).name.lower())
        if not lower.exists():
            super().make_folders(lower, mode)

    def remove_folder(self, path: os.PathLike[str] | str) -> None:
        super().remove_folder(path)
        lower = Path(path).with_name(Path(path).name.lower())
        if lower.exists():
            super().remove_folder(lower)


def test_case_twins_are_named_where_there_is_one_case(tmp_path: Path) -> None:
    found = disk_names.find_unholdable_names(OneCase(), tmp_path, ["a/README.md", "a/readme.md"])
    assert [(each.name, "README.md" in each.reason) for each in found] == [("a/readme.md", True)]
    assert list(tmp_path.iterdir()) == []


def test_globs_name_files_folders_and_last_parts() -> None:
    options = RestoreOptions(path_globs=("memory", "*.sh"))
    assert options.wants("memory/2026-01-02.md")
    assert options.wants("skills/deploy/run.sh")
    assert not options.wants("SOUL.md")
    assert not options.wants("memory.md")
