"""What of a runtime's own folder is neither captured nor named as left out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath


def unnamed(folder: Path, prefix: str, told: Iterable[str]) -> list[str]:
    """Files and links below `folder`, by relative path, that `told` does not have: archive paths of files, and of
    folders that are left out as a whole (ending with `/`). `prefix` is the folder's in an archive."""
    known = set(told)
    every = [Path(at, name).relative_to(folder).as_posix() for at, _, names in os.walk(folder) for name in names]
    return sorted(name for name in every if not _is_told(prefix, name, known))


def _is_told(prefix: str, name: str, known: set[str]) -> bool:
    above = (f"{prefix}{parent}/" for parent in PurePosixPath(name).parents if str(parent) != ".")
    return prefix + name in known or any(folder in known for folder in above)
