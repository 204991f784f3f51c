"""Agents that were found and nobody protects: they are offered, never taken.

What a look around found lies in `state/offers.json` (a cache: the next look makes it again). Which folders the user
does not want to hear of is a decision and lies in `offers.toml` of the home:

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
NAMES = (".aicf", ".aionforge", ".openclaw", ".openclaw-*", ".zeroclaw")
"""Globs of folders of the user's home that runtimes make, until a look around says which of them the adapters know."""


class AgentOffer(msgspec.Struct, frozen=True):
    """An agent that could be protected. `native_id` is the runtime's own name for it, `workspace` a real path."""

    runtime: str
    native_id: str
    name: str
    workspace: str

    def to_json(self) -> JsonObject:
        return msgspec.structs.asdict(self)


class DiscoveryResult(msgspec.Struct, frozen=True):
    """What the last look around found. `told` are the workspaces that were offered before; `watch_names` the folders of
    the user's home whose coming is worth another look."""

    offers: tuple[AgentOffer, ...] = ()
    told: tuple[str, ...] = ()
    watch_names: tuple[str, ...] = NAMES


# Pure --------------------------------------------------------------------------------------------------------------


def select_open_offers(
    offers: Iterable[AgentOffer], protected: Collection[str], dismissed: Collection[str]
) -> list[AgentOffer]:
    """Those that are neither protected nor dismissed, by workspace."""
    return [each for each in offers if each.workspace not in protected and each.workspace not in dismissed]


def select_new_offers(offers: Iterable[AgentOffer], told: Collection[str]) -> list[AgentOffer]:
    """Those that nobody was told of yet."""
    return [each for each in offers if each.workspace not in told]


def describe_offer(offer: AgentOffer) -> str:
    """What `status` says of an offer, with the command that accepts it."""
    command = f"lifeboat agents add {quote_argument(offer.workspace)}"
    return f"Found {offer.name} ({offer.runtime}), not protected: {command}"


# What is kept ------------------------------------------------------------------------------------------------------


def list_pending_offers(context: Context) -> list[AgentOffer]:
    """Offers that still stand: of the last look around, what was not protected or dismissed since and is still there.

    Cheap: one small file, and where it names something, the agents' files. Never raises.
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
    """What the last look around found; nothing where there was none or its file cannot be read."""
    return state_cache.read_cache(context.files, _cache(context), DiscoveryResult, _is_sane) or DiscoveryResult()


def _is_sane(found: DiscoveryResult) -> bool:
    """Whether its texts can be paths and names at all."""
    return not any(
        "\0" in text for text in (*found.told, *found.watch_names, *(each.workspace for each in found.offers))
    )


def remember_discovery(context: Context, offers: Sequence[AgentOffer], watch_names: Sequence[str]) -> list[AgentOffer]:
    """Keep what was found; what of it is open and nobody was told of yet. Writes only what changed."""
    before = load_last_discovery(context)
    standing = select_open_offers(offers, list_protected_folders(list_agents(context)), load_dismissed_folders(context))
    told = tuple(sorted({*before.told, *(each.workspace for each in standing)}))
    after = DiscoveryResult(tuple(offers), told, tuple(watch_names))
    if after != before:
        write_atomic(context.files, _cache(context), msgspec.json.encode(after))
    return select_new_offers(standing, before.told)


def list_protected_folders(agents: Iterable[Agent]) -> set[str]:
    """The real workspaces of agents that are watched."""
    return {os.path.realpath(agent.workspace) for agent in agents if agent.watched}


def load_dismissed_folders(context: Context) -> frozenset[str]:
    """Real paths of the folders that the user does not want to be offered. Raises ConfigError."""
    path = context.home.folder / FILE
    try:
        found = tomllib.loads(read_all(context.files, path).decode()).get(DISMISSED, [])
    except FileNotFoundError:
        return frozenset()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {refusal_reason(error)}") from error
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ConfigError(f"{path}: {DISMISSED} is not a list of folders")
    return frozenset(found)


def dismiss_folders(context: Context, folders: Iterable[Path | str]) -> list[str]:
    """Do not offer these folders again; the real paths that were not dismissed before. Raises ConfigError."""
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
