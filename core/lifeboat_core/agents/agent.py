"""An agent as this machine knows it: one file `agents/<id>.toml` with what the user decided."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from lifeboat_alf.common import ids, times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.seams.file_operations import FileOperations, read_all, write_atomic
from lifeboat_core.errors import AgentError, ConfigError, UnknownAgent
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import names_in
from lifeboat_core.settings import config_file

SETTINGS = "settings"
AGENT_FILE = "agent.toml"
"""The agent's file, kept in the vault of a removed agent."""
_GOOD = ".good.toml"
"""Copies of valid agents' files in `state/`."""
_VAULT_FILE = "vault.db"
"""The name in `lifeboat_vault.vault`, which is too heavy for the daemon to import."""
_EARLIEST_YEAR, _LATEST_YEAR = 1900, 9000


@dataclass(frozen=True, slots=True)
class Agent:
    """One protected agent.

    `workspace` is absolute. `watched` is False for an agent that an import or a restore registered and that no user has
    protected yet. `paused_until` is a timestamp, None while paused without an end; `paused_at` is when the pause began.
    `problem` says why the file on disk is not in force.
    """

    id: str
    name: str
    runtime: str
    workspace: Path
    native_id: str = ""
    added_at: str = ""
    watched: bool = True
    paused: bool = False
    paused_until: str | None = None
    paused_at: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None

    def is_paused(self, now: str) -> bool:
        """Return whether captures are paused at a time. Under a clock far before the beginning of a pause, the pause is
        over: otherwise its end would be unknown."""
        if not self.paused or self.paused_until is None:
            return self.paused
        return now < self.paused_until and not self._is_long_before_pause(now)

    def _is_long_before_pause(self, now: str) -> bool:
        return self.paused_at is not None and times.parse_time(now) < times.parse_time(self.paused_at) - timedelta(
            days=1
        )


