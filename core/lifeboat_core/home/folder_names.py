"""List the folders of the home.

`Path.glob` and `Path.is_dir` read a folder that cannot be listed as an empty or missing one. Code that decides what is
protected must not: an agent, a remote or a purge that cannot be seen still exists.
"""

from __future__ import annotations

from pathlib import Path

from lifeboat_alf.seams.file_operations import FileOperations


def names_in(files: FileOperations, folder: Path) -> list[str]:
    """Return the names in a folder, sorted; none for a folder that does not exist. Raises OSError."""
    try:
        return sorted(entry.name for entry in files.scan(folder))
    except FileNotFoundError:
        return []


def paths_in(files: FileOperations, folder: Path, suffix: str = "") -> list[Path]:
    """Return the paths in a folder whose names end with `suffix`, sorted. Raises OSError."""
    return [folder / name for name in names_in(files, folder) if name.endswith(suffix)]


def folders_in(files: FileOperations, folder: Path) -> list[Path]:
    """Return the folders in a folder, sorted, without links and files. Raises OSError."""
    try:
        found = [entry.name for entry in files.scan(folder) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    return [folder / name for name in sorted(found)]


def is_there(files: FileOperations, path: Path) -> bool:
    """Return whether a path exists. Raises OSError when that cannot be found out."""
    try:
        files.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
