"""The folder `memory/` of a workspace: OpenClaw and ZeroClaw both keep their notes there."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER, SUFFIX = "memory", ".md"


def has_notes(workspace: Path) -> bool:
    """Return whether a Markdown file lies in `memory/`; False where that cannot be read. An agent may have no more."""
    try:
        with os.scandir(workspace / FOLDER) as found:
            return any(each.name.endswith(SUFFIX) and each.is_file() for each in found)
    except OSError:
        return False
