"""The JSON of `lifeboat agents list` and `agents discover`."""

from __future__ import annotations

import msgspec


class Here(msgspec.Struct, frozen=True):
    """An agent on this machine."""

    id: str
    name: str = ""
    runtime: str = ""
    workspace: str = ""
    """the agents"""
    watched: bool = True
    """false: imported or restored, and not protected yet"""
    paused: bool = False
    """whether its captures are paused"""
    paused_until: str | None = None
    """end of the pause; null: until it is resumed, or not paused"""
    problem: str | None = None
    """why its settings file is not in use, or null"""
    folders: dict[str, str] = {}
    """for each runtime, the default folder of another agent with this name"""


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
    """name"""
    workspace: str = ""
    """folder"""
    protected_as: str | None = None
    """its name here, or null if it is not protected"""
    dismissed: bool = False
    """dismissed by the user; only listed with `--all`"""


class Discovered(msgspec.Struct, frozen=True):
    """The document of `agents discover`."""

    found: tuple[Found, ...] = ()
