"""The setting `autoMemoryDirectory`: the program keeps the memories of all projects in one folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from lifeboat_adapters.claude_code import user_settings
from lifeboat_adapters.claude_code.path_spelling import MEMORY, PROJECTS
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.small_files import read_small

SETTINGS = "settings.json"
PART = f"{PROJECTS}/autoMemoryDirectory/{MEMORY}/"
"""Where a capture keeps the files of the folder. The name of a project's own folder begins with a hyphen."""

FILES = ("*.md",)
_OF_PROJECTS = (".claude/settings.local.json", ".claude/settings.json")


def find_named_folder(settings: bytes, user_home: Path) -> Path | None:
    """Return the folder that settings name, None without one."""
    try:
        values = json.loads(settings)
    except (ValueError, RecursionError):
        return None
    named = values.get("autoMemoryDirectory") if isinstance(values, dict) else None
    if not isinstance(named, str) or not named.startswith(("~/", "/")):
        return None
    return Path(os.path.normpath(user_home / named.removeprefix("~/")))


def find_captured_folder(workspace: Path, user_home: Path) -> Path | None:
    """Return the folder with the user's memories if it is captured with the agent: if it exists inside of the user's
    home, and neither contains the workspace nor lies in it."""
    folder = read_named_folder(workspace / SETTINGS, user_home, workspace)
    if folder is None or not folder.is_dir():
        return None
    real, home, own = (Path(os.path.realpath(path)) for path in (folder, user_home, workspace))
    overlaps = own.is_relative_to(real) or real.is_relative_to(own)
    return folder if real.is_relative_to(home) and real != home and not overlaps else None


def read_named_folder(path: Path, user_home: Path, workspace: Path | None = None) -> Path | None:
    """Return the folder that a file of settings names, None without one or while the file cannot be read. No link is
    followed below the workspace."""
    try:
        return find_named_folder(read_small(path, workspace), user_home)
    except OSError:
        return None


def find_other_folders(workspace: Path, captured: Path | None) -> Iterator[Path]:
    """Yield existing folders with memories that are not captured with the agent: one outside of the user's home, and
    those that the settings of a project name."""
    user_home = workspace.parent if workspace.name == user_settings.HOME else Path.home()
    try:
        projects = user_settings.read_settings(workspace).get(PROJECTS)
    except RuntimeDatabaseError:
        projects = None
    folders = projects if isinstance(projects, dict) else ()
    listed = (Path(folder, name) for folder in folders for name in _OF_PROJECTS)
    named = (read_named_folder(path, user_home) for path in (workspace / SETTINGS, *listed))
    for folder in dict.fromkeys(named):
        if folder is not None and folder != captured and folder.is_dir() and not folder.is_relative_to(workspace):
            yield folder
