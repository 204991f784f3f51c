"""Agents that were discovered and are not protected: they are offered, never taken.

The result of a discovery is in `state/offers.json` (a cache: the next discovery makes it again). The folders that the
user dismissed are a decision, in `offers.toml` of the home:

    dismissed = ["/srv/ada/.openclaw/workspace-old"]
"""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_alf.seams.file_operations import read_all, write_atomic
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.errors import ConfigError
from lifeboat_core.home.context import Context
from lifeboat_core.settings import config_file
from lifeboat_core.state import state_cache
from lifeboat_core.texts.human_text import quote_argument

FILE = "offers.toml"
DISMISSED = "dismissed"
NAMES = (
    *(".aicf", ".aionforge", ".claude", ".codex", ".config", ".gemini", ".hermes", ".nanobot"),
    *(".openclaw", ".openclaw-*", ".picoclaw", ".zeroclaw"),
)
"""Globs of folders that runtimes make in the user's home, until a discovery says which ones the adapters know."""


class AgentOffer(msgspec.Struct, frozen=True):
    """An agent that could be protected. `native_id` is the runtime's own name for it, `workspace` a real path."""

    runtime: str
    native_id: str
    name: str
    workspace: str

    def to_json(self) -> JsonObject:
        return msgspec.structs.asdict(self)


class DiscoveryResult(msgspec.Struct, frozen=True):
    """What the last discovery found. `told` are the workspaces that were offered before; `watch_names` the folders of
    the user's home whose appearance starts another discovery."""

    offers: tuple[AgentOffer, ...] = ()
    told: tuple[str, ...] = ()
    watch_names: tuple[str, ...] = NAMES


# Pure --------------------------------------------------------------------------------------------------------------


def select_open_offers(
    offers: Iterable[AgentOffer], protected: Collection[str], dismissed: Collection[str]
) -> list[AgentOffer]:
    """Return the offers that are neither protected nor dismissed, by workspace."""
    return [each for each in offers if each.workspace not in protected and each.workspace not in dismissed]


def select_new_offers(offers: Iterable[AgentOffer], told: Collection[str]) -> list[AgentOffer]:
    """Return the offers that the user was not told of yet."""
    return [each for each in offers if each.workspace not in told]


def describe_offer(offer: AgentOffer) -> str:
    """Return what `status` says of an offer, with the command that accepts it."""
    command = f"lifeboat agents add {quote_argument(offer.workspace)}"
    return f"{offer.name} ({offer.runtime}) is not protected. To protect it: {command}"


# What is kept ------------------------------------------------------------------------------------------------------


def list_pending_offers(context: Context) -> list[AgentOffer]:
    """Return the offers of the last discovery that were not protected or dismissed since and still exist.

    Cheap: one small file, and the agents' files if it has offers. Never raises.
    """
    with contextlib.suppress(ConfigError, OSError):
        found = load_last_discovery(context).offers
        if found:
            there = [each for each in found if os.path.isdir(each.workspace)]
            return select_open_offers(
                there, list_protected_folders(list_agents(context)), load_dismissed_folders(context)
            )
    return []


def load_last_discovery(context: Context) -> DiscoveryResult:
    """Return the result of the last discovery; an empty one if there is none or its file cannot be read."""
    return state_cache.read_cache(context.files, _cache(context), DiscoveryResult, _is_sane) or DiscoveryResult()


def _is_sane(found: DiscoveryResult) -> bool:
    """Return whether its texts can be paths and names."""
    return not any(
        "\0" in text for text in (*found.told, *found.watch_names, *(each.workspace for each in found.offers))
    )


def remember_discovery(context: Context, offers: Sequence[AgentOffer], watch_names: Sequence[str]) -> list[AgentOffer]:
    """Keep the result of a discovery; return the open offers that the user was not told of yet. Writes only changes."""
    before = load_last_discovery(context)
    standing = select_open_offers(offers, list_protected_folders(list_agents(context)), load_dismissed_folders(context))
    told = tuple(sorted({*before.told, *(each.workspace for each in standing)}))
    after = DiscoveryResult(tuple(offers), told, tuple(watch_names))
    if after != before:
        write_atomic(context.files, _cache(context), msgspec.json.encode(after))
    return select_new_offers(standing, before.told)


def list_protected_folders(agents: Iterable[Agent]) -> set[str]:
    """Return the real workspaces of agents that are watched."""
    return {os.path.realpath(agent.workspace) for agent in agents if agent.watched}


def load_dismissed_folders(context: Context) -> frozenset[str]:
    """Return the real paths of dismissed folders. Raises ConfigError."""
    path = context.home.folder / FILE
    try:
        found = tomllib.loads(read_all(context.files, path).decode()).get(DISMISSED, [])
    except FileNotFoundError:
        return frozenset()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {refusal_reason(error)}") from error
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ConfigError(f"{path}: {DISMISSED} must be a list of folders")
    return frozenset(found)


def dismiss_folders(context: Context, folders: Iterable[Path | str]) -> list[str]:
    """Dismiss folders; return the real paths that were not dismissed before. Raises ConfigError."""
    import tomlkit

    known = load_dismissed_folders(context)
    added = sorted({os.path.realpath(folder) for folder in folders} - known)
    if added:
        path = context.home.folder / FILE
        document = tomlkit.document()
        with contextlib.suppress(FileNotFoundError):
            document = tomlkit.parse(read_all(context.files, path).decode())
        config_file.put_setting(document, DISMISSED, sorted({*known, *added}))
        write_atomic(context.files, path, tomlkit.dumps(document).encode())
    return added


def _cache(context: Context) -> Path:
    return context.home.state_folder / "offers.json"
