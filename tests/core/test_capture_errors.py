"""What cannot be read or is missing is not captured as a deletion."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.agents import manage_agents
from support.core.protected import MEMORY, Protected
from support.leases import leased, needs_leases


class Refuses(SystemFiles):
    """A file system that refuses the operations in `refused`."""

    def __init__(self) -> None:
        self.refused: Callable[[str], bool] = lambda path: False
        self.fired = 0

    def _check(self, path: object) -> None:
        if self.refused(os.fspath(path)):  # type: ignore[call-overload]
            self.fired += 1
            raise PermissionError(13, "Permission denied", str(path))

    def scan(self, folder):  # type: ignore[no-untyped-def]
        self._check(folder)
        return super().scan(folder)

    def open_regular(self, path):  # type: ignore[no-untyped-def]
        self._check(path)
        return super().open_regular(path)

    def lstat(self, path):  # type: ignore[no-untyped-def]
        self._check(path)
        return super().lstat(path)


@pytest.fixture
def refusing(tmp_path: Path) -> tuple[Protected, Refuses]:
    files = Refuses()
    made = Protected(tmp_path, files=files)
    made.write("memory/2026-11-01.md", "# Day\n\n## Walk\n\nWent to the lighthouse.\n")
    made.write("memory/2026-11-02.md", "# Day\n\n## Rain\n\nStayed in.\n")
    made.add()
    return made, files


def test_an_unreadable_folder_keeps_what_was_in_it(refusing: tuple[Protected, Refuses]) -> None:
    ada, files = refusing
    files.refused = lambda path: path.endswith("/workspace/memory")
    report = ada.capture()
    assert files.fired
    assert report.outcome == "unchanged"
    assert report.unread_files == 2
    assert "raw/openclaw/memory/" in report.unread
    files.refused = lambda path: False
    assert ada.capture().outcome == "unchanged"


def test_an_unreadable_folder_is_kept_too_when_every_file_is_read_again(refusing: tuple[Protected, Refuses]) -> None:
    ada, files = refusing
    files.refused = lambda path: path.endswith("/workspace/memory")
    assert ada.capture(full=True).outcome == "unchanged"
    assert "memory/2026-11-01.md" in ada.kept()


def test_an_unreadable_file_keeps_its_last_version_and_the_rest_goes_on(refusing: tuple[Protected, Refuses]) -> None:
    ada, files = refusing
    files.refused = lambda path: path.endswith("2026-11-01.md")
    ada.write("memory/2026-11-01.md", "changed\n")
    ada.write("memory/2026-11-02.md", "# Day\n\n## Rain\n\nWent out.\n")
    report = ada.capture()
    assert set(report.unread) == {"raw/openclaw/memory/2026-11-01.md"}
    assert b"lighthouse" in ada.body("raw/openclaw/memory/2026-11-01.md")
    assert b"Went out" in ada.body("raw/openclaw/memory/2026-11-02.md")
    files.refused = lambda path: False
    assert ada.capture().changed
    assert ada.kept() == ada.tree()


class Mounted(SystemFiles):
    """Makes `memory/` another file system while `mounted`, else an empty folder."""

    mounted = True

    def scan(self, folder):  # type: ignore[no-untyped-def]
        if os.fspath(folder).endswith("/workspace/memory") and not self.mounted:
            return []
        return [self._entry(entry) for entry in super().scan(folder)]

    def _entry(self, entry: os.DirEntry[str]) -> Any:
        if entry.name != "memory" or not self.mounted:
            return entry
        found = entry.stat(follow_symlinks=False)
        moved = os.stat_result((found.st_mode, found.st_ino, found.st_dev + 1, *found[3:10]))
        return SimpleNamespace(
            name=entry.name, path=entry.path, is_dir=entry.is_dir, stat=lambda follow_symlinks: moved
        )


def test_an_unmounted_folder_in_the_workspace_is_no_deletion(tmp_path: Path) -> None:
    files = Mounted()
    ada = Protected(tmp_path, files=files)
    ada.write("memory/2026-11-01.md", "# Day\n")
    ada.add()
    ada.capture()
    files.mounted = False
    report = ada.capture()
    assert report.outcome == "unchanged" and report.unread_files == 1
    assert "memory/2026-11-01.md" in ada.kept()
    files.mounted = True
    assert ada.capture().complete


def test_a_missing_workspace_is_not_captured(ada: Protected, tmp_path: Path) -> None:
    ada.workspace.rename(tmp_path / "elsewhere")
    report = ada.capture()
    assert (report.outcome, report.sequence) == ("root_missing", 0)
    assert "MEMORY.md" in ada.kept()


def test_an_emptied_workspace_is_not_captured(ada: Protected) -> None:
    for file in ada.workspace.iterdir():
        file.unlink()
    assert ada.capture().outcome == "root_missing"
    assert "MEMORY.md" in ada.kept()


def test_another_folder_in_its_place_is_not_captured_until_most_is_back(ada: Protected, tmp_path: Path) -> None:
    for number in range(6):
        ada.write(f"memory/note{number}.md", f"# Note {number}\n")
    ada.capture()
    ada.workspace.rename(tmp_path / "elsewhere")
    ada.write("SOUL.md", "# Soul\n\nA fresh template.\n")
    assert ada.capture().outcome == "root_missing"
    ada.write("MEMORY.md", MEMORY)
    for number in range(6):
        ada.write(f"memory/note{number}.md", f"# Note {number}\n")
    assert ada.capture().changed
    assert ada.kept() == ada.tree()


def test_another_folder_in_its_place_is_captured_when_the_user_accepts_it(ada: Protected, tmp_path: Path) -> None:
    for number in range(6):
        ada.write(f"memory/note{number}.md", f"# Note {number}\n")
    ada.capture()
    ada.workspace.rename(tmp_path / "elsewhere")
    ada.write("SOUL.md", "# Soul\n\nA fresh template.\n")
    assert ada.capture().outcome == "root_missing"
    manage_agents.accept_removals(ada.context, ada.agent)
    report = ada.capture()
    assert report.changed and report.held is not None
    assert ada.kept() == ada.tree()


@needs_leases
def test_a_file_on_which_the_agent_has_a_lease_is_named_and_the_rest_goes_on(ada: Protected) -> None:
    """Opening such a file blocks up to 45 seconds, so an agent with many of them could stop every capture."""
    ada.write("memory/held.md", "first\n")
    ada.write("memory/other.md", "first\n")
    ada.capture()
    ada.write("memory/held.md", "second, and longer\n")
    ada.write("memory/other.md", "second, and longer\n")
    with leased(ada.workspace / "memory" / "held.md"):
        report = ada.capture()
    assert report.unread == {"raw/openclaw/memory/held.md": "Resource temporarily unavailable"}
    kept = ada.kept()
    assert (kept["memory/held.md"][1], kept["memory/other.md"][1]) == (b"first\n", b"second, and longer\n")
