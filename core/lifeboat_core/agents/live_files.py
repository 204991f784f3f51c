"""Files of the workspace that are unchanged since they were captured, for a verification to compare with."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters.stable_reads import sqlite_files
from lifeboat_adapters.stable_reads.file_reading import OverLimit, Unstable
from lifeboat_alf.seams.file_operations import FileOperations, read_all
from lifeboat_alf.seams.files_beneath import FilesBeneath
from lifeboat_core.capture.file_capture import LARGEST
from lifeboat_core.restore.wanted_contents import WantedFile


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """The files of a workspace. `scratch` is a private folder for the copy of a database that is in use."""

    files: FileOperations
    workspace: Path
    scratch: Path

    @classmethod
    def of(cls, files: FileOperations, workspace: Path, scratch: Path) -> LiveFiles:
        """Return the files of a workspace, reached without following a link in it."""
        real = Path(os.path.realpath(workspace))
        return cls(FilesBeneath(files, [real]), real, scratch)

    def untouched(self, item: WantedFile) -> bytes | None:
        """Return what a capture would read of a file that has the captured size and time; None for any other."""
        path = self.workspace / item.name
        try:
            status = self.files.lstat(path)
            if not stat.S_ISREG(status.st_mode) or (status.st_size, status.st_mtime_ns) != (item.size, item.mtime_ns):
                return None
            if not sqlite_files.is_database(self.files, path):
                return read_all(self.files, path)
            return self._committed(path, item)
        except OSError:
            return None

    def _committed(self, path: Path, item: WantedFile) -> bytes | None:
        """Return the state of a database in use, whose own bytes differ from the capture. None if its log has a later
        one. Raises OSError."""
        try:
            found = sqlite_files.read_database(self.files, path, LARGEST + item.size, self.scratch)
        except (OverLimit, Unstable):
            return None
        return found.data if found.key.mtime_ns == item.mtime_ns and len(found.data) == item.size else None
