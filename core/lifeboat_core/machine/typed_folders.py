"""Folders as a user types them into a form: absolute paths, and optionally existing ones."""

from __future__ import annotations

from pathlib import Path

from lifeboat_core.errors import BadSetting


def parse_whole_path(text: str) -> Path:
    """Return the path of a folder that was typed, with `~` for the user's own.

    Raises BadSetting for a relative one: the user does not see its starting point.
    """
    try:
        folder = Path(text).expanduser()
    except RuntimeError:  # ~name of a user that this system does not know
        folder = Path(text)
    if not folder.is_absolute():
        raise BadSetting("give the absolute path of the folder, such as /media/stick/lifeboat", fix="pwd")
    return folder


def parse_existing_folder(text: str) -> Path:
    """Return the path of an existing folder. Raises BadSetting."""
    folder = parse_whole_path(text)
    if not folder.is_dir():
        raise BadSetting(
            f"the folder {folder} does not exist; check that the right disk or share is mounted", fix="df -h"
        )
    return folder
