"""The status that a dashboard shows before anybody answers: a cache like the others, and nobody's truth."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.state import last_status, state_cache

FILES = SystemFiles()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home").open(FILES)


def _file(home: Home) -> Path:
    return home.state_folder / "dashboard.json"


def test_what_was_saved_is_loaded(home: Home) -> None:
    last_status.save_status(home, FILES, {"verdict": "all is well", "agents": [{"name": "Juniper"}]})
    last_status.save_status(home, FILES, {"verdict": "all is well", "agents": []})
    assert last_status.load_status(home, FILES) == {"verdict": "all is well", "agents": []}


def test_only_the_user_can_read_it(home: Home) -> None:
    last_status.save_status(home, FILES, {})
    assert stat.S_IMODE(_file(home).stat().st_mode) == 0o600


def test_where_nothing_was_saved_there_is_none(home: Home) -> None:
    assert last_status.load_status(home, FILES) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 2, "status": {}}', b'{"format": 1, "status": 3}'])
def test_a_damaged_one_is_none(home: Home, content: bytes) -> None:
    _file(home).write_bytes(content)
    assert last_status.load_status(home, FILES) is None


def test_a_link_or_a_folder_in_its_place_is_none(home: Home, tmp_path: Path) -> None:
    _file(home).mkdir()
    assert last_status.load_status(home, FILES) is None
    last_status.save_status(home, FILES, {})


def test_nothing_is_made_where_there_is_no_home(tmp_path: Path) -> None:
    last_status.save_status(Home(tmp_path / "none"), FILES, {})
    assert list(tmp_path.iterdir()) == []
    assert last_status.load_status(Home(tmp_path / "none"), FILES) is None


def test_one_that_no_file_can_hold_leaves_the_one_before(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_cache, "LARGEST", 1000)
    last_status.save_status(home, FILES, {"verdict": "small"})
    last_status.save_status(home, FILES, {"verdict": "x" * 1000})
    last_status.save_status(home, FILES, {"verdict": object()})
    assert last_status.load_status(home, FILES) == {"verdict": "small"}


def test_what_is_forgotten_is_gone_and_forgetting_twice_is_no_failure(home: Home) -> None:
    last_status.save_status(home, FILES, {"agents": [{"name": "Juniper"}]})
    last_status.forget_status(home, FILES)
    last_status.forget_status(home, FILES)
    assert last_status.load_status(home, FILES) is None and not _file(home).exists()
