"""Compute one agent's share of what several agents of an installation have in common: configuration, logins, variables.

An agent owns what its table names: its model provider, channels, profiles, bundles and jobs, and the groups of peers
that name it. The default agent also owns everything without another owner, and it alone owns the gateway.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.errors import RuntimeConfigError
from lifeboat_adapters.secrets import dotenv_leaves
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.credentials import zeroclaw_auth_profiles, zeroclaw_secrets
from lifeboat_adapters.zeroclaw.restore import toml_editing
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject

Named = tuple[str, ...]
"""A table that an agent may name: ("channels", "telegram", "work"), ("risk_profiles", "strict")."""

UNKNOWN = "unknown"
"""The mark of a configuration that cannot be read. Then the owner of the common files is unknown, so none of them is
captured."""

_OF_EVERYBODY = frozenset(("memory", "schema_version", "secrets"))
DEPTHS = {
    "agents": 2,
    "channels": 3,
    "cron": 2,
    "knowledge_bundles": 2,
    "mcp_bundles": 2,
    "peer_groups": 2,
    "providers": 4,
    "risk_profiles": 2,
    "runtime_profiles": 2,
    "skill_bundles": 2,
    "storage": 3,
}
"""Parts of the configuration that hold tables with names, and the length of the path of such a table."""
_KINDS = {
    "channels": "channels",
    "cron_jobs": "cron",
    "knowledge_bundles": "knowledge_bundles",
    "mcp_bundles": "mcp_bundles",
    "risk_profile": "risk_profiles",
    "runtime_profile": "runtime_profiles",
    "skill_bundles": "skill_bundles",
}
_PROVIDERS = {"model_provider": "models", "tts_provider": "tts", "transcription_provider": "transcription"}
_SKILLS = re.compile(r"shared/skills/([^/]+)/.*")


@dataclass(frozen=True, slots=True)
class ZeroClawShare:
    """The share of `agent`. `mine` and `theirs` are the tables that it and the others name."""

    agent: str
    default: bool
    others: frozenset[str]
    mine: frozenset[Named]
    theirs: frozenset[Named]

    def facts(self) -> list[Any]:
        """Return everything that determines the share, as JSON."""
        return [self.agent, self.default, sorted(self.others), sorted(self.mine), sorted(self.theirs)]

    def has(self, named: Named) -> bool:
        if named[0] == "agents":
            return named[1] == self.agent or (self.default and named[1] not in self.others)
        return named in self.mine or (self.default and named not in self.theirs)

    def has_provider(self, name: str) -> bool:
        return name in _types(self.mine) or (self.default and name not in _types(self.theirs))

    def has_variable(self, name: str) -> bool:
        """Return whether a variable is for this agent: `ANTHROPIC_API_KEY` is for the provider anthropic,
        `TELEGRAM_BOT_TOKEN` for a channel."""
        return _is_for(name, self.mine) or (self.default and not _is_for(name, self.theirs))


def read_zeroclaw_share(values: JsonObject, alias: str) -> ZeroClawShare | None:
    """Return the share of an agent in a configuration, None when it is the only one. An agent that has only a folder
    there, beside configured agents, has an empty share."""
    agents = {agent.alias: agent.values for agent in zeroclaw_config.list_zeroclaw_agents(values)}
    if zeroclaw_config.schema_version_of(values) >= zeroclaw_config.CURRENT_SCHEMA and zeroclaw_config.get_nested(
        values, "agents"
    ):
        agents.setdefault(alias, {})
    if alias not in agents or len(agents) == 1:
        return None
    named = {each: frozenset(_named(values, each, table)) for each, table in agents.items()}
    none: frozenset[Named] = frozenset()
    first = zeroclaw_paths.DEFAULT_ALIAS if zeroclaw_paths.DEFAULT_ALIAS in agents else next(iter(agents))
    return ZeroClawShare(
        agent=alias,
        default=alias == first,
        others=frozenset(agents) - {alias},
        mine=named[alias],
        theirs=none.union(*(names for each, names in named.items() if each != alias)),
    )


def zeroclaw_sharing_mark(values: JsonObject, alias: str) -> str:
    """Return `Installation.sharing`: a digest of everything that determines the share of an agent."""
    found = read_zeroclaw_share(values, alias)
    return "" if found is None else hashlib.sha256(json_codec.encode_json(found.facts())).hexdigest()[:32]


def share_of_zeroclaw_file(installation: Installation, path: str, data: bytes) -> bytes | None:
    """Implement `Adapter.share`. If part of a file is left out, the rest is always written in the same way."""
    if not path.startswith(zeroclaw_paths.HOME) or not installation.sharing or installation.config is None:
        return data
    mine = read_zeroclaw_share(_known(installation), installation.native_id)
    return data if mine is None else _share_of_file(path.removeprefix(zeroclaw_paths.HOME), data, mine)


def _known(installation: Installation) -> JsonObject:
    try:
        return zeroclaw_config.read_zeroclaw_config(installation.config) if installation.config is not None else {}
    except RuntimeConfigError as error:
        raise UnparsableSecrets(error.message) from None


def _share_of_file(name: str, data: bytes, mine: ZeroClawShare) -> bytes | None:
    if name == zeroclaw_paths.CONFIG:
        try:
            return toml_editing.format_toml(share_of_zeroclaw_config(zeroclaw_config.parse_zeroclaw_config(data), mine))
        except ValueError as error:
            raise UnparsableSecrets(str(error)) from None
    if name == zeroclaw_paths.AUTH_PROFILES:
        return _of_profiles(data, mine)
    if name == ".env":
        return dotenv_leaves.keep_dotenv_lines(data, mine.has_variable, rest=mine.default) or None
    if name in (zeroclaw_secrets.OTP_SECRET, zeroclaw_secrets.WEBAUTHN):
        return data if mine.default else None
    bundle = _SKILLS.fullmatch(name)
    return data if bundle is None or mine.has(("skill_bundles", bundle[1])) else None


def share_of_zeroclaw_config(values: JsonObject, mine: ZeroClawShare) -> JsonObject:
    """Return the share of a configuration."""
    kept: JsonObject = {}
    for name, value in values.items():
        if name in DEPTHS:
            inner = _tables(value, (name,), mine)
            kept |= {name: inner} if inner not in ({}, None) else {}
        elif mine.default or name in _OF_EVERYBODY:
            kept[name] = value
    return kept


def _tables(value: Any, path: Named, mine: ZeroClawShare) -> Any:
    """Return the named tables below a path that are the agent's. Values beside them are the default agent's. An empty
    table counts: ZeroClaw runs no agent whose profile is missing."""
    if len(path) == DEPTHS[path[0]]:
        return value if mine.has(path) else None
    if not isinstance(value, dict):
        return value if mine.default else None
    found = {name: _tables(inner, (*path, name), mine) for name, inner in value.items()}
    is_named = len(path) + 1 == DEPTHS[path[0]]
    return {name: inner for name, inner in found.items() if inner is not None and (inner != {} or is_named)}


def _of_profiles(data: bytes, mine: ZeroClawShare) -> bytes | None:
    listed = zeroclaw_auth_profiles.profiles_in_file(data)
    kept = {id for id, profile in listed.items() if mine.has_provider(profile.provider)}
    if not kept:
        return None
    document = zeroclaw_auth_profiles.parse_profiles(data)
    active = document.get("active_profiles")
    found = {
        name: value for name, value in document.items() if name not in ("profiles", "active_profiles", "updated_at")
    }
    if isinstance(active, dict):
        found["active_profiles"] = {name: id for name, id in active.items() if isinstance(id, str) and id in kept}
    found["profiles"] = {id: document["profiles"][id] for id in listed if id in kept}
    return json_codec.encode_json(found) + b"\n"


# What an agent names ------------------------------------------------------------------------------------------------


def _named(values: JsonObject, alias: str, table: JsonObject) -> Iterator[Named]:
    for key, value in table.items():
        for name in _texts(value):
            if key in _PROVIDERS:
                yield ("providers", _PROVIDERS[key], *name.split(".", 1))
            elif key in _KINDS:
                yield (_KINDS[key], *(name.split(".", 1) if key == "channels" else (name,)))
    storage = (
        zeroclaw_config.get_nested_text(table, "memory", "backend")
        or zeroclaw_config.get_nested_text(values, "memory", "backend")
        or ""
    )
    yield ("storage", *storage.split(".", 1))
    for part, field in (("cron", "agent"), ("cron", "agent_alias"), ("peer_groups", "agents")):
        tables = zeroclaw_config.get_nested(values, part)
        for name, about in tables.items() if isinstance(tables, dict) else ():
            if isinstance(about, dict) and alias in _texts(about.get(field)):
                yield part, name


def _texts(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [each for each in listed if isinstance(each, str) and each]


def _types(named: frozenset[Named]) -> set[str]:
    return {each[2] for each in named if each[0] == "providers" and len(each) > 2}


def _is_for(variable: str, named: frozenset[Named]) -> bool:
    names = _types(named) | {each[1] for each in named if each[0] == "channels" and len(each) > 1}
    return any(variable.startswith(f"{re.sub(r'[^A-Z0-9]+', '_', name.upper())}_") for name in names)
