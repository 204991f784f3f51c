"""Determine the installation that an agent is restored into, and the names of files in the other layout."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeConfigError
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_folders, zeroclaw_paths
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State

_CONFIG = zeroclaw_paths.HOME + zeroclaw_paths.CONFIG
_VERSION = re.compile(r"\b(\d+)\.(\d+)\.\d+")
_AGENTS_SINCE = (0, 8)
"""The first release that keeps several agents in one home."""
_UNFIT = re.compile(r"[^a-z0-9_-]+")
_LONGEST_ALIAS = 40

_MOVED = (
    ("skills/", "shared/skills/"),
    ("playbooks/", "playbooks/"),
)
"""Folders of the early layout's workspace that the current layout keeps in the home, as ZeroClaw's own
migration does."""


def choose_home_for(workspace: Path) -> Path:
    """Return the home for a workspace that no home knows yet: the one around it if it takes several agents. Otherwise a
    new home: around the workspace if that stands as in either layout, else beside it."""
    standing = next((home.folder for home in zeroclaw_folders.homes_around(workspace) if _takes_several(home)), None)
    if standing is not None:
        return standing
    if _is_of_several(workspace):
        return workspace.parent.parent.parent
    is_inside = workspace.name == zeroclaw_folders.WORKSPACE and workspace.parent.name == zeroclaw_folders.FOLDER
    return workspace.parent if is_inside else workspace.parent / zeroclaw_folders.FOLDER


def _is_of_several(workspace: Path) -> bool:
    """Return whether a workspace stands as in the current layout: `<home>/agents/<alias>/workspace`."""
    return workspace.name == zeroclaw_folders.WORKSPACE and workspace.parent.parent.name == zeroclaw_folders.AGENTS


def _takes_several(home: zeroclaw_folders.ZeroClawHome) -> bool:
    try:
        values = zeroclaw_config.read_zeroclaw_config(home.config)
    except RuntimeConfigError:
        return False
    return zeroclaw_config.is_of_zeroclaw(values) and home.layout(values) == zeroclaw_paths.CURRENT


def choose_zeroclaw_installation(
    state_dir: Path,
    workspace: Path,
    state: State,
    environment: Mapping[str, str],
    user_home: Path,
    version: str,
) -> Installation:
    """Return the installation in a home for an agent that is restored into it. The home may not exist yet.

    Raises RuntimeConfigError when its configuration cannot be read.
    """
    home = zeroclaw_folders.ZeroClawHome(state_dir, workspace)
    values = zeroclaw_config.read_zeroclaw_config(home.config)
    generation = _layout(home, values, state, version)
    lives = _lives(home, values, user_home) if generation == zeroclaw_paths.CURRENT else {}
    alias = (
        _alias(lives, home, workspace, state) if generation == zeroclaw_paths.CURRENT else zeroclaw_paths.DEFAULT_ALIAS
    )
    return Installation(
        runtime=zeroclaw_paths.RUNTIME,
        workspace=workspace,
        native_id=alias,
        name=_name(state) or alias,
        state_dir=state_dir,
        config=home.config if home.config.is_file() else None,
        layout=generation,
        program=zeroclaw_folders.find_zeroclaw_program(environment),
        sharing=alias if lives.keys() - {alias} else "",
    )


# The layout ---------------------------------------------------------------------------------------------------------


def _layout(home: zeroclaw_folders.ZeroClawHome, values: JsonObject, state: State, version: str) -> str:
    """Return the layout by the configuration, then by the place of the workspace, then by other files, then by the
    program, then by the archive."""
    if not values and home.workspace is not None and _stands_in(home.workspace, home.folder):
        return zeroclaw_paths.CURRENT
    if values or any(
        (home.folder / sign).exists()
        for sign in (zeroclaw_folders.DATA, zeroclaw_folders.AGENTS, zeroclaw_folders.WORKSPACE)
    ):
        return home.layout(values)
    if home.workspace is not None and (home.workspace / zeroclaw_paths.BRAIN).exists():
        return zeroclaw_paths.EARLY
    number = _VERSION.search(version)
    if number is not None:
        return zeroclaw_paths.CURRENT if (int(number[1]), int(number[2])) >= _AGENTS_SINCE else zeroclaw_paths.EARLY
    return zeroclaw_paths.EARLY if _archived_layout(state) == zeroclaw_paths.EARLY else zeroclaw_paths.CURRENT


def _stands_in(workspace: Path, folder: Path) -> bool:
    """Return whether a workspace is at the default place of an agent in a home of the current layout."""
    return _is_of_several(workspace) and workspace.parent.parent.parent.resolve() == folder.resolve()


def _archived_layout(state: State) -> str:
    """Return the layout of the archive's installation, the current one for an archive of another runtime."""
    if state.entry(_CONFIG) is None:
        return str(_hints(state).get("layout") or zeroclaw_paths.CURRENT)
    try:
        values = zeroclaw_config.parse_zeroclaw_config(state.body(_CONFIG))
    except (ValueError, KeyError):
        return zeroclaw_paths.CURRENT
    return (
        zeroclaw_paths.CURRENT
        if zeroclaw_config.schema_version_of(values) >= zeroclaw_config.CURRENT_SCHEMA
        else zeroclaw_paths.EARLY
    )


