"""An endpoint of files that is being moved to another place, or was moved, says so by an empty file in its folder:
making one needs no room, and every process looks for it whenever it begins to change something."""

from __future__ import annotations

import contextlib
import os
from datetime import datetime
from pathlib import Path

from lifeboat_alf.common import times
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_vault import errors
from lifeboat_vault.store.disk_blobs import translate_errors

MOVING, MOVED = "moving", "moved"


class MoveMarkers:
    """The files in `folder` that say it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._moving = str(folder / MOVING)
        self._moved = str(folder / MOVED)

    @property
    def since(self) -> datetime | None:
        """Since when it takes nothing new: another time with each attempt. None: it does."""
        try:
            return times.from_nanoseconds(os.stat(self._moving).st_mtime_ns)
        except FileNotFoundError:
            return None

    @property
    def is_over(self) -> bool:
        """Whether everything of it is elsewhere, or may be."""
        return os.path.exists(self._moved)

    def check(self) -> None:
        """Whether what is kept may change. Raises EndpointMoving, EndpointMoved."""
        self.check_here()
        if os.path.exists(self._moving):
            raise errors.EndpointMoving("this endpoint is being moved: until that is done it gives, and takes nothing")

    def check_here(self) -> None:
        """Whether anybody is served here. Raises EndpointMoved."""
        if os.path.exists(self._moved):
            raise errors.EndpointMoved("this endpoint was moved: its address has to lead to where it is now")

    def begin(self) -> datetime:
        """From now on nothing changes; since when. Whatever was being changed ends first, since it is looked for inside
        each transaction. Again is no error. Raises VaultFull, VaultUnusable."""
        self._make(self._moving)
        since = self.since
        assert since is not None
        return since

    def finish(self) -> None:
        self._make(self._moved)

    def take_back(self) -> None:
        """It goes on as before."""
        with translate_errors():
            for path in (self._moved, self._moving):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            SystemFiles().sync_folder(self._folder)

    def _make(self, path: str) -> None:
        with translate_errors():
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            SystemFiles().sync_folder(self._folder)
