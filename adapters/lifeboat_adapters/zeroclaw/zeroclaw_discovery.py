"""Discover agents on this machine, and locate the installation around a workspace. No program of ZeroClaw is run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from lifeboat_adapters.contract import DiscoveredAgent, Installation
from lifeboat_adapters.errors import NotAWorkspace, RuntimeConfigError
from lifeboat_adapters.foreign_runtimes import refuse_foreign_runtime
from lifeboat_adapters.persona import markdown_fields
from lifeboat_adapters.persona.notes_folder import has_notes
from lifeboat_adapters.small_files import read_small
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_folders, zeroclaw_paths
from lifeboat_adapters.zeroclaw.credentials import zeroclaw_shared_files
from lifeboat_adapters.zeroclaw.zeroclaw_config import ZeroClawAgent
from lifeboat_adapters.zeroclaw.zeroclaw_folders import ZeroClawHome
from lifeboat_alf.common.json_types import JsonObject

LONE = "bare"
"""The layout of a workspace without a home."""

_PERSONA = (
    zeroclaw_paths.SOUL,
    zeroclaw_paths.IDENTITY,
    zeroclaw_paths.AGENTS,
    zeroclaw_paths.USER,
    zeroclaw_paths.MEMORY,
    zeroclaw_paths.TOOLS,
    zeroclaw_paths.HEARTBEAT,
)
_OWN_TRACES = (
    zeroclaw_paths.BRAIN,
    "memory/audit.db",
    "memory/response_cache.db",
    "MEMORY_SNAPSHOT.md",
    "cron/jobs.db",
)
"""Files in the early layout's workspace that only ZeroClaw writes."""


def rate_zeroclaw_workspace(workspace: Path) -> int:
    """Rate how surely a folder is a workspace of ZeroClaw: 2 when its own database or a configuration around it says
    so, 1 for other files that only ZeroClaw writes. Persona files alone look like OpenClaw's."""
    if not os.path.isdir(workspace):
        return 0
    if os.path.isfile(workspace / zeroclaw_paths.BRAIN) or any(
        _holds(home, workspace) for home in zeroclaw_folders.homes_around(workspace)
    ):
        return 2
    return int(_has_persona(workspace) and any(os.path.isfile(workspace / trace) for trace in _OWN_TRACES))


