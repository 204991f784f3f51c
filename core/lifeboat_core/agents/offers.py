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
from typing import Any

import msgspec

from lifeboat_alf.seams.files import read_all, write_atomic
from lifeboat_alf.system_texts import refusal_reason
from lifeboat_core.agents.agent import Agent, everyone
from lifeboat_core.errors import ConfigError
from lifeboat_core.home.context import Context
from lifeboat_core.settings import config
from lifeboat_core.state import state_cache
from lifeboat_core.texts.words import argument

FILE = "offers.toml"
DISMISSED = "dismissed"
NAMES = (".aicf", ".aionforge", ".openclaw", ".openclaw-*", ".zeroclaw")
"""Globs of folders of the user's home that runtimes make, until a look around says which of them the adapters know."""


class Offer(msgspec.Struct, frozen=True):
    """An agent that could be protected. `native_id` is the runtime's own name for it, `workspace` a real path."""

    runtime: str
    native_id: str
    name: str
    workspace: str

    def to_json(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)


class Found(msgspec.Struct, frozen=True):
    """What the last look around found. `told` are the workspaces that were offered before; `watch_names` the folders of
    the user's home whose coming is worth another look."""

    offers: tuple[Offer, ...] = ()
    told: tuple[str, ...] = ()
    watch_names: tuple[str, ...] = NAMES


# Pure --------------------------------------------------------------------------------------------------------------


def open_offers(offers: Iterable[Offer], protected: Collection[str], dismissed: Collection[str]) -> list[Offer]:
    """Those that are neither protected nor dismissed, by workspace."""
    return [each for each in offers if each.workspace not in protected and each.workspace not in dismissed]


def fresh(offers: Iterable[Offer], told: Collection[str]) -> list[Offer]:
    """Those that nobody was told of yet."""
    return [each for each in offers if each.workspace not in told]


def sentence(offer: Offer) -> str:
    """What `status` says of an offer, with the command that accepts it."""
    command = f"lifeboat agents add {argument(offer.workspace)}"
    return f"Found {offer.name} ({offer.runtime}), not protected: {command}"


# What is kept ------------------------------------------------------------------------------------------------------


def pending(context: Context) -> list[Offer]:
    """Offers that still stand: of the last look around, what was not protected or dismissed since and is still there.

    Cheap: one small file, and where it names something, the agents' files. Never raises.
    """
    with contextlib.suppress(ConfigError, OSError):
        found = last(context).offers
        if found:
            there = [each for each in found if os.path.isdir(each.workspace)]
            return open_offers(there, protected_folders(everyone(context)), dismissed(context))
    return []


def last(context: Context) -> Found:
    """What the last look around found; nothing where there was none or its file cannot be read."""
    return state_cache.read(context.files, _cache(context), Found, _is_sane) or Found()


def _is_sane(found: Found) -> bool:
    """Whether its texts can be paths and names at all."""
    return not any(
        "\0" in text for text in (*found.told, *found.watch_names, *(each.workspace for each in found.offers))
    )


def remember(context: Context, offers: Sequence[Offer], watch_names: Sequence[str]) -> list[Offer]:
    """Keep what was found; what of it is open and nobody was told of yet. Writes only what changed."""
    before = last(context)
    standing = open_offers(offers, protected_folders(everyone(context)), dismissed(context))
    told = tuple(sorted({*before.told, *(each.workspace for each in standing)}))
    after = Found(tuple(offers), told, tuple(watch_names))
    if after != before:
        write_atomic(context.files, _cache(context), msgspec.json.encode(after))
    return fresh(standing, before.told)


def protected_folders(agents: Iterable[Agent]) -> set[str]:
    """The real workspaces of agents that are watched."""
    return {os.path.realpath(agent.workspace) for agent in agents if agent.watched}


def dismissed(context: Context) -> frozenset[str]:
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


def dismiss(context: Context, folders: Iterable[Path | str]) -> list[str]:
    """Do not offer these folders again; the real paths that were not dismissed before. Raises ConfigError."""
    import tomlkit

    known = dismissed(context)
    added = sorted({os.path.realpath(folder) for folder in folders} - known)
    if added:
        path = context.home.folder / FILE
        document = tomlkit.document()
        with contextlib.suppress(FileNotFoundError):
            document = tomlkit.parse(read_all(context.files, path).decode())
        config.put(document, DISMISSED, sorted({*known, *added}))
        write_atomic(context.files, path, tomlkit.dumps(document).encode())
    return added


def _cache(context: Context) -> Path:
    return context.home.state_folder / "offers.json"