def _from_document(document: Mapping[str, Any], agent_id: str) -> Agent:
    try:
        return Agent(
            id=agent_id,
            name=str(document["name"]),
            runtime=str(document["runtime"]),
            workspace=_folder(document["workspace"]),
            native_id=str(document.get("native_id", "")),
            added_at=_optional_time(document.get("added_at")) or "",
            watched=bool(document.get("watched", True)),
            paused=bool(document.get("paused", False)),
            paused_until=_optional_time(document.get("paused_until")),
            paused_at=_optional_time(document.get("paused_at")),
            settings=config_file.check_settings(
                dict(config_file.flatten_settings(document.get(SETTINGS, {}))), per_agent=True
            ),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ConfigError(f"agents/{agent_id}.toml: {error!r}") from None


def _folder(value: Any) -> Path:
    """Return an absolute path. Raises TypeError, ValueError."""
    os.fsencode(value)
    if "\0" in value or not os.path.isabs(value):
        raise ValueError("the workspace must be an absolute path")
    return Path(value)


def _optional_time(value: Any) -> str | None:
    """Return a valid time or None. Raises ValueError, OverflowError."""
    if not value:
        return None
    moment = times.parse_time(str(value))
    if not _EARLIEST_YEAR <= moment.year <= _LATEST_YEAR:
        raise ValueError(f"the time {value} is not in one of the years {_EARLIEST_YEAR} to {_LATEST_YEAR}")
    return times.to_text(moment)


def _to_document(agent: Agent) -> JsonObject:
    wanted = {
        "id": agent.id,
        "name": agent.name,
        "runtime": agent.runtime,
        "workspace": str(agent.workspace),
        "native_id": agent.native_id or None,
        "added_at": agent.added_at or None,
        "watched": None if agent.watched else False,
        "paused": agent.paused or None,
        "paused_until": agent.paused_until,
        "paused_at": agent.paused_at,
    }
    return wanted


def load_agent(context: Context, agent_id: str) -> Agent:
    """Return one agent by id; write its file again from the copy in `state/` when it is lost.

    Raises UnknownAgent, ConfigError.
    """
    path, good = context.home.agent_file(agent_id), _good_file(context, agent_id)
    try:
        data = config_file.recall_file(context.files, path, good, is_lost=_has_vault(context, agent_id))
    except FileNotFoundError:
        raise UnknownAgent(f"no agent has the id {agent_id}") from None
    except OSError as error:
        problem = ConfigError(f"{path}: {refusal_reason(error)}")
        return _last_good(context.files, good, agent_id, problem)
    try:
        agent = parse_agent(data, agent_id)
    except ConfigError as error:
        return _last_good(context.files, good, agent_id, error)
    config_file.remember_file(context.files, good, data)
    return agent


def parse_agent(data: bytes, agent_id: str) -> Agent:
    """Return an agent from the bytes of its file. Raises ConfigError."""
    try:
        return _from_document(config_file.read_toml(data), agent_id)
    except ValueError as error:
        raise ConfigError(f"agents/{agent_id}.toml: {error}") from None


def _last_good(files: FileOperations, good: Path, agent_id: str, problem: ConfigError) -> Agent:
    try:
        return replace(parse_agent(read_all(files, good), agent_id), problem=problem.message)
    except (OSError, ConfigError):
        raise problem from None


def list_agents(context: Context) -> list[Agent]:
    """Return all agents, by name. Raises ConfigError."""
    agents = [load_agent(context, agent_id) for agent_id in sorted(all_ids(context))]
    return sorted(agents, key=lambda agent: (agent.name.casefold(), agent.id))


def all_ids(context: Context) -> set[str]:
    """Return the ids of all agents: those with a file, and those whose file is lost and known from a copy.

    Raises OSError when a folder cannot be listed; a folder that does not exist has none.
    """
    return ids_with_file(context) | ids_with_lost_file(context)


def ids_with_file(context: Context) -> set[str]:
    """Return the ids that `agents/` names. Raises OSError."""
    return _ids_in(context, context.home.agents_folder, ".toml")


def ids_with_lost_file(context: Context) -> set[str]:
    """Return the agents without a file whose vault is in its place and whose description `state/` still has.

    Raises OSError.
    """
    copied = _ids_in(context, context.home.state_folder, _GOOD) - ids_with_file(context)
    return {agent_id for agent_id in copied if _has_vault(context, agent_id) and _is_copy_usable(context, agent_id)}


def ids_without_description(context: Context) -> set[str]:
    """Return the vaults without an agent that no command removed: nothing says whose they are. Raises OSError."""
    found = _ids_in(context, context.home.vaults_folder, "") - all_ids(context)
    return {agent_id for agent_id in found if _has_vault(context, agent_id)}


def _ids_in(context: Context, folder: Path, suffix: str) -> set[str]:
    found = {name.removesuffix(suffix) for name in names_in(context.files, folder) if name.endswith(suffix)}
    return {name for name in found if ids.is_uuid(name)}


def _good_file(context: Context, agent_id: str) -> Path:
    return context.home.state_folder / f"{agent_id}{_GOOD}"


def _is_copy_usable(context: Context, agent_id: str) -> bool:
    try:
        parse_agent(read_all(context.files, _good_file(context, agent_id)), agent_id)
    except (OSError, ConfigError):
        return False
    return True


def _has_vault(context: Context, agent_id: str) -> bool:
    """Return whether a vault is in its place. The vault of an agent that is being removed has the agent's file
    already."""
    folder = context.home.vault_folder(agent_id)
    return os.path.lexists(folder / _VAULT_FILE) and not os.path.lexists(folder / AGENT_FILE)


def find_agent(context: Context, text: str) -> Agent:
    """Return an agent by name, id, beginning of its id (8 characters or more), or workspace.

    Raises UnknownAgent, AgentError.AMBIGUOUS_AGENT.
    """
    agents = list_agents(context)
    for fits in (_by_id, _by_name, _by_folder, _by_prefix):
        found = [agent for agent in agents if fits(agent, text)]
        if len(found) == 1:
            return found[0]
        if found:
            raise AgentError.AMBIGUOUS_AGENT(
                f"several agents match {text!r}: {', '.join(agent.id for agent in found)}. Give the id of one of them"
            )
    similar = get_close_matches(text, [agent.name for agent in agents if agent.name], n=1)
    suggestion = f". Did you mean {similar[0]!r}?" if similar else ""
    raise UnknownAgent(f"no agent has the name, id or workspace {text!r}{suggestion}")


def _by_id(agent: Agent, text: str) -> bool:
    return agent.id == text.lower()


def _by_name(agent: Agent, text: str) -> bool:
    return agent.name.casefold() == text.casefold()


def _by_folder(agent: Agent, text: str) -> bool:
    return os.sep in text and os.path.realpath(agent.workspace) == os.path.realpath(text)


def _by_prefix(agent: Agent, text: str) -> bool:
    return len(text) >= 8 and agent.id.startswith(text.lower())


def save_agent(context: Context, agent: Agent) -> Agent:
    """Write an agent's file; comments and unknown fields of the old file stay."""
    import tomlkit

    path = context.home.agent_file(agent.id)
    try:
        data = config_file.recall_file(
            context.files, path, _good_file(context, agent.id), is_lost=_has_vault(context, agent.id)
        )
        document = tomlkit.parse(data.decode())
    except FileNotFoundError:
        document = tomlkit.document()
    for name, value in _to_document(agent).items():
        config_file.put_setting(document, name, value)
    write_atomic(context.files, path, tomlkit.dumps(document).encode())
    return load_agent(context, agent.id)


def write_setting(context: Context, agent: Agent, name: str, value: Any | None) -> Agent:
    """Set one setting for one agent (None: use the setting for all agents again). Raises ConfigError."""
    import tomlkit

    if value is not None:
        config_file.check_settings({name: value}, per_agent=True)
    path = context.home.agent_file(agent.id)
    document = tomlkit.parse(read_all(context.files, path).decode())
    config_file.put_setting(document, f"{SETTINGS}.{name}", value)
    write_atomic(context.files, path, tomlkit.dumps(document).encode())
    return load_agent(context, agent.id)


def delete_agent_file(context: Context, agent_id: str) -> None:
    """Remove an agent's file; its vault stays."""
    context.files.remove(context.home.agent_file(agent_id))
    _good_file(context, agent_id).unlink(missing_ok=True)
