"""Compute one agent's share of what several agents of a state directory have in common: configuration, variables,
logins.

An agent owns what its part of the configuration names: its entry and bindings, the channel accounts in them, the
providers of its models, and the secrets that these refer to. The default agent also owns everything without another
owner, and it alone owns the gateway. All functions are pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lifeboat_adapters.openclaw import openclaw_config, openclaw_paths
from lifeboat_adapters.secrets import dotenv_leaves
from lifeboat_alf.common.json_types import JsonObject

Place = tuple[str, ...]

# fmt: off
_OF_EVERYBODY = frozenset((
    "$include", "agents", "auth", "bindings", "channels", "env", "mcp", "memory", "memorySearch", "meta", "models",
    "plugins", "secrets", "skills", "tools",
))
# fmt: on
"""Parts of the configuration of which agents other than the default one have a share."""

_TOUCHED = (("meta", "lastTouchedAt"), ("wizard", "lastRunAt"))
"""A part that changes with every change of any other part."""

_DEFAULT_ACCOUNT = "default"
_EVERY_ACCOUNT = "*"
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|(?:secretref-)?env:(?:[a-z]+:)?([A-Z][A-Z0-9_]*)")
_NOT_A_NAME = re.compile(r"[^A-Z0-9]+")


@dataclass(frozen=True, slots=True)
class ReferencedNames:
    """The names that one agent's part of the configuration contains. `accounts` are (channel, account); `alone` are
    those that no other agent may have. `references` are (source, id) of secrets that are stored elsewhere."""

    providers: frozenset[str] = frozenset()
    accounts: frozenset[tuple[str, str]] = frozenset()
    alone: frozenset[tuple[str, str]] = frozenset()
    skills: frozenset[str] | None = None
    references: frozenset[tuple[str, str]] = frozenset()

    def facts(self) -> list[Any]:
        skills = None if self.skills is None else sorted(self.skills)
        return [sorted(self.providers), sorted(self.accounts), sorted(self.alone), sorted(self.references), skills]


@dataclass(frozen=True, slots=True)
class OpenClawShare:
    """The share of `agent`. `others` are the ids of the other agents; `mine` and `theirs` are the names that each side
    contains."""

    agent: str
    default: bool
    default_id: str
    others: frozenset[str]
    mine: ReferencedNames
    theirs: ReferencedNames

    def facts(self) -> list[Any]:
        """Return everything that determines the share, as JSON."""
        return [self.agent, self.default_id, sorted(self.others), self.mine.facts(), self.theirs.facts()]

    def has_provider(self, name: str) -> bool:
        return name in self.mine.providers or (self.default and name not in self.theirs.providers)

    def has_account(self, channel: str, account: str) -> bool:
        if _bound(self.mine.accounts, channel, account):
            return True
        return self.default and not _bound(self.theirs.alone, channel, account)

    def has_skill(self, name: str) -> bool:
        if self.mine.skills is None or name in self.mine.skills:
            return True
        return self.default and name not in (self.theirs.skills or ())

    def has_reference(self, source: str, *ids: str) -> bool:
        """Return whether this part refers to a secret with one of these ids (its own, or those of the objects around
        it)."""
        wanted = {(source, id) for id in ids}
        return bool(wanted & self.mine.references) or (self.default and not wanted & self.theirs.references)

    def has_variable(self, name: str) -> bool:
        """Return whether this agent's part names a variable, or the variable is for one of its providers
        or channels."""
        if ("env", name) in self.mine.references or _is_for(name, self.mine):
            return True
        return self.default and ("env", name) not in self.theirs.references and not _is_for(name, self.theirs)


def read_openclaw_share(values: JsonObject, agent_id: str) -> OpenClawShare | None:
    """Return the share of an agent in a configuration (with its includes), None when it is the only one, or unknown."""
    agents = openclaw_config.list_openclaw_agents(values)
    mine = next((one for one in agents if one.id == agent_id), None)
    if mine is None or len(agents) == 1:
        return None
    default_id = agents[0].id
    named = {one.id: _named(values, one, default_id) for one in agents}
    found = {one.id: _with_references(values, _share(one, default_id, named), one.id, named) for one in agents}
    return _share(mine, default_id, found)


def _share(agent: openclaw_config.OpenClawAgent, default_id: str, named: dict[str, ReferencedNames]) -> OpenClawShare:
    others = [use for id, use in named.items() if id != agent.id]
    return OpenClawShare(
        agent=agent.id,
        default=agent.default,
        default_id=default_id,
        others=frozenset(named) - {agent.id},
        mine=named[agent.id],
        theirs=_joined(others),
    )


def _joined(uses: list[ReferencedNames]) -> ReferencedNames:
    none: frozenset[Any] = frozenset()
    return ReferencedNames(
        providers=none.union(*(use.providers for use in uses)),
        accounts=none.union(*(use.accounts for use in uses)),
        alone=none.union(*(use.alone for use in uses)),
        skills=none.union(*(use.skills or none for use in uses)),
        references=none.union(*(use.references for use in uses)),
    )


def _with_references(
    values: JsonObject, share: OpenClawShare, agent: str, named: dict[str, ReferencedNames]
) -> ReferencedNames:
    """Add the secrets that an agent's own part refers to. The default agent gets no variable from parts that it owns
    only for lack of another owner."""
    claiming = OpenClawShare(agent, False, share.default_id, share.others, share.mine, share.theirs)
    found = frozenset(find_secret_references(share_of_config(values, claiming)))
    use = named[agent]
    return ReferencedNames(use.providers, use.accounts, use.alone, use.skills, found)


# What an agent names ------------------------------------------------------------------------------------------------


def _named(values: JsonObject, agent: openclaw_config.OpenClawAgent, default_id: str) -> ReferencedNames:
    accounts, alone = _accounts(values, agent.id, default_id)
    skills = agent.values.get("skills")
    return ReferencedNames(
        providers=frozenset(_providers(values, agent.values)),
        accounts=accounts,
        alone=alone,
        skills=frozenset(map(str, skills)) if isinstance(skills, list) else None,
    )


def _accounts(
    values: JsonObject, agent_id: str, default_id: str
) -> tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]:
    """Return the accounts that an agent's bindings name, and those that are its alone. A binding of single chats shares
    its account."""
    listed = values.get("bindings")
    bound, alone = set(), set()
    for binding in listed if isinstance(listed, list) else ():
        channel = openclaw_config.get_nested_text(binding, "match", "channel")
        if channel is None or (openclaw_config.get_nested_text(binding, "agentId") or default_id) != agent_id:
            continue
        account = openclaw_config.get_nested_text(binding, "match", "accountId") or _DEFAULT_ACCOUNT
        bound.add((channel, account))
        if set(binding["match"]) <= {"channel", "accountId"}:
            alone.add((channel, account))
    return frozenset(bound), frozenset(alone)


def _providers(values: JsonObject, entry: JsonObject) -> Iterator[str]:
    """Return the providers of the models that an agent's entry, or the defaults for it, name."""
    defaults = openclaw_config.get_nested(values, "agents", "defaults")
    # `models` of the defaults lists allowed models. An agent with a model of its own falls back to these.
    common = {name: one for name, one in (defaults if isinstance(defaults, dict) else {}).items() if name != "models"}
    if "model" in entry:
        common["model"] = openclaw_config.get_nested(common, "model", "fallbacks")
    aliases = _aliases(openclaw_config.get_nested(defaults, "models"))
    for model in (*_models(entry, inside=False), *_models(common, inside=False)):
        full = aliases.get(model, model)
        if "/" in full:
            yield full.partition("/")[0]
    provider = openclaw_config.get_nested_text(
        values, "memory", "search", "provider"
    ) or openclaw_config.get_nested_text(values, "memorySearch", "provider")
    if provider is not None:
        yield provider


