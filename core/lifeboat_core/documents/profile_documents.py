"""The JSON of `lifeboat profiles`."""

from __future__ import annotations

import msgspec


class ListedProfile(msgspec.Struct, frozen=True):
    """A profile in the list."""

    name: str
    title: str
    source: str
    """`shipped`, or the file of a profile of yours"""
    problem: str | None = None
    """why it cannot be used"""


class ListedProfiles(msgspec.Struct, frozen=True):
    """The document of `profiles list`."""

    profiles: tuple[ListedProfile, ...]


class TestedFile(msgspec.Struct, frozen=True):
    """A file that the profile captures."""

    path: str
    """in the archive"""
    memories: int
    credentials: tuple[str, ...]
    """labels, never values"""


class TestedProfile(msgspec.Struct, frozen=True):
    """The document of `profiles test`."""

    name: str
    folder: str
    recognised: bool
    """whether `agents add` recognises the folder without `--runtime`"""
    files: tuple[TestedFile, ...]
    left_out: dict[str, str]
    """excluded files and folders with the reason"""
    problems: tuple[str, ...]
    """what must be changed before the profile can be used; exit status 1 with any"""
