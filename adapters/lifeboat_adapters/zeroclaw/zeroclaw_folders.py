"""Find ZeroClaw's state on a machine: folders, environment variables, layouts. Nothing is written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeConfigError
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.zeroclaw_config import ZeroClawAgent
from lifeboat_alf.common.json_types import JsonObject

FOLDER = ".zeroclaw"
ACTIVE = "active_workspace.toml"
"""The file in which builds of February recorded the home that was used last."""
WORKSPACE, DATA, AGENTS = "workspace", "data", "agents"
_CURRENT_BRAIN = f"{DATA}/{zeroclaw_paths.BRAIN}"
_SIGNS = (zeroclaw_paths.CONFIG, zeroclaw_paths.SECRET_KEY, WORKSPACE, AGENTS)


@dataclass(frozen=True, slots=True)
class ZeroClawHome:
    """A folder with `config.toml`. `workspace` is the workspace of the early layout when it is not inside."""

    folder: Path
    workspace: Path | None = None

    @property
    def config(self) -> Path:
        return self.folder / zeroclaw_paths.CONFIG

    def layout(self, values: JsonObject) -> str:
        """Return the layout, by the configuration, otherwise by the folders."""
        both = os.path.isdir(self.folder / DATA) and os.path.isdir(self.folder / AGENTS)
        return (
            zeroclaw_paths.CURRENT
            if zeroclaw_config.schema_version_of(values) >= zeroclaw_config.CURRENT_SCHEMA or both
            else zeroclaw_paths.EARLY
        )

    def workspace_of(self, agent: ZeroClawAgent, values: JsonObject, user_home: Path) -> Path:
        """Return the absolute workspace of an agent. A configured relative path starts in the home."""
        if self.layout(values) == zeroclaw_paths.EARLY:
            return self.workspace or self.folder / WORKSPACE
        if agent.workspace is None:
            return self.folder / AGENTS / agent.alias / WORKSPACE
        return self.folder / expand_user_path(agent.workspace, user_home)


def list_homes(environment: Mapping[str, str], user_home: Path) -> list[ZeroClawHome]:
    """Return every existing home, with the one that a plain `zeroclaw` would use first."""
    every = [*_named(environment, user_home), *_remembered(user_home), ZeroClawHome(user_home / FOLDER)]
    every += [ZeroClawHome(folder) for folder in _of_homebrew(environment)]
    seen: set[str] = set()
    found: list[ZeroClawHome] = []
    for home in every:
        place = real_path_text(home.folder)
        if place not in seen and is_home(home.folder):
            found.append(home)
        seen.add(place)
    return found


def homes_around(workspace: Path) -> Iterator[ZeroClawHome]:
    """Yield homes that a workspace may belong to, by its place: as in the current layout, as in the early one, beside
    it. A home with its own `workspace` has no other one in the early layout."""
    above = workspace.parent.parent
    if above.name == AGENTS and any(
        os.path.isfile(above.parent / sign) for sign in (zeroclaw_paths.CONFIG, _CURRENT_BRAIN)
    ):
        yield ZeroClawHome(above.parent)
    is_early = workspace.name == WORKSPACE or os.path.isfile(workspace / zeroclaw_paths.BRAIN)
    for folder in (workspace.parent, workspace.parent / FOLDER):
        if os.path.isfile(folder / zeroclaw_paths.CONFIG):
            yield ZeroClawHome(folder, workspace if is_early and not os.path.isdir(folder / WORKSPACE) else None)


def is_home(folder: Path) -> bool:
    """Return whether a folder is a home of ZeroClaw."""
    return os.path.isdir(folder) and any(os.path.exists(folder / sign) for sign in _SIGNS)


def real_path_text(path: Path) -> str:
    """Return a path with links resolved as far as possible, because a configuration may name anything."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return str(path)


def find_zeroclaw_program(environment: Mapping[str, str]) -> Path | None:
    """Return the `zeroclaw` command on this machine, None when it is not on PATH."""
    found = shutil.which("zeroclaw", path=environment.get("PATH"))
    return Path(found) if found else None


def data_folder(installation: Installation) -> Path:
    """Return the folder with `memory/`, `sessions/` and `cron/`: the workspace itself in the early layout."""
    if installation.layout != zeroclaw_paths.CURRENT or installation.state_dir is None:
        return installation.workspace
    inside = installation.state_dir / DATA
    beside = installation.state_dir.parent / DATA
    is_beside = installation.state_dir.name == FOLDER and (beside / "memory").is_dir()
    return beside if is_beside and not inside.is_dir() else inside


def read_config(installation: Installation) -> JsonObject:
    """Return the configuration, {} when there is none. Raises RuntimeConfigError."""
    return {} if installation.config is None else zeroclaw_config.read_zeroclaw_config(installation.config)


