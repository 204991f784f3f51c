"""Discover agents on this machine, and locate the installation around a workspace.

No OpenClaw command is run, because even its listing writes files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from lifeboat_adapters.contract import DiscoveredAgent, Installation
from lifeboat_adapters.errors import NotAWorkspace, RuntimeConfigError
from lifeboat_adapters.foreign_runtimes import find_foreign_runtime, refuse_foreign_runtime
from lifeboat_adapters.openclaw import (
    config_includes,
    openclaw_config,
    openclaw_folders,
    openclaw_paths,
    openclaw_placement,
)
from lifeboat_adapters.openclaw.credentials import openclaw_shared_files
from lifeboat_adapters.persona import markdown_fields
from lifeboat_adapters.persona.notes_folder import has_notes
from lifeboat_adapters.small_files import read_small

_CERTAIN = (openclaw_paths.SOUL, openclaw_paths.IDENTITY)
_LIKELY = (
    openclaw_paths.AGENTS,
    openclaw_paths.USER,
    openclaw_paths.MEMORY,
    openclaw_paths.TOOLS,
    openclaw_paths.HEARTBEAT,
    "BOOTSTRAP.md",
    "memory",
)


def rate_openclaw_workspace(workspace: Path) -> int:
    """Rate how surely a folder is a workspace: 2 when a state directory around it names it, 1 when it looks like one.

    Other runtimes have a SOUL.md too. So it takes a second well-known name, and no mark of such a runtime.
    """
    if any(_names(state, workspace) for state in openclaw_folders.state_folders_near(workspace)):
        return 2
    return int(_has_two_names(workspace) and find_foreign_runtime(workspace) is None)


def _names(state: openclaw_folders.OpenClawStateFolder, workspace: Path) -> bool:
    """Return whether a state directory names a folder as one of its workspaces. For a state directory in an unknown
    home, the workspace has to lie beside it."""
    standing = workspace.resolve()
    return workspace.is_dir() and any(folder.resolve() == standing for _, folder in _workspaces(state))


def _looks_like_one(workspace: Path) -> bool:
    """Return whether a folder may be a workspace when the runtime is given: it has one certain name or two others."""
    return any((workspace / name).is_file() for name in _CERTAIN) or _has_two_names(workspace)


def _has_two_names(workspace: Path) -> bool:
    """Return whether a note lies in `memory/`, or two of the well-known names are there."""
    names = sum((workspace / name).is_file() for name in _CERTAIN) + sum(
        (workspace / name).exists() for name in _LIKELY
    )
    return has_notes(workspace) or names >= 2


def discover_openclaw_agents(environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
    """Return every configured agent whose workspace exists, each workspace once, default agents first."""
    found: dict[Path, DiscoveredAgent] = {}
    for state in openclaw_folders.state_folders(environment, user_home):
        for agent, workspace in _workspaces(state):
            if workspace.is_dir():
                item = DiscoveredAgent(
                    openclaw_paths.RUNTIME, agent.id, _name_of(agent, workspace), workspace, state.folder
                )
                found.setdefault(workspace.resolve(), item)
    return list(found.values())


def _workspaces(state: openclaw_folders.OpenClawStateFolder) -> Iterator[tuple[openclaw_config.OpenClawAgent, Path]]:
    """Return the agents of a state directory. If its configuration cannot be read, the names of its
    folders are used."""
    try:
        values = config_includes.read_resolved_config(state.config, state.folder).values
    except RuntimeConfigError:
        yield from _by_folder_names(state)
        return
    for agent in openclaw_config.list_openclaw_agents(values):
        yield agent, state.workspace_of(agent, values)


def _by_folder_names(
    state: openclaw_folders.OpenClawStateFolder,
) -> Iterator[tuple[openclaw_config.OpenClawAgent, Path]]:
    for folder in sorted(state.folder.glob("workspace*")):
        name = _id_by_folder_name(folder)
        yield openclaw_config.OpenClawAgent(name, None, {}, name == openclaw_config.MAIN), folder


def _id_by_folder_name(workspace: Path) -> str:
    name = workspace.name
    if name == "workspace":
        return openclaw_config.MAIN
    return name.removeprefix("workspace-") or openclaw_config.MAIN


def locate_openclaw(workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
    """Return the installation around a workspace.

    Raises NotAWorkspace, also for a folder of a runtime without an adapter. Raises RuntimeConfigError when neither a
    configuration that may name this workspace nor its backup can be read, and no folder name identifies the agent. A
    guess could turn into another agent later.
    """
    refused = NotAWorkspace(f"{workspace} contains no SOUL.md, IDENTITY.md or other file of an OpenClaw agent")
    looks_like_one = _looks_like_one(workspace)
    # An agent that moved here from another runtime may have nothing but memories until OpenClaw starts.
    if not (looks_like_one or (workspace / openclaw_paths.MEMORY).is_file()):
        raise refused
    unreadable: RuntimeConfigError | None = None
    for state in _candidates(workspace, environment, user_home):
        try:
            installed = _installed_in(state, workspace, environment)
        except RuntimeConfigError as error:
            unreadable = unreadable or error
            continue
        if installed is not None:
            return installed
    if not looks_like_one:
        raise refused
    if unreadable is not None:
        raise unreadable
    refuse_foreign_runtime(workspace)
    return _bare(workspace, environment)


def _candidates(
    workspace: Path, environment: Mapping[str, str], user_home: Path
) -> list[openclaw_folders.OpenClawStateFolder]:
    surrounding = openclaw_folders.state_folder_around(workspace, user_home)
    known = openclaw_folders.state_folders(environment, user_home)
    return known if surrounding is None else [*known, surrounding]


def _installed_in(
    state: openclaw_folders.OpenClawStateFolder, workspace: Path, environment: Mapping[str, str]
) -> Installation | None:
    try:
        whole = config_includes.read_resolved_config(state.config, state.folder)
    except RuntimeConfigError:
        for agent, folder in _by_folder_names(state):
            if folder.resolve() == workspace.resolve():
                alone = _installation(state, config_includes.ResolvedConfig({}), agent, workspace, environment)
                return replace(alone, sharing=openclaw_shared_files.UNKNOWN)
        raise
    for agent in openclaw_config.list_openclaw_agents(whole.values):
        if state.workspace_of(agent, whole.values).resolve() == workspace.resolve():
            return _installation(state, whole, agent, workspace, environment)
    return None


def _installation(
    state: openclaw_folders.OpenClawStateFolder,
    whole: config_includes.ResolvedConfig,
    agent: openclaw_config.OpenClawAgent,
    workspace: Path,
    environment: Mapping[str, str],
) -> Installation:
    return Installation(
        runtime=openclaw_paths.RUNTIME,
        workspace=workspace,
        native_id=agent.id,
        name=_name_of(agent, workspace),
        state_dir=state.folder,
        config=state.config if state.config.is_file() else None,
        layout=openclaw_folders.layout_of(state.folder, whole.values),
        version=openclaw_config.get_nested_text(whole.values, "meta", "lastTouchedVersion"),
        program=openclaw_folders.find_openclaw_program(environment),
        included=tuple(name for name in whole.inside(state.folder) if openclaw_placement.may_be_included(name)),
        sharing=openclaw_shared_files.openclaw_sharing_mark(whole.values, agent.id),
    )


def _bare(workspace: Path, environment: Mapping[str, str]) -> Installation:
    """Return the installation of a workspace that no state directory names: moved, restored, or from elsewhere."""
    native_id = _id_by_folder_name(workspace)
    return Installation(
        runtime=openclaw_paths.RUNTIME,
        workspace=workspace,
        native_id=native_id,
        name=_name_in(workspace) or native_id,
        program=openclaw_folders.find_openclaw_program(environment),
    )


def _name_of(agent: openclaw_config.OpenClawAgent, workspace: Path) -> str:
    """Return the name of an agent for people. OpenClaw's onboarding stores the id as the name, which does not count."""
    chosen = None if agent.name == agent.id else agent.name
    return chosen or _name_in(workspace) or agent.id


def _name_in(workspace: Path) -> str | None:
    try:
        text = read_small(workspace / openclaw_paths.IDENTITY, workspace).decode("utf-8", "replace")
    except OSError:
        return None
    return markdown_fields.key_value_pairs(text).get("name")
