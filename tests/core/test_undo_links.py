"""Restores and undos where links replaced folders, and undos of undos."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.errors import RestoreError
from lifeboat_core.restore import RestoreOptions, recover_restores, restore_agent
from lifeboat_core.restore import restore_journal as journals
from lifeboat_core.restore.restore_report import RestoreReport
from lifeboat_core.restore.restore_undo import undo_restore
from support.alf.raising import raises_code
from support.core.protected import MEMORY, Protected

AT_FIRST = RestoreOptions(at=0, yes=True, reindex=False)


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path)
    (made.workspace / "notes" / "sub").mkdir(parents=True)
    made.write("notes/kept.md", "kept\n")
    made.add(name="ada")
    return made


def replaced_by_link(ada: Protected, target: str | Path) -> None:
    """Replace `notes` by a link."""
    notes = ada.workspace / "notes"
    if isinstance(target, Path):
        notes.rename(target)
    else:
        (notes / "kept.md").unlink()
        (notes / "sub").rmdir()
        notes.rmdir()
    notes.symlink_to(target)
    ada.write("MEMORY.md", f"{MEMORY}\nlater\n")
    ada.capture()


def back_to_the_first(ada: Protected) -> RestoreReport:
    report = restore_agent(ada.context, ada.agent, AT_FIRST)
    assert (ada.workspace / "notes" / "kept.md").read_text() == "kept\n"
    assert (ada.workspace / "notes" / "sub").is_dir() and not (ada.workspace / "notes").is_symlink()
    assert (ada.workspace / "MEMORY.md").read_text() == MEMORY
    return report


def test_a_link_to_itself_stops_no_restore_and_no_undo(ada: Protected) -> None:
    replaced_by_link(ada, "notes")
    back_to_the_first(ada)
    undo_restore(ada.context, ada.agent)
    assert os.readlink(ada.workspace / "notes") == "notes"
    assert (ada.workspace / "MEMORY.md").read_text() == f"{MEMORY}\nlater\n"
    undo_restore(ada.context, ada.agent)
    assert (ada.workspace / "notes" / "kept.md").read_text() == "kept\n"


def test_what_lies_behind_a_link_to_another_disk_stays_as_it_is(ada: Protected, tmp_path: Path) -> None:
    other = tmp_path / "other-disk"
    replaced_by_link(ada, other)
    before = sorted(other.rglob("*")), (other / "kept.md").stat()
    back_to_the_first(ada)
    undo_restore(ada.context, ada.agent)
    assert os.readlink(ada.workspace / "notes") == str(other)
    assert (sorted(other.rglob("*")), (other / "kept.md").stat()) == before


def test_an_empty_folder_behind_a_link_is_not_removed(ada: Protected, tmp_path: Path) -> None:
    other = tmp_path / "other-disk"
    (ada.workspace / "notes" / "kept.md").unlink()
    ada.capture()
    replaced_by_link(ada, other)
    restore_agent(ada.context, ada.agent, RestoreOptions(at=1, yes=True, reindex=False))
    undo_restore(ada.context, ada.agent)
    assert (other / "sub").is_dir()


def test_each_undo_of_an_undo_lists_as_many_folders_as_the_first(ada: Protected) -> None:
    ada.write("MEMORY.md", f"{MEMORY}\nlater\n")
    ada.capture()
    back_to_the_first(ada)
    counts = set()
    for _ in range(5):
        ada.clock.advance(minutes=1)
        undo_restore(ada.context, ada.agent)
        counts.add(len(journals.list_finished_journals(ada.context.home, ada.context.files)[0].undo))
    assert len(counts) == 1
    assert (ada.workspace / "MEMORY.md").read_text() == f"{MEMORY}\nlater\n"


class Refusing(SystemFiles):
    """A file system that moves only this many files beside the workspace; any number while `left` is None."""

    left: int | None = None

    def replace(self, source: os.PathLike[str] | str, target: os.PathLike[str] | str) -> None:
        if self.left is not None and "/openclaw/" in os.fspath(target):
            if not self.left:
                raise OSError(5, "Input/output error", os.fspath(target))
            self.left -= 1
        super().replace(source, target)


def test_an_undo_that_stops_half_way_says_so_and_nothing_is_undone_before_it_is_finished(tmp_path: Path) -> None:
    files = Refusing()
    ada = Protected(tmp_path, files=files)
    ada.add(name="ada")
    ada.write("MEMORY.md", f"{MEMORY}\nlater\n")
    ada.write("SOUL.md", "# Soul\n\nOther.\n")
    ada.capture()
    restore_agent(ada.context, ada.agent, AT_FIRST)
    files.left = 2
    with raises_code(RestoreError.RESTORE_FAILED, match="restoring the previous files failed too"):
        undo_restore(ada.context, ada.agent)
    with raises_code(RestoreError.RESTORE_FAILED, match="cannot be completed yet"):
        undo_restore(ada.context, ada.agent, force=True)
    with raises_code(RestoreError.RESTORE_FAILED):
        restore_agent(ada.context, ada.agent, AT_FIRST)
    files.left = None
    assert any("it is complete now" in said for said in recover_restores(ada.context))
    assert (ada.workspace / "MEMORY.md").read_text() == f"{MEMORY}\nlater\n"