def config_values_of(installation: Installation) -> JsonObject:
    """Return the configuration, {} when there is none that can be read."""
    try:
        return read_config(installation)
    except RuntimeConfigError:
        return {}


def is_zeroclaw_configured(installation: Installation) -> bool:
    """Return whether the configuration names the agent. In the early layout there is only one."""
    if installation.layout != zeroclaw_paths.CURRENT:
        return installation.config is not None
    return installation.native_id in {
        agent.alias for agent in zeroclaw_config.list_zeroclaw_agents(config_values_of(installation))
    }


def first_alias(values: JsonObject) -> str:
    """Return the agent that owns the rows without an owner."""
    known = [agent.alias for agent in zeroclaw_config.list_zeroclaw_agents(values)]
    return zeroclaw_paths.DEFAULT_ALIAS if zeroclaw_paths.DEFAULT_ALIAS in known else known[0]


def aliases_of(installation: Installation) -> tuple[str, ...]:
    """Return the names under which an agent has memories, its own first. ZeroClaw's importer and its migrations write
    under `default` even if there is no such agent. Then these memories are the first agent's."""
    alias, values = installation.native_id, config_values_of(installation)
    if installation.state_dir is None or alias == zeroclaw_paths.DEFAULT_ALIAS or alias != first_alias(values):
        return (alias,)
    stands_alone = (installation.state_dir / AGENTS / zeroclaw_paths.DEFAULT_ALIAS / WORKSPACE).is_dir()
    return (alias,) if stands_alone else (alias, zeroclaw_paths.DEFAULT_ALIAS)


def memory_backend_of(installation: Installation) -> str:
    """Return where an agent's memory is kept, as configured. Raises RuntimeConfigError, because a guess could name
    another store."""
    return zeroclaw_config.configured_backend(read_config(installation), installation.native_id)


def keeps_rows(installation: Installation) -> bool:
    """Return whether there should be a memory database."""
    return memory_backend_of(installation) in (zeroclaw_config.SQLITE, zeroclaw_config.LUCID)


def _named(environment: Mapping[str, str], user_home: Path) -> Iterator[ZeroClawHome]:
    """Return the home that the environment names. Each variable counts only when those before it are not set."""
    named = environment.get("ZEROCLAW_CONFIG_DIR", "").strip()
    if named:
        yield ZeroClawHome(_absolute(named, user_home))
        return
    named = environment.get("ZEROCLAW_DATA_DIR", "").strip() or environment.get("ZEROCLAW_WORKSPACE", "").strip()
    if named:
        yield _by_folder(_absolute(named, user_home))


def _by_folder(folder: Path) -> ZeroClawHome:
    """Return the home of a folder that the environment names as workspace or data: itself, beside it, or around it."""
    beside = folder.parent / FOLDER
    above = os.path.isfile(folder.parent / zeroclaw_paths.CONFIG)
    if os.path.isfile(folder / zeroclaw_paths.CONFIG):
        return ZeroClawHome(folder)
    if os.path.isfile(beside / zeroclaw_paths.CONFIG) or (folder.name == WORKSPACE and not above):
        return ZeroClawHome(beside, folder)
    return ZeroClawHome(folder.parent if above and folder.name in (DATA, WORKSPACE) else folder)


def _remembered(user_home: Path) -> Iterator[ZeroClawHome]:
    try:
        named = zeroclaw_config.get_nested_text(
            zeroclaw_config.read_zeroclaw_config(user_home / FOLDER / ACTIVE), "config_dir"
        )
    except RuntimeConfigError:
        return
    if named:
        yield ZeroClawHome(_absolute(named, user_home, user_home / FOLDER))


def _of_homebrew(environment: Mapping[str, str]) -> Iterator[Path]:
    """Return `<prefix>/var/zeroclaw`, where services that Homebrew starts keep their state."""
    prefixes = [environment.get("HOMEBREW_PREFIX", "").strip()]
    command = find_zeroclaw_program(environment)
    cellar = (
        next((each for each in Path(real_path_text(command)).parents if each.name == "Cellar"), None)
        if command
        else None
    )
    if cellar is not None:
        prefixes.append(str(cellar.parent))
    yield from (Path(prefix) / "var" / "zeroclaw" for prefix in prefixes if prefix)


def _absolute(written: str, user_home: Path, start: Path | None = None) -> Path:
    return (start or Path(os.getcwd())) / expand_user_path(written, user_home)


def expand_user_path(written: str, user_home: Path) -> Path:
    """Expand a configured path. `~` is the user's home."""
    return user_home / written[2:] if written == "~" or written.startswith(("~/", "~\\")) else Path(written)
