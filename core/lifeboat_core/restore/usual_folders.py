"""Propose a folder for an agent that comes to this machine, for each runtime."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from lifeboat_adapters.contract import Adapter
from lifeboat_core.home.context import Context

_NO_LETTERS = re.compile(r"[^a-z0-9]+")


def find_usual_folders(context: Context, name: str, taken: Collection[Path] = ()) -> dict[str, Path]:
    """Return a folder for an agent of this name by runtime: the one that the runtime would use, or one beside it if
    that is not empty or `taken` for another agent."""
    return {one.runtime: choose_usual_folder(context, one, name, taken) for one in context.adapters()}


def choose_usual_folder(context: Context, adapter: Adapter, name: str, taken: Collection[Path]) -> Path:
    """Return the folder that one runtime would use for an agent of this name, or one beside it."""
    word = make_folder_name(name)
    usual = adapter.usual_workspace(context.user_home, word)
    beside = usual.with_name(f"{usual.name}-{word}")
    return next((folder for folder in (usual, beside) if _is_free(folder, taken)), usual)


def make_folder_name(name: str) -> str:
    """Return the name of an agent with the characters that any folder can have."""
    return _NO_LETTERS.sub("-", name.casefold()).strip("-") or "agent"


def _is_free(folder: Path, taken: Collection[Path]) -> bool:
    if folder in taken:
        return False
    try:
        return not any(folder.iterdir())
    except FileNotFoundError:
        return True
    except OSError:
        return False
