"""The home: where it is, and when it is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.errors import HomeError
from lifeboat_core.home import lifeboat_home as homes
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.processes.installed_release import read_release
from support.alf.raising import raises_code

FILES = SystemFiles()


def at(folder: Path) -> Home:
    return Home.locate({"LIFEBOAT_HOME": str(folder)})


def test_the_variable_decides_where_the_home_is(tmp_path: Path) -> None:
    assert at(tmp_path / "home").folder == tmp_path / "home"


def test_without_the_variable_it_is_the_place_for_a_users_data() -> None:
    assert Home.locate({}).folder.name == "lifeboat"


def test_a_new_home_is_for_its_owner_alone(tmp_path: Path) -> None:
    home = at(tmp_path / "a" / "home").open(FILES)
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(one.stat().st_mode) == 0o700 for one in home.folder.iterdir() if one.is_dir())


def test_a_home_keeps_its_id(tmp_path: Path) -> None:
    first = at(tmp_path / "home").open(FILES).read_id(FILES)
    assert at(tmp_path / "home").open(FILES).read_id(FILES) == first
    assert at(tmp_path / "other").open(FILES).read_id(FILES) != first


def test_a_home_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    home = at(tmp_path / "home").open(FILES)
    home.folder.chmod(0o770)
    with raises_code(HomeError.UNSAFE, match="other users can write"):
        home.open(FILES)


def test_a_home_that_others_can_only_read_is_closed(tmp_path: Path) -> None:
    home = at(tmp_path / "home").open(FILES)
    home.folder.chmod(0o755)
    home.open(FILES)
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700


def test_a_link_is_refused(tmp_path: Path) -> None:
    at(tmp_path / "home").open(FILES)
    (tmp_path / "link").symlink_to(tmp_path / "home")
    with raises_code(HomeError.UNSAFE, match="symbolic link"):
        at(tmp_path / "link").open(FILES)


def test_a_folder_with_something_else_in_it_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("dear")
    tmp_path.chmod(0o755)
    with raises_code(HomeError.UNSAFE, match="contains files that do not belong to Lifeboat"):
        at(tmp_path).open(FILES)
    assert os.listdir(tmp_path) == ["letters"]
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with raises_code(HomeError.UNSAFE):
        at(tmp_path / "home").open(FILES)


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes, "find_file_system", lambda folder: "nfs4")
    with raises_code(HomeError.UNSAFE, match="network"):
        at(tmp_path / "home").open(FILES)


def test_a_newer_layout_is_refused_by_name(tmp_path: Path) -> None:
    home = at(tmp_path / "home").open(FILES)
    (home.folder / "version").write_text("99\n")
    with raises_code(HomeError.NEWER, match="99"):
        home.open(FILES)


def test_an_unusable_place_is_a_plain_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError):
        at(tmp_path / "file" / "home").open(FILES)


def test_opening_an_open_home_writes_nothing(tmp_path: Path) -> None:
    home = at(tmp_path / "home").open(FILES)
    before = {path: path.stat().st_mtime_ns for path in home.folder.rglob("*")}
    home.open(FILES)
    assert {path: path.stat().st_mtime_ns for path in home.folder.rglob("*")} == before


def test_a_new_home_has_the_newest_layout_and_says_who_made_it(tmp_path: Path) -> None:
    home = at(tmp_path / "home").open(FILES)
    assert home.layout(FILES) == homes.LAYOUT_VERSION and not home.is_older(FILES)
    assert (home.folder / "release").read_text() == f"{read_release()}\n"
    assert home.logs_folder.is_dir() and home.run_folder.is_dir() and not home.backups_folder.exists()


def test_opening_a_home_of_an_earlier_layout_leaves_it_one(tmp_path: Path) -> None:
    """It is brought up under its lock, by whoever has a context."""
    home = at(tmp_path / "home").open(FILES)
    (home.folder / "version").write_text("1\n")
    home.logs_folder.rmdir()
    assert home.open(FILES).is_older(FILES) and not home.logs_folder.exists()


def test_a_newer_home_is_not_touched_before_it_is_refused(tmp_path: Path) -> None:
    home = at(tmp_path / "home").open(FILES)
    home.run_folder.rmdir()
    (home.folder / "version").write_text("99\n")
    with raises_code(HomeError.NEWER):
        home.open(FILES)
    assert not home.run_folder.exists()