def _models(value: Any, *, inside: bool) -> Iterator[str]:
    """Yield every text below a key about models."""
    if isinstance(value, str):
        if inside:
            yield value
    elif isinstance(value, list):
        for one in value:
            yield from _models(one, inside=inside)
    elif isinstance(value, dict):
        for name, one in value.items():
            if inside and "/" in name:
                yield name
            yield from _models(one, inside=inside or "model" in name.lower())


def _aliases(models: Any) -> dict[str, str]:
    listed = models.items() if isinstance(models, dict) else ()
    return {
        alias: name for name, about in listed if (alias := openclaw_config.get_nested_text(about, "alias")) is not None
    }


def find_secret_references(value: Any) -> Iterator[tuple[str, str]]:
    """Yield every secret stored elsewhere that values refer to, as (source, id)."""
    if isinstance(value, str):
        for match in _VARIABLE.finditer(value):
            yield "env", match[1] or match[2]
    elif isinstance(value, list):
        for one in value:
            yield from find_secret_references(one)
    elif isinstance(value, dict):
        source, id = value.get("source"), value.get("id")
        if isinstance(source, str) and isinstance(id, str):
            yield source, id
        for one in value.values():
            yield from find_secret_references(one)


def _bound(accounts: frozenset[tuple[str, str]], channel: str, account: str) -> bool:
    return (channel, account) in accounts or (channel, _EVERY_ACCOUNT) in accounts


