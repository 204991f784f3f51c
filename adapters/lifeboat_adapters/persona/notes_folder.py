"""The folder `memory/` of a workspace, where OpenClaw and ZeroClaw both keep their notes."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER, SUFFIX = "memory", ".md"


def has_notes(workspace: Path) -> bool:
    """Return whether `memory/` contains a Markdown file, False when the folder cannot be read. An agent may have no
    other memories."""
    try:
        with os.scandir(workspace / FOLDER) as found:
            return any(each.name.endswith(SUFFIX) and each.is_file() for each in found)
    except OSError:
        return False
