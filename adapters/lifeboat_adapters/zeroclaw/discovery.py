"""Which agents are on this machine, and which installation a workspace belongs to. Nothing of ZeroClaw is run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from lifeboat_adapters.contract import FoundAgent, Installation
from lifeboat_adapters.errors import NotAWorkspace, RuntimeConfigError
from lifeboat_adapters.foreign_runtimes import refuse_foreign_runtime
from lifeboat_adapters.persona import reading
from lifeboat_adapters.persona.notes_folder import has_notes
from lifeboat_adapters.small_files import read_small
from lifeboat_adapters.zeroclaw import config, host, paths
from lifeboat_adapters.zeroclaw.config import ConfiguredAgent
from lifeboat_adapters.zeroclaw.credentials import sharing
from lifeboat_adapters.zeroclaw.host import Home
from lifeboat_alf.json_types import JsonObject

LONE = "bare"
"""The layout of a workspace without a home."""

_PERSONA = (paths.SOUL, paths.IDENTITY, paths.AGENTS, paths.USER, paths.MEMORY, paths.TOOLS, paths.HEARTBEAT)
_OWN_TRACES = (paths.BRAIN, "memory/audit.db", "memory/response_cache.db", "MEMORY_SNAPSHOT.md", "cron/jobs.db")
"""Files of the early layout's workspace that only ZeroClaw writes there."""


def recognises(workspace: Path) -> int:
    """How surely a folder is a workspace of ZeroClaw: 2 when its own database or a configuration around says so, 1 for
    other files that only it writes. Persona files alone look like OpenClaw's."""
    if not os.path.isdir(workspace):
        return 0
    if os.path.isfile(workspace / paths.BRAIN) or any(_holds(home, workspace) for home in host.around(workspace)):
        return 2
    return int(_has_persona(workspace) and any(os.path.isfile(workspace / trace) for trace in _OWN_TRACES))


def discover(environment: Mapping[str, str], user_home: Path) -> list[FoundAgent]:
    """Every configured agent whose workspace is there, each workspace once, by home and alias."""
    found: dict[str, FoundAgent] = {}
    for home in host.homes(environment, user_home):
        for agent, workspace in _agents(home, _readable(home), user_home):
            if os.path.isdir(workspace):
                name = _name_in(workspace) or agent.alias
                item = FoundAgent(paths.RUNTIME, agent.alias, name, workspace, home.folder)
                found.setdefault(host.real(workspace), item)
    return list(found.values())


def locate(workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
    """The installation around a workspace. Raises NotAWorkspace.

    RuntimeConfigError: a configuration that may name this workspace cannot be read, and where the folder stands does
    not tell. A guess now would be another agent later.
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
    if not os.path.isfile(workspace / paths.BRAIN) and not _has_persona(workspace):
        raise NotAWorkspace(f"{workspace} holds no SOUL.md, IDENTITY.md or other files of a ZeroClaw agent")
    if not os.path.isfile(workspace / paths.BRAIN):
        refuse_foreign_runtime(workspace)
    return Installation(
        runtime=paths.RUNTIME,
        workspace=workspace,
        native_id=paths.DEFAULT_ALIAS,
        name=_name_in(workspace) or paths.DEFAULT_ALIAS,
        layout=LONE,
        program=host.program(environment),
    )


def _candidates(workspace: Path, environment: Mapping[str, str], user_home: Path) -> list[Home]:
    """Where it stands says more than what the environment names."""
    return [*host.around(workspace), *host.homes(environment, user_home)]


def _readable(home: Home) -> JsonObject:
    try:
        return config.read(home.config)
    except RuntimeConfigError:
        return {}


def _installed_in(home: Home, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation | None:
    standing = host.real(workspace)
    unreadable: RuntimeConfigError | None = None
    try:
        values = config.read(home.config)
    except RuntimeConfigError as error:
        values, unreadable = {}, error
    for agent, folder in _agents(home, values, user_home):
        if host.real(folder) == standing:
            found = _installation(home, values, agent, workspace, environment)
            return found if unreadable is None else replace(found, sharing=sharing.UNKNOWN)
    if unreadable is not None:
        raise unreadable
    return None


def _agents(home: Home, values: JsonObject, user_home: Path) -> Iterator[tuple[ConfiguredAgent, Path]]:
    """Agents of a home with their workspaces, as configured; then those that have a folder there all the same: the
    configuration does not know them any more, is gone, or cannot be read."""
    for agent in config.agents(values):
        yield agent, home.workspace_of(agent, values, user_home)
    if home.layout(values) == paths.CURRENT:
        for folder in sorted((home.folder / host.AGENTS).glob(f"*/{host.WORKSPACE}")):
            yield ConfiguredAgent(folder.parent.name, None, {}), folder


def _installation(
    home: Home, values: JsonObject, agent: ConfiguredAgent, workspace: Path, environment: Mapping[str, str]
) -> Installation:
    return Installation(
        runtime=paths.RUNTIME,
        workspace=workspace,
        native_id=agent.alias,
        name=_name_in(workspace) or agent.alias,
        state_dir=home.folder,
        config=home.config if os.path.isfile(home.config) else None,
        layout=home.layout(values),
        version=_version(values),
        program=host.program(environment),
        sharing=sharing.mark(values, agent.alias),
    )


def _version(values: JsonObject) -> str | None:
    """The release that a configuration names, where it names one."""
    return config.text(values, "version") or config.text(values, "meta", "version")


def _holds(home: Home, workspace: Path) -> bool:
    """Whether a home around a folder says that this is one of its workspaces. What `~` stands for is not known here: a
    workspace that is named so does not stand around its home."""
    values = _readable(home)
    if values and not config.is_of_zeroclaw(values) and not os.path.isfile(home.folder / paths.SECRET_KEY):
        return False
    standing = host.real(workspace)
    return any(host.real(folder) == standing for _, folder in _agents(home, values, home.folder))


def _has_persona(workspace: Path) -> bool:
    if any(os.path.isfile(workspace / name) for name in (paths.SOUL, paths.IDENTITY)) or has_notes(workspace):
        return True
    return sum(os.path.exists(workspace / name) for name in (*_PERSONA, paths.BOOTSTRAP, "memory")) >= 2


def _name_in(workspace: Path) -> str | None:
    try:
        text = read_small(workspace / paths.IDENTITY, workspace).decode("utf-8", "replace")
    except OSError:
        return None
    return reading.pairs(text).get("name")