def _is_for(variable: str, use: ReferencedNames) -> bool:
    """Return whether a variable is for one of these names: `ANTHROPIC_API_KEY` for the provider anthropic,
    `TELEGRAM_BOT_TOKEN` for a channel."""
    names = {*use.providers, *(channel for channel, _ in use.accounts)}
    return any(variable.startswith(f"{_NOT_A_NAME.sub('_', name.upper())}_") for name in names if name)


# The share of a file ------------------------------------------------------------------------------------------------


def share_of_config(values: Any, share: OpenClawShare, at: Place = ()) -> Any:
    """Return the share of a configuration, or of the part of it that stands `at` a place."""
    if isinstance(values, dict):
        kept = ((name, one, (*at, name)) for name, one in values.items())
        return {name: share_of_config(one, share, place) for name, one, place in kept if _is_kept(place, one, share)}
    if isinstance(values, list):
        listed = ((one, (*at, str(number))) for number, one in enumerate(values))
        return [share_of_config(one, share, place) for one, place in listed if _is_kept(place, one, share)]
    return values


def _is_kept(place: Place, value: Any, share: OpenClawShare) -> bool:
    match place:
        case (top,):
            return share.default or top in _OF_EVERYBODY
        case ("agents", "entries", id):
            return _is_own(id, share)
        case ("agents", "list", _):
            return _is_own(openclaw_config.get_nested_text(value, "id"), share)
        case ("bindings", _):
            return _is_own(openclaw_config.get_nested_text(value, "agentId") or share.default_id, share)
        case ("models", "providers", name) | ("auth", "order", name):
            return share.has_provider(name)
        case ("auth", "profiles", id):
            return share.has_provider(openclaw_config.get_nested_text(value, "provider") or id.partition(":")[0])
        case ("channels", channel):
            return any(share.has_account(channel, account) for account in _accounts_of(value))
        case ("channels", channel, "accounts", account):
            return share.has_account(channel, account)
        case ("channels", channel, name) if name not in ("accounts", "enabled", "$include"):
            return share.has_account(channel, _DEFAULT_ACCOUNT)
        case ("skills", "entries", name):
            return share.has_skill(name)
        case ("env", "vars", name) | ("env", name) if name != "vars":
            return share.has_variable(name)
    return place not in _TOUCHED and not _is_limited_to_others(value, share)


def _is_own(id: str | None, share: OpenClawShare) -> bool:
    return id == share.agent or (share.default and id not in share.others)


def _accounts_of(channel: Any) -> list[str]:
    listed = openclaw_config.get_nested(channel, "accounts")
    return [_DEFAULT_ACCOUNT, *(listed if isinstance(listed, dict) else ())]


def _is_limited_to_others(value: Any, share: OpenClawShare) -> bool:
    """Return whether an object is limited to agents other than this one."""
    if not isinstance(value, dict):
        return False
    named = [value.get("agentId")]
    for name in ("agents", "agentIds"):
        listed = value.get(name)
        named += listed if isinstance(listed, list) else []
    known = [id for id in named if isinstance(id, str)]
    return bool(known) and all(id in share.others for id in known)


def share_of_variables(data: bytes, share: OpenClawShare) -> bytes:
    """Return the share of a dotenv file, by lines. Raises UnparsableSecrets."""
    return dotenv_leaves.keep_dotenv_lines(data, share.has_variable, rest=share.default)


def share_of_secrets(values: Any, share: OpenClawShare, around: tuple[str, ...] = ()) -> Any:
    """Return the share of `secrets.json`. A reference names a value in it, or an object around the value, by a JSON
    pointer."""
    if not isinstance(values, dict):
        return values
    found = {}
    for name, one in values.items():
        pointer = f"{around[-1] if around else ''}/{name.replace('~', '~0').replace('/', '~1')}"
        if isinstance(one, dict):
            if kept := share_of_secrets(one, share, (*around, pointer)):
                found[name] = kept
        elif share.has_reference("file", *around, pointer):
            found[name] = one
    return found


def has_login(home: str, share: OpenClawShare) -> bool:
    """Return whether a file below `credentials/` belongs to a channel account of the agent."""
    folder, _, rest = home.removeprefix(openclaw_paths.CHANNEL_LOGINS).partition("/")
    if rest:
        account = rest.partition("/")[0] if "/" in rest else _DEFAULT_ACCOUNT
        return share.has_account(folder, account)
    channel, _, named = re.sub(r"-(?:allowFrom|pairing)\.json$|\.json$", "", folder).partition("-")
    return share.has_account(channel, named or _DEFAULT_ACCOUNT)


def share_as_json(values: Any) -> bytes:
    """Return a share as plain JSON. Equal values give equal bytes."""
    return json.dumps(values, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
