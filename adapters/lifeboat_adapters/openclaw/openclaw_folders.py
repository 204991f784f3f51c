"""Find OpenClaw's state on a machine: folders, environment variables, profiles. Nothing is written."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from lifeboat_adapters.openclaw import openclaw_paths
from lifeboat_adapters.openclaw.openclaw_config import OpenClawAgent, get_nested, get_nested_text
from lifeboat_alf.common.json_types import JsonObject

FOLDERS = (".openclaw", ".openclaw-*")
STATE_DATABASE = "state/openclaw.sqlite"
LEGACY_JOBS = "cron/jobs.json"
_SIGNS = (openclaw_paths.CONFIG, "state", "agents", "workspace")
_PROFILE = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class OpenClawStateFolder:
    """A state directory with its configuration and default workspace. `home` is the meaning of `~` in it."""

    folder: Path
    config: Path
    home: Path
    default_workspace: Path | None = None

    def workspace_of(self, agent: OpenClawAgent, values: JsonObject) -> Path:
        """Return the absolute workspace of an agent, in the runtime's order: the agent's own, the configured default,
        the default of the directory."""
        if agent.workspace is not None:
            return self.expand(agent.workspace)
        if not agent.default:
            return self.folder / f"workspace-{agent.id}"
        if self.default_workspace is not None:
            return self.default_workspace
        configured = get_nested_text(values, "agents", "defaults", "workspace")
        return self.expand(configured) if configured else self.folder / "workspace"

    def expand(self, written: str) -> Path:
        """Expand a configured path. `~` is the home; a relative path starts in the state directory."""
        if written == "~" or written.startswith(("~/", "~\\")):
            return self.home / written[2:]
        return self.folder / written

    def database_of(self, agent: OpenClawAgent) -> Path:
        """Return the path of the agent's own database."""
        folder = get_nested_text(agent.values, "agentDir")
        default = self.folder / "agents" / agent.id / "agent"
        return (self.expand(folder) if folder else default) / "openclaw-agent.sqlite"


def state_folders(environment: Mapping[str, str], user_home: Path) -> list[OpenClawStateFolder]:
    """Return every existing state directory: the one that the environment names first, then all `.openclaw*` in the
    home."""
    home = home_of(environment, user_home)
    active = _active(environment, home, user_home)
    others = [folder for base in dict.fromkeys((home, user_home)) for folder in _named(base)]
    every = [active, *(OpenClawStateFolder(folder, folder / openclaw_paths.CONFIG, home) for folder in others)]
    return [found for found in _once(every) if _is_state_folder(found)]


def home_of(environment: Mapping[str, str], user_home: Path) -> Path:
    """Return the meaning of `~` for OpenClaw."""
    return _path(environment, "OPENCLAW_HOME", user_home) or user_home


def state_folder_around(workspace: Path, user_home: Path) -> OpenClawStateFolder | None:
    """Return the state directory around a workspace, None when there is none."""
    folder = workspace.parent
    if not (folder / openclaw_paths.CONFIG).is_file() and not (folder / STATE_DATABASE).is_file():
        return None
    return OpenClawStateFolder(folder, folder / openclaw_paths.CONFIG, user_home)


def choose_openclaw_state_folder(workspace: Path) -> Path | None:
    """Return the state directory that a restore creates for a workspace: its parent if that has the name of a state
    directory, such as `.openclaw` in `/srv/ada/.openclaw/workspace`. Other workspaces have none."""
    folder = workspace.parent
    return folder if any(fnmatchcase(folder.name, name) for name in FOLDERS) else None


def state_folders_near(workspace: Path) -> list[OpenClawStateFolder]:
    """Return state directories that may name a workspace, by its position: around it, and those of the home that it is
    in."""
    surrounding = state_folder_around(workspace, workspace.parent.parent)
    named = (
        OpenClawStateFolder(folder, folder / openclaw_paths.CONFIG, workspace.parent)
        for folder in _named(workspace.parent)
    )
    return [*([] if surrounding is None else [surrounding]), *(state for state in named if _is_state_folder(state))]


def _active(environment: Mapping[str, str], home: Path, user_home: Path) -> OpenClawStateFolder:
    """Return the state directory that a plain `openclaw` would use in this environment."""
    profile = environment.get("OPENCLAW_PROFILE", "").strip()
    named = f".openclaw-{profile}" if _PROFILE.fullmatch(profile) and profile != "default" else ".openclaw"
    folder = _path(environment, "OPENCLAW_STATE_DIR", user_home) or home / named
    return OpenClawStateFolder(
        folder,
        _path(environment, "OPENCLAW_CONFIG_PATH", user_home) or folder / openclaw_paths.CONFIG,
        home,
        _path(environment, "OPENCLAW_WORKSPACE_DIR", user_home),
    )


def _path(environment: Mapping[str, str], name: str, user_home: Path) -> Path | None:
    value = environment.get(name, "").strip()
    if not value:
        return None
    return user_home / value[2:] if value == "~" or value.startswith("~/") else Path(value).absolute()


def _named(base: Path) -> list[Path]:
    return sorted(path for path in base.glob(".openclaw*") if path.is_dir())


def _once(found: list[OpenClawStateFolder]) -> Iterator[OpenClawStateFolder]:
    seen: set[Path] = set()
    for state in found:
        real = state.folder.resolve()
        if real not in seen:
            seen.add(real)
            yield state


def _is_state_folder(state: OpenClawStateFolder) -> bool:
    return state.folder.is_dir() and (state.config.is_file() or any((state.folder / sign).exists() for sign in _SIGNS))


def layout_of(folder: Path, values: JsonObject) -> str:
    """Return the layout of a state directory: `2026.9` (databases, agents as a map) or `2026.2`."""
    modern = (folder / STATE_DATABASE).exists() or isinstance(get_nested(values, "agents", "entries"), dict)
    return "2026.9" if modern else "2026.2"


def find_openclaw_program(environment: Mapping[str, str]) -> Path | None:
    """Return the `openclaw` command on this machine, None when it is not on PATH."""
    found = shutil.which("openclaw", path=environment.get("PATH"))
    return Path(found) if found else None