def discover_zeroclaw_agents(environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
    """Return every configured agent whose workspace exists, each workspace once, by home and alias."""
    found: dict[str, DiscoveredAgent] = {}
    for home in zeroclaw_folders.list_homes(environment, user_home):
        for agent, workspace in _agents(home, _readable(home), user_home):
            if os.path.isdir(workspace):
                name = _name_in(workspace) or agent.alias
                item = DiscoveredAgent(zeroclaw_paths.RUNTIME, agent.alias, name, workspace, home.folder)
                found.setdefault(zeroclaw_folders.real_path_text(workspace), item)
    return list(found.values())


def locate_zeroclaw(workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
    """Return the installation around a workspace. Raises NotAWorkspace.

    Raises RuntimeConfigError when a configuration that may name this workspace cannot be read, and the place of the
    folder does not identify the agent. A guess could turn into another agent later.
    """
    unreadable: RuntimeConfigError | None = None
    for home in _candidates(workspace, environment, user_home):
        try:
            installed = _installed_in(home, workspace, environment, user_home)
        except RuntimeConfigError as error:
            unreadable = unreadable or error
            continue
        if installed is not None:
            return installed
    if unreadable is not None:
        raise unreadable
    if not os.path.isfile(workspace / zeroclaw_paths.BRAIN) and not _has_persona(workspace):
        raise NotAWorkspace(f"{workspace} contains no SOUL.md, IDENTITY.md or other file of a ZeroClaw agent")
    if not os.path.isfile(workspace / zeroclaw_paths.BRAIN):
        refuse_foreign_runtime(workspace)
    return Installation(
        runtime=zeroclaw_paths.RUNTIME,
        workspace=workspace,
        native_id=zeroclaw_paths.DEFAULT_ALIAS,
        name=_name_in(workspace) or zeroclaw_paths.DEFAULT_ALIAS,
        layout=LONE,
        program=zeroclaw_folders.find_zeroclaw_program(environment),
    )


def _candidates(workspace: Path, environment: Mapping[str, str], user_home: Path) -> list[ZeroClawHome]:
    """Return the homes that may name a workspace. Its place takes precedence over the environment."""
    return [*zeroclaw_folders.homes_around(workspace), *zeroclaw_folders.list_homes(environment, user_home)]


def _readable(home: ZeroClawHome) -> JsonObject:
    try:
        return zeroclaw_config.read_zeroclaw_config(home.config)
    except RuntimeConfigError:
        return {}


def _installed_in(
    home: ZeroClawHome, workspace: Path, environment: Mapping[str, str], user_home: Path
) -> Installation | None:
    standing = zeroclaw_folders.real_path_text(workspace)
    unreadable: RuntimeConfigError | None = None
    try:
        values = zeroclaw_config.read_zeroclaw_config(home.config)
    except RuntimeConfigError as error:
        values, unreadable = {}, error
    for agent, folder in _agents(home, values, user_home):
        if zeroclaw_folders.real_path_text(folder) == standing:
            found = _installation(home, values, agent, workspace, environment)
            return found if unreadable is None else replace(found, sharing=zeroclaw_shared_files.UNKNOWN)
    if unreadable is not None:
        raise unreadable
    return None


def _agents(home: ZeroClawHome, values: JsonObject, user_home: Path) -> Iterator[tuple[ZeroClawAgent, Path]]:
    """Yield the agents of a home with their workspaces as configured, then those that only have a folder, because the
    configuration does not name them any more, is missing, or cannot be read."""
    for agent in zeroclaw_config.list_zeroclaw_agents(values):
        yield agent, home.workspace_of(agent, values, user_home)
    if home.layout(values) == zeroclaw_paths.CURRENT:
        for folder in sorted((home.folder / zeroclaw_folders.AGENTS).glob(f"*/{zeroclaw_folders.WORKSPACE}")):
            yield ZeroClawAgent(folder.parent.name, None, {}), folder


def _installation(
    home: ZeroClawHome, values: JsonObject, agent: ZeroClawAgent, workspace: Path, environment: Mapping[str, str]
) -> Installation:
    return Installation(
        runtime=zeroclaw_paths.RUNTIME,
        workspace=workspace,
        native_id=agent.alias,
        name=_name_in(workspace) or agent.alias,
        state_dir=home.folder,
        config=home.config if os.path.isfile(home.config) else None,
        layout=home.layout(values),
        version=_version(values),
        program=zeroclaw_folders.find_zeroclaw_program(environment),
        sharing=zeroclaw_shared_files.zeroclaw_sharing_mark(values, agent.alias),
    )


def _version(values: JsonObject) -> str | None:
    """Return the release that a configuration names, None when it names none."""
    return zeroclaw_config.get_nested_text(values, "version") or zeroclaw_config.get_nested_text(
        values, "meta", "version"
    )


def _holds(home: ZeroClawHome, workspace: Path) -> bool:
    """Return whether a home around a folder names it as one of its workspaces. The meaning of `~` is unknown here, but
    a workspace that is named with it does not lie below its home."""
    values = _readable(home)
    if (
        values
        and not zeroclaw_config.is_of_zeroclaw(values)
        and not os.path.isfile(home.folder / zeroclaw_paths.SECRET_KEY)
    ):
        return False
    standing = zeroclaw_folders.real_path_text(workspace)
    return any(zeroclaw_folders.real_path_text(folder) == standing for _, folder in _agents(home, values, home.folder))


def _has_persona(workspace: Path) -> bool:
    if any(os.path.isfile(workspace / name) for name in (zeroclaw_paths.SOUL, zeroclaw_paths.IDENTITY)) or has_notes(
        workspace
    ):
        return True
    return sum(os.path.exists(workspace / name) for name in (*_PERSONA, zeroclaw_paths.BOOTSTRAP, "memory")) >= 2


def _name_in(workspace: Path) -> str | None:
    try:
        text = read_small(workspace / zeroclaw_paths.IDENTITY, workspace).decode("utf-8", "replace")
    except OSError:
        return None
    return markdown_fields.key_value_pairs(text).get("name")
