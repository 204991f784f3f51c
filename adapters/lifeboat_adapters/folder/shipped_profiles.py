"""The profiles that come with Lifeboat, and those that a user wrote, by the name of their runtime."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from lifeboat_adapters.errors import ProfileInvalid
from lifeboat_adapters.folder import folder_profile
from lifeboat_adapters.folder.folder_profile import FolderProfile
from lifeboat_adapters.small_files import entries_of, read_small
from lifeboat_alf.common.refusal_texts import refusal_reason

SUFFIX = ".toml"


@cache
def load_shipped_profiles() -> dict[str, FolderProfile]:
    """Return the profiles that come with Lifeboat, sorted by name."""
    found = sorted(resources.files(__package__).joinpath("profiles").iterdir(), key=lambda each: each.name)
    profiles = (folder_profile.parse_profile(each.read_text("utf-8"), each.name) for each in found)
    return {profile.name: profile for profile in profiles}


def list_user_profiles(folder: Path | None) -> dict[str, Path]:
    """Return the files of the user's profiles by the name of their runtime, sorted."""
    entries = entries_of(folder) if folder is not None else []
    return {entry.name.removesuffix(SUFFIX): Path(entry.path) for entry in entries if entry.name.endswith(SUFFIX)}


def read_profile(path: Path) -> tuple[FolderProfile, str]:
    """Return the profile in a file, and its text. Raises ProfileInvalid."""
    try:
        text = read_small(path, limit=folder_profile.LARGEST).decode("utf-8")
    except OSError as error:
        raise ProfileInvalid(f"{path}: {refusal_reason(error)}") from error
    except UnicodeDecodeError:
        raise ProfileInvalid(f"{path} is not UTF-8 text") from None
    return folder_profile.parse_profile(text, str(path)), text


def read_user_profile(name: str, path: Path) -> tuple[FolderProfile, str]:
    """Return a profile of the user's folder, and its text. Raises ProfileInvalid, also when its name is not that of the
    file."""
    profile, text = read_profile(path)
    if profile.name != name:
        raise ProfileInvalid(f"in {path}, name = {profile.name!r} must be the same as the file name, {name!r}")
    return profile, text
