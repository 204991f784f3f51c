"""Write into the runtime's own folder, which an agent may be able to change: no link in it is followed."""

from __future__ import annotations

import os
from pathlib import Path

from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.seams.files_beneath import FilesBeneath


def refuse_links(files: FileOperations) -> FilesBeneath:
    """Return file operations that follow no link in any path and raise LinkInPath for one."""
    return files if isinstance(files, FilesBeneath) else FilesBeneath(files, ["/"])


def find_real_place(path: Path, folder: Path | None) -> Path:
    """Return the path of something in the runtime's folder, with the links above that folder followed and none below. A
    path outside it stays the same."""
    if folder is None or not path.is_relative_to(folder):
        return path
    return Path(os.path.realpath(folder)) / path.relative_to(folder)
