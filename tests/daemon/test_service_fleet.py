"""The watched agents while their files change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import FolderEntry, StrPath, SystemFiles
from lifeboat_daemon.service.fleet import Fleet
from support.core.protected import Protected


class MovesHome(SystemFiles):
    """Moves a folder away before the operation that follows `after` others; None for never."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.after: int | None = None

    def _count(self) -> None:
        if self.after == 0:
            self._home.rename(self._home.with_name("aside"))
        if self.after is not None:
            self.after -= 1

    def scan(self, folder: StrPath) -> Sequence[FolderEntry]:
        self._count()
        return super().scan(folder)

    def open_regular(self, path: StrPath) -> int:
        self._count()
        return super().open_regular(path)


@pytest.mark.parametrize("after", range(4))
def test_a_home_that_is_moved_away_while_it_is_read_loses_no_agent(ada: Protected, after: int) -> None:
    moving = MovesHome(ada.context.home.folder)
    fleet = Fleet(replace(ada.context, files=moving))
    fleet.load()
    moving.after = after
    assert fleet.load() == ([], [])
    assert moving.after < 0 and list(fleet.watched_agents) == [ada.agent.id]
    fleet.load()
    assert "home was removed, with every copy in it" in str(fleet.problem)
    assert list(fleet.watched_agents) == [ada.agent.id]