# The alias ----------------------------------------------------------------------------------------------------------


def _lives(home: zeroclaw_folders.ZeroClawHome, values: JsonObject, user_home: Path) -> dict[str, Path]:
    """Return the workspace of each agent of a home, including agents that have only a folder."""
    known = zeroclaw_config.list_zeroclaw_agents(values) if zeroclaw_config.get_nested(values, "agents") else []
    lives = {agent.alias: home.workspace_of(agent, values, user_home).resolve() for agent in known}
    for folder in sorted((home.folder / zeroclaw_folders.AGENTS).glob(f"*/{zeroclaw_folders.WORKSPACE}")):
        lives.setdefault(folder.parent.name, folder.resolve())
    return lives


def _alias(lives: Mapping[str, Path], home: zeroclaw_folders.ZeroClawHome, workspace: Path, state: State) -> str:
    """Return the agent that lives in the workspace, or whose default place it is. Otherwise return the former name, or
    a variant of it when another agent has the name and lives elsewhere."""
    standing = workspace.resolve()
    here = next((alias for alias, place in lives.items() if place == standing), None)
    if here is not None:
        return here
    if _stands_in(standing, home.folder):
        return standing.parent.name
    wanted = source_alias(state)
    numbered = (f"{wanted}-{number}" for number in range(2, len(lives) + 3))
    return next(alias for alias in (wanted, *numbered) if alias not in lives)


def source_alias(state: State) -> str:
    """Return ZeroClaw's name of the archive's agent. An agent of another runtime keeps its name."""
    named = _hints(state).get("alias")
    if isinstance(named, str) and named and "/" not in named and named not in (".", ".."):
        return named
    return make_alias(_name(state)) or zeroclaw_paths.DEFAULT_ALIAS


def make_alias(name: str) -> str:
    """Return a name as an alias: ASCII letters, digits, `_` and `-`."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return _UNFIT.sub("-", plain)[:_LONGEST_ALIAS].strip("-_")


def _head(state: State) -> JsonObject:
    try:
        head = json_codec.decode_json(state.body(archive_layout.MANIFEST))
    except (KeyError, ValueError):
        return {}
    return head if isinstance(head, dict) else {}


def _hints(state: State) -> JsonObject:
    found = zeroclaw_config.get_nested(_head(state), "adapter_hints", zeroclaw_paths.RUNTIME)
    return found if isinstance(found, dict) else {}


def _name(state: State) -> str:
    return zeroclaw_config.get_nested_text(_head(state), "agent", "name") or ""


# Files --------------------------------------------------------------------------------------------------------------


def native_path(installation: Installation, path: str) -> str:
    """Return the archive path at which a capture of this installation would find a file of an archive of either layout.
    For example, skills are in the workspace or in the home."""
    if installation.layout == zeroclaw_paths.CURRENT:
        return _moved(path, ((zeroclaw_paths.RAW + early, zeroclaw_paths.HOME + current) for early, current in _MOVED))
    return _moved(path, ((zeroclaw_paths.HOME + current, zeroclaw_paths.RAW + early) for early, current in _MOVED))


def _moved(path: str, places: Iterable[tuple[str, str]]) -> str:
    return next((to + path[len(at) :] for at, to in places if path.startswith(at)), path)


def zeroclaw_home_name(installation: Installation, path: str) -> str | None:
    """Return the path of a file of an archive in the home of this installation, None when it has no place there."""
    native = native_path(installation, path)
    if not native.startswith(zeroclaw_paths.HOME) or native.startswith(zeroclaw_paths.DATABASES):
        return None
    return native.removeprefix(zeroclaw_paths.HOME)
