"""The JSON of `lifeboat agents list` and `agents discover`."""

from __future__ import annotations

import msgspec


class Here(msgspec.Struct, frozen=True):
    """An agent of this machine."""

    id: str
    name: str = ""
    runtime: str = ""
    workspace: str = ""
    """every agent"""
    watched: bool = True
    """false while it came from an import or a restore and nobody asked to protect it"""
    paused: bool = False
    """whether its captures rest"""
    paused_until: str | None = None
    """until when, or null: until it is resumed, or not at all"""
    problem: str | None = None
    """why its file on disk is not the one in force, or null"""
    folders: dict[str, str] = {}
    """for each runtime, the folder where another agent of this name would lie"""


class Everyone(msgspec.Struct, frozen=True):
    """The document of `agents list`."""

    agents: tuple[Here, ...] = ()


class Found(msgspec.Struct, frozen=True):
    """An agent on this machine, protected or not."""

    runtime: str
    """the runtime"""
    native_id: str = ""
    """the runtime's own name for the agent"""
    name: str = ""
    """its name"""
    workspace: str = ""
    """its folder"""
    protected_as: str | None = None
    """what it is called here, or null when it is not protected"""
    dismissed: bool = False
    """whether it is not offered any more; without `--all` such an agent is left out"""


class Discovered(msgspec.Struct, frozen=True):
    """The document of `agents discover`."""

    found: tuple[Found, ...] = ()
