"""Moves of a journal can be repeated and undone, and overwrite nothing."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import StrPath, SystemFiles
from lifeboat_core.errors import RestoreError
from lifeboat_core.restore import journal_moves
from lifeboat_core.restore import restore_journal as journals
from lifeboat_core.restore.restore_journal import (
    MOVING,
    JournalFolder,
    JournalMove,
    RestoreJournal,
    TimeChange,
    path_to_text,
    stat_path,
    text_to_path,
)
from support.alf.raising import raises_code
from support.deep_folders import DEEPER_THAN_A_PATH, DEEPER_THAN_THE_STACK, nest, removed_afterwards

FILES = SystemFiles()


def journal(tmp_path: Path, *listed: JournalMove, **fields: object) -> RestoreJournal:
    base = RestoreJournal(
        "20260101T000000-00", "agent", "restore", MOVING, 3, str(tmp_path / "ada"), "2026-01-01T00:00:00Z"
    )
    return replace(base, moves=listed, **fields)  # type: ignore[arg-type]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for folder in ("ada", "stage"):
        (tmp_path / folder).mkdir()
    (tmp_path / "ada" / "SOUL.md").write_bytes(b"old")
    (tmp_path / "stage" / "0").write_bytes(b"new")
    return tmp_path / "ada"


def soul(tmp_path: Path) -> JournalMove:
    target = tmp_path / "ada" / "SOUL.md"
    aside = tmp_path / "undo" / "SOUL.md"
    return JournalMove(str(target), str(tmp_path / "stage" / "0"), str(aside), stat_path(FILES, target))


def test_a_target_is_moved_aside_and_the_staged_file_takes_its_name(tmp_path: Path, workspace: Path) -> None:
    journal_moves.roll_forward(FILES, journal(tmp_path, soul(tmp_path)))
    assert (workspace / "SOUL.md").read_bytes() == b"new"
    assert (tmp_path / "undo" / "SOUL.md").read_bytes() == b"old"


def test_rolling_forward_twice_changes_nothing_more(tmp_path: Path, workspace: Path) -> None:
    written = journal(tmp_path, soul(tmp_path))
    journal_moves.roll_forward(FILES, written)
    before = sorted((path, path.stat().st_ino) for path in tmp_path.rglob("*"))
    journal_moves.roll_forward(FILES, written)
    assert sorted((path, path.stat().st_ino) for path in tmp_path.rglob("*")) == before


def test_what_the_agent_wrote_between_the_two_moves_is_kept(tmp_path: Path, workspace: Path) -> None:
    written = journal(tmp_path, soul(tmp_path))
    (tmp_path / "undo").mkdir()
    (workspace / "SOUL.md").rename(tmp_path / "undo" / "SOUL.md")
    (workspace / "SOUL.md").write_bytes(b"written meanwhile")
    journal_moves.roll_forward(FILES, written)
    assert (workspace / "SOUL.md").read_bytes() == b"new"
    assert (tmp_path / "undo" / "SOUL.md").read_bytes() == b"old"
    assert (tmp_path / "undo" / "SOUL.md.2").read_bytes() == b"written meanwhile"


def test_a_removal_moves_aside_once(tmp_path: Path, workspace: Path) -> None:
    written = journal(tmp_path, replace(soul(tmp_path), staged=None))
    journal_moves.roll_forward(FILES, written)
    (workspace / "SOUL.md").write_bytes(b"made again since")
    journal_moves.roll_forward(FILES, written)
    assert (workspace / "SOUL.md").read_bytes() == b"made again since"


def test_moving_back_restores_what_was_there(tmp_path: Path, workspace: Path) -> None:
    created = JournalMove(
        str(workspace / "deep" / "new.md"), str(tmp_path / "stage" / "1"), str(tmp_path / "undo" / "n"), None
    )
    (tmp_path / "stage" / "1").write_bytes(b"created")
    written = journal(tmp_path, soul(tmp_path), created)
    journal_moves.roll_forward(FILES, written)
    journal_moves.roll_back(FILES, written)
    assert (workspace / "SOUL.md").read_bytes() == b"old"
    assert not (workspace / "deep" / "new.md").exists()
    assert (tmp_path / "stage" / "1").read_bytes() == b"created"


def test_a_target_that_changed_since_the_plan_stops_it(tmp_path: Path, workspace: Path) -> None:
    planned = soul(tmp_path)
    (workspace / "SOUL.md").write_bytes(b"changed")
    with raises_code(RestoreError.TARGET_CHANGED, match=r"SOUL\.md"):
        journal_moves.check_unchanged(FILES, [planned])


def test_a_target_that_appeared_since_the_plan_stops_it(tmp_path: Path, workspace: Path) -> None:
    planned = replace(soul(tmp_path), seen=None)
    with raises_code(RestoreError.TARGET_CHANGED):
        journal_moves.check_unchanged(FILES, [planned])


def test_folders_come_and_go_and_full_ones_stay(tmp_path: Path, workspace: Path) -> None:
    for name in ("empty", "full"):
        (workspace / name).mkdir()
    (workspace / "full" / "mine.md").write_bytes(b"x")
    drop = tuple(JournalFolder(str(workspace / name)) for name in ("empty", "full", "gone"))
    made = JournalFolder(str(workspace / "fresh"), 0o700, 1_000_000_000)
    journal_moves.roll_forward(FILES, journal(tmp_path, drop=drop, make=(made,)))
    assert sorted(os.listdir(workspace)) == ["SOUL.md", "fresh", "full"]
    status = (workspace / "fresh").stat()
    assert (status.st_mode & 0o777, status.st_mtime_ns) == (0o700, 1_000_000_000)


def test_a_time_is_set_unless_the_file_was_written_since(tmp_path: Path, workspace: Path) -> None:
    target = workspace / "SOUL.md"
    old = target.stat().st_mtime_ns
    journal_moves.roll_forward(FILES, journal(tmp_path, times=(TimeChange(str(target), 77, old),)))
    assert target.stat().st_mtime_ns == 77
    journal_moves.roll_forward(FILES, journal(tmp_path, times=(TimeChange(str(target), 99, old),)))
    assert target.stat().st_mtime_ns == 77


def test_a_journal_keeps_names_that_are_no_text(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(b"/w/caf\xe9.md"))
    move = JournalMove(path_to_text(odd), None, path_to_text(odd), None)
    path = tmp_path / "restore" / "j.json"
    journals.write_document(FILES, path, journal(tmp_path, move))
    assert text_to_path(journals.read_journal(FILES, path).moves[0].target) == odd


def test_removing_a_tree_follows_no_link(tmp_path: Path, workspace: Path) -> None:
    (tmp_path / "stage" / "link").symlink_to(workspace)
    journal_moves.remove_tree(FILES, tmp_path / "stage")
    assert not (tmp_path / "stage").exists()
    assert (workspace / "SOUL.md").exists()


@pytest.mark.parametrize("depth", [DEEPER_THAN_THE_STACK, DEEPER_THAN_A_PATH])
def test_a_tree_is_removed_however_deep_it_is(tmp_path: Path, workspace: Path, depth: int) -> None:
    nest(tmp_path / "stage" / "deep", depth)
    (tmp_path / "stage" / "deep" / "a" / "note").write_bytes(b"new")
    (tmp_path / "stage" / "deep" / "a" / "a").chmod(0o500)
    journal_moves.remove_tree(FILES, tmp_path / "stage")
    assert not (tmp_path / "stage").exists()


@pytest.mark.parametrize(("depth", "stays"), [(DEEPER_THAN_THE_STACK, False), (DEEPER_THAN_A_PATH, True)])
def test_an_empty_tree_is_removed_as_far_as_a_path_reaches(tmp_path: Path, depth: int, stays: bool) -> None:
    with removed_afterwards(tmp_path / "fresh"):
        nest(tmp_path / "fresh", depth)
        journal_moves.remove_empty_tree(FILES, tmp_path / "fresh")
        assert (tmp_path / "fresh").exists() is stays


class FlushedFileSystems(SystemFiles):
    """Records what was at a path whenever its file system was flushed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.seen: list[bytes] = []

    def sync_file_system(self, path: StrPath) -> None:
        super().sync_file_system(path)
        self.seen.append(self._path.read_bytes())


def test_what_was_moved_is_on_the_disk_before_the_journal_may_go(tmp_path: Path, workspace: Path) -> None:
    files = FlushedFileSystems(workspace / "SOUL.md")
    journal_moves.roll_forward(files, journal(tmp_path, soul(tmp_path)))
    assert files.seen == [b"new"]


def test_what_was_moved_back_is_on_the_disk_before_the_journal_may_go(tmp_path: Path, workspace: Path) -> None:
    written = journal(tmp_path, soul(tmp_path))
    journal_moves.roll_forward(FILES, written)
    files = FlushedFileSystems(workspace / "SOUL.md")
    journal_moves.roll_back(files, written)
    assert files.seen == [b"old"]
