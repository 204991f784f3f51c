"""Propose a folder for an agent that comes to this machine, for each runtime."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from lifeboat_core.home.context import Context

_NO_LETTERS = re.compile(r"[^a-z0-9]+")


def find_usual_folders(context: Context, name: str, taken: Collection[Path] = ()) -> dict[str, Path]:
    """Return a folder for an agent of this name by runtime: the one that the runtime would use, or one beside it if
    that is not empty or `taken` for another agent."""
    word = _NO_LETTERS.sub("-", name.casefold()).strip("-") or "agent"
    usual = {one.runtime: one.usual_workspace(context.user_home, word) for one in context.adapters()}
    places = {runtime: (folder, folder.with_name(f"{folder.name}-{word}")) for runtime, folder in usual.items()}
    return {
        runtime: next((folder for folder in found if _is_free(folder, taken)), found[0])
        for runtime, found in places.items()
    }


def _is_free(folder: Path, taken: Collection[Path]) -> bool:
    if folder in taken:
        return False
    try:
        return not any(folder.iterdir())
    except FileNotFoundError:
        return True
    except OSError:
        return False
