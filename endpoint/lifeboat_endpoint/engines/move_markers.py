"""Marker files that say that an endpoint of files is being moved, or was moved.

The markers are empty, because creating an empty file needs no free space. Every process looks for them at the beginning
of each change.
"""

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
    """The marker files in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._moving = str(folder / MOVING)
        self._moved = str(folder / MOVED)

    @property
    def since(self) -> datetime | None:
        """When the endpoint stopped accepting changes, None while it accepts them. Each attempt has another time."""
        try:
            return times.from_nanoseconds(os.stat(self._moving).st_mtime_ns)
        except FileNotFoundError:
            return None

    @property
    def is_over(self) -> bool:
        """Whether everything has been moved, or may have been."""
        return os.path.exists(self._moved)

    def check(self) -> None:
        """Check that the endpoint accepts changes. Raises EndpointMoving, EndpointMoved."""
        self.check_here()
        if os.path.exists(self._moving):
            raise errors.EndpointMoving("this endpoint is being moved and is read-only until the move is complete")

    def check_here(self) -> None:
        """Check that the endpoint serves requests. Raises EndpointMoved."""
        if os.path.exists(self._moved):
            raise errors.EndpointMoved("this endpoint was moved: point its host name to the new server")

    def begin(self) -> datetime:
        """Stop accepting changes and return since when. Repeating it is not an error. Raises VaultFull, VaultUnusable.

        Running transactions end first, since each looks for the marker inside of the transaction.
        """
        self._make(self._moving)
        since = self.since
        assert since is not None
        return since

    def finish(self) -> None:
        self._make(self._moved)

    def take_back(self) -> None:
        """Accept changes again."""
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
