"""Convert `config.toml` of one schema to another one: settings that moved, and settings that have no place any more.

Schema 1 has the model provider at the top and channels in `channels_config`. Schema 2 puts them into `providers` and
`channels`. Schema 3 names every provider and channel (`providers.models.<type>.<alias>`), and has agents that refer to
them by name.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lifeboat_adapters.credential_types import CredentialRefusal
from lifeboat_adapters.secrets.parsed_leaves import Path
from lifeboat_adapters.zeroclaw import zeroclaw_config
from lifeboat_adapters.zeroclaw.restore.provider_names import DEFAULT, provider_name
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason

RETIRED = Reason(CredentialRefusal.RETIRED, runtime="ZeroClaw")
TAKEN = Reason(CredentialRefusal.SET_BY_ANOTHER)


@dataclass(slots=True)
class ConvertedConfig:
    """A configuration in another schema. `origins` maps a path to the former path of its value and of everything below
    it. `refused` gives reasons for values that have no place. Paths in `refused`, and values of `origins`, are former
    paths."""

    values: JsonObject
    origins: dict[Path, Path] = field(default_factory=dict)
    refused: dict[Path, Reason | None] = field(default_factory=dict)

    def original(self, path: Path) -> Path:
        """Return the former path of the value at a path."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return (*self.origins[path[:length]], *path[length:])
        return path

    def put(self, path: Path, value: Any, origin: Path | None = None) -> None:
        """Set a value that is not set yet."""
        values: dict[Any, Any] = self.values
        for step in path[:-1]:
            inner = values.setdefault(step, {})
            if not isinstance(inner, dict):
                return self._refuse(origin)
            values = inner
        if path[-1] in values:
            return self._refuse(origin)
        values[path[-1]] = copy.deepcopy(value)
        if origin is not None and origin != path:
            self.origins[path] = origin
        return None

    def _refuse(self, origin: Path | None) -> None:
        if origin is not None:
            self.refused[origin] = TAKEN


_NOT_A_NAME = re.compile(r"[^a-z0-9_-]+")

# fmt: off
_GLOBALS = {
    "api_key": "api_key", "api_url": "uri", "default_model": "model", "model": "model",
    "default_temperature": "temperature", "provider_timeout_secs": "timeout_secs",
    "provider_max_tokens": "max_tokens", "extra_headers": "extra_headers",
}
_OF_PROVIDERS = (
    *_GLOBALS, "api_path", "default_provider", "default_model_provider", "model_provider", "model_routes",
    "embedding_routes",
)
_PROVIDER_FIELDS = {"base_url": "uri", "api_url": "uri", "default_model": "model"}
_CHANNEL_FIELDS = {
    ("discord", "guild_id"): "guild_ids", ("mattermost", "channel_id"): "channel_ids",
    ("slack", "channel_id"): "channel_ids", ("matrix", "room_id"): "allowed_rooms",
    ("reddit", "subreddit"): "subreddits", ("signal", "group_id"): "group_ids",
}
_PEERS = frozenset((
    "allowed_users", "allowed_contacts", "allowed_from", "allowed_numbers", "allowed_senders", "allowed_pubkeys",
))
_BUDGETS = frozenset(("max_actions_per_hour", "max_cost_per_day_cents", "shell_timeout_secs"))
_AGENT_MODEL = ("model", "api_key", "temperature", "timeout_secs")
_AGENT_LIMITS = {
    "agentic": "agentic", "max_depth": "max_delegation_depth", "agentic_timeout_secs": "agentic_timeout_secs",
    "max_iterations": "max_tool_iterations",
}
_SINCE_THIRD = (
    "agents", "channels", "cron", "knowledge_bundles", "mcp_bundles", "peer_groups", "providers", "risk_profiles",
    "runtime_profiles", "skill_bundles", "storage",
)
# fmt: on


def is_spelled_as_first(values: JsonObject) -> bool:
    """Return whether a configuration has settings that only schema 1 knows."""
    return any(name in values for name in ("model_providers", "channels_config", *_OF_PROVIDERS))


def convert_to_schema(values: JsonObject, schema: int, alias: str) -> ConvertedConfig:
    """Return a configuration as the release with this schema reads it. `alias` is the later name of the only agent of
    an early configuration. Settings without a place are listed, never dropped silently."""
    before = zeroclaw_config.schema_version_of(values)
    if before == schema or (before >= zeroclaw_config.CURRENT_SCHEMA and schema >= zeroclaw_config.CURRENT_SCHEMA):
        return ConvertedConfig(copy.deepcopy(values))
    if schema >= zeroclaw_config.CURRENT_SCHEMA:
        return _Schema3Config(values, alias).translated()
    if before >= zeroclaw_config.CURRENT_SCHEMA:
        return _earlier(values, schema, alias)
    done = ConvertedConfig({})
    for path, value, origin in _neutral(values):
        done.put(_place_of(path, schema), value, origin)
    if schema > 1:
        done.values["schema_version"] = schema
    return done


def _neutral(values: JsonObject) -> Iterator[tuple[Path, Any, Path]]:
    """Yield every part of an early configuration as (its path in schema 2, value, its present path)."""
    for name, value in values.items():
        if name == "schema_version":
            continue
        if name == "model_providers":
            yield ("providers", "models"), value, (name,)
        elif name in _OF_PROVIDERS:
            yield ("providers", name), value, (name,)
        elif name == "channels_config":
            yield ("channels",), value, (name,)
        elif name == "providers" and isinstance(value, dict):
            yield from ((("providers", key), inner, ("providers", key)) for key, inner in value.items())
        else:
            yield (name,), value, (name,)


def _place_of(path: Path, schema: int) -> Path:
    if schema > 1 or path[0] not in ("providers", "channels"):
        return path
    if path[0] == "channels":
        return ("channels_config", *path[1:])
    return ("model_providers", *path[2:]) if path[1] == "models" else path[1:]


class _Schema3Config:
    """Builds schema 3 from an early configuration."""

    def __init__(self, values: JsonObject, alias: str) -> None:
        self._alias = alias
        self._done = ConvertedConfig({"schema_version": zeroclaw_config.CURRENT_SCHEMA})
        self._parts = {path: (value, origin) for path, value, origin in _neutral(values)}

    def translated(self) -> ConvertedConfig:
        provider = self._providers()
        channels = self._channels()
        self._helpers()
        self._profiles()
        self._cron()
        self._smaller_parts()
        for path, (value, origin) in self._parts.items():
            if path[0] == "providers":
                self._done.refused[origin] = RETIRED
            elif isinstance(value, dict):
                for key, inner in value.items():
                    self._done.put((*path, key), inner, (*origin, key))
            else:
                self._done.put(path, value, origin)
        self._agent(provider, channels)
        return self._done

    def _take(self, *path: str) -> tuple[Any, Path]:
        return self._parts.pop(path, (None, path))

    def _take_table(self, *path: str) -> tuple[JsonObject, Path]:
        """Return a table. Any other value in its place is refused."""
        value, origin = self._take(*path)
        if value is not None and not isinstance(value, dict):
            self._done.refused[origin] = RETIRED
        return (value if isinstance(value, dict) else {}), origin

    def _providers(self) -> str | None:
        """Convert the providers, and return the name of the default one."""
        models, origin = self._take_table("providers", "models")
        for named, settings in models.items():
            type_, alias, address = provider_name(named)
            place: Path = ("providers", "models", type_, alias)
            for key, value in settings.items() if isinstance(settings, dict) else ():
                if key == "name":
                    self._done.refused[*origin, named, key] = RETIRED
                else:
                    self._done.put((*place, _PROVIDER_FIELDS.get(str(key), str(key))), value, (*origin, named, key))
            if address is not None:
                self._done.put((*place, "uri"), address)
        return self._default_provider(next(iter(models), None))

    def _default_provider(self, first: str | None) -> str | None:
        named = [
            self._take("providers", key)[0] for key in ("default_provider", "default_model_provider", "model_provider")
        ]
        chosen = next((each for each in named if isinstance(each, str) and each), first)
        taken = {key: self._take("providers", key) for key in (*_GLOBALS, "api_path")}
        found = {key: (value, origin) for key, (value, origin) in taken.items() if value is not None}
        if chosen is None and not found:
            return None
        type_, alias, address = provider_name(chosen or "openrouter")
        place: Path = ("providers", "models", type_, alias)
        if address is not None:
            self._done.put((*place, "uri"), address)
        path = found.pop("api_path", None)
        if path is not None:
            url = found.get("api_url")
            if url is None or not isinstance(url[0], str):
                self._done.refused[path[1]] = RETIRED
            else:
                found["api_url"] = (f"{url[0].rstrip('/')}/{str(path[0]).lstrip('/')}", url[1])
        for key, (value, origin) in found.items():
            self._done.put((*place, _GLOBALS[key]), value, origin)
        return f"{type_}.{alias}"

    def _channels(self) -> list[str]:
        """Convert the channels, and return their names."""
        tables, origin = self._take_table("channels")
        names = []
        for kind, settings in tables.items():
            if not isinstance(settings, dict):
                self._done.put(("channels", kind), settings, (*origin, kind))
                continue
            type_, alias = ("lark", "feishu") if kind == "feishu" else (kind, DEFAULT)
            if kind == "discord_history":
                type_ = "discord"
                self._done.put(("channels", "discord", DEFAULT, "archive"), True)
            place: Path = ("channels", type_, alias)
            for key, value in settings.items():
                self._channel_setting(place, key, value, (*origin, kind, key))
            if kind == "feishu":
                self._done.put((*place, "use_feishu"), True)
            names.append(f"{type_}.{alias}")
        return sorted(set(names))

    def _channel_setting(self, place: Path, key: str, value: Any, origin: Path) -> None:
        many = _CHANNEL_FIELDS.get((str(place[1]), key))
        if key in _PEERS and isinstance(value, list):
            group: Path = ("peer_groups", f"{place[1]}_{place[2]}")
            peers = [each for each in value if isinstance(each, str) and each not in ("", "*")]
            if peers:
                self._done.put((*group, "channel"), place[1])
                self._done.put((*group, "agents"), [self._alias])
                self._done.put((*group, "external_peers"), peers, origin)
        elif place[1] == "signal" and key == "group_id" and value == "dm":
            self._done.put((*place, "dm_only"), True, origin)
        elif many is not None:
            self._done.put((*place, many), [value] if isinstance(value, str) and value else [], origin)
        else:
            self._done.put((*place, key), value, origin)

    def _helpers(self) -> None:
        """Convert agents that the only agent delegates to. Since schema 3 they are agents of their own."""
        tables, origin = self._take_table("agents")
        for name, settings in tables.items():
            if isinstance(settings, dict):
                self._helper(name, dict(settings), (*origin, name))
            else:
                self._done.refused[*origin, name] = RETIRED

    def _helper(self, name: str, settings: JsonObject, origin: Path) -> None:
        provider = settings.pop("provider", None)
        own = f"agent_{name}"
        if isinstance(provider, str) and provider:
            type_, _, address = provider_name(provider)
            place: Path = ("providers", "models", type_, own)
            for key in [key for key in _AGENT_MODEL if key in settings]:
                self._done.put((*place, key), settings.pop(key), (*origin, key))
            if address is not None:
                self._done.put((*place, "uri"), address)
            self._done.put(("agents", name, "model_provider"), f"{type_}.{own}", (*origin, "provider"))
        if "allowed_tools" in settings:
            tools = settings.pop("allowed_tools")
            self._done.put(("risk_profiles", own, "allowed_tools"), tools, (*origin, "allowed_tools"))
            self._done.put(("agents", name, "risk_profile"), own)
        for key in [key for key in _AGENT_LIMITS if key in settings]:
            self._done.put(("runtime_profiles", own, _AGENT_LIMITS[key]), settings.pop(key), (*origin, key))
            self._done.put(("agents", name, "runtime_profile"), own)
        for key in ("skills_directory", *_AGENT_MODEL):
            if settings.pop(key, None) is not None:
                self._done.refused[*origin, key] = RETIRED
        for key, value in settings.items():
            self._done.put(("agents", name, key), value, (*origin, key))

    def _profiles(self) -> None:
        """Convert the permissions and limits of the agent."""
        autonomy, origin = self._take_table("autonomy")
        for key, value in autonomy.items():
            profile = "runtime_profiles" if key in _BUDGETS else "risk_profiles"
            name = "excluded_tools" if key == "non_cli_excluded_tools" else key
            self._done.put((profile, DEFAULT, name), value, (*origin, key))
        limits, origin = self._take_table("agent")
        for key, value in limits.items():
            profile = "risk_profiles" if key == "allowed_tools" else "runtime_profiles"
            self._done.put((profile, DEFAULT, key), value, (*origin, key))

    def _cron(self) -> None:
        table, origin = self._take_table("cron")
        jobs = table.get("jobs")
        for number, job in enumerate(jobs if isinstance(jobs, list) else []):
            if not isinstance(job, dict):
                continue
            named = str(job.get("name") or job.get("id") or f"job_{number + 1}").lower()
            alias = _NOT_A_NAME.sub("-", named).strip("-") or f"job_{number + 1}"
            kept = {key: value for key, value in job.items() if key != "id"}
            self._done.put(("cron", alias), kept, (*origin, "jobs", number))
        for key, value in table.items():
            if key != "jobs":
                self._done.put(("scheduler", key), value, (*origin, key))

    def _smaller_parts(self) -> None:
        self._identity()
        for name, key in (("tunnel", "tunnel_provider"), ("web_search", "search_provider")):
            table, origin = self._take_table(name)
            for old, value in table.items():
                self._done.put((name, key if old == "provider" else old), value, (*origin, old))
        for kind in ("tts", "transcription"):
            table, origin = self._take_table(kind)
            for key, value in table.items():
                if key == "default_provider":
                    self._done.refused[*origin, key] = RETIRED
                elif isinstance(value, dict):
                    self._done.put(("providers", kind, key, DEFAULT), value, (*origin, key))
                else:
                    self._done.put((kind, key), value, (*origin, key))
        self._storage()
        for place in (
            ("swarms",),
            ("cost", "prices"),
            ("reliability", "fallback_providers"),
            ("reliability", "model_fallbacks"),
        ):
            self._drop(*place)
        for name in ("model_routes", "embedding_routes"):
            routes, origin = self._take("providers", name)
            if isinstance(routes, list):
                self._done.put((name,), [_route(each) for each in routes], origin)

    def _identity(self) -> None:
        table, origin = self._take_table("identity")
        for name in (self._alias, *self._done.values.get("agents", {})):
            for key, value in table.items():
                if key not in config_table(self._done.values, "agents", name, "identity"):
                    self._done.put(("agents", name, "identity", key), value, (*origin, key))

    def _storage(self) -> None:
        table, origin = self._take_table("storage")
        settings = zeroclaw_config.get_nested(table, "provider", "config")
        if isinstance(settings, dict):
            kind = str(settings.get("provider") or "sqlite")
            for key, value in settings.items():
                if key != "provider":
                    self._done.put(("storage", kind, DEFAULT, key), value, (*origin, "provider", "config", key))
        memory, origin = self._take_table("memory")
        for key, value in memory.items():
            if key in ("qdrant", "postgres") and isinstance(value, dict):
                for name, inner in value.items():
                    self._done.put(("storage", key, DEFAULT, name), inner, (*origin, key, name))
            else:
                self._done.put(("memory", key), value, (*origin, key))

    def _drop(self, *place: str) -> None:
        name, *inner = place
        found = self._parts.get((name,))
        if found is None:
            return
        value, origin = found
        if not inner:
            del self._parts[(name,)]
            self._done.refused[origin] = RETIRED
        elif isinstance(value, dict) and inner[0] in value:
            kept = {key: each for key, each in value.items() if key != inner[0]}
            self._parts[(name,)] = (kept, origin)
            if value[inner[0]]:
                self._done.refused[*origin, inner[0]] = RETIRED

    def _agent(self, provider: str | None, channels: list[str]) -> None:
        """Convert the only agent, which early releases did not name."""
        place: Path = ("agents", self._alias)
        own: JsonObject = {"enabled": True}
        own |= {"model_provider": provider} if provider else {}
        own |= {"channels": channels} if channels else {}
        for kind in ("risk_profile", "runtime_profile"):
            own[kind] = DEFAULT
            self._done.put((f"{kind}s", DEFAULT), {})
        for key, value in own.items():
            self._done.put((*place, key), value)
        if zeroclaw_config.get_nested(self._done.values, "heartbeat", "enabled") is True:
            self._done.put(("heartbeat", "agent"), self._alias)


def config_table(values: JsonObject, *keys: str) -> JsonObject:
    """Return a table deep in others, {} when there is none."""
    found = zeroclaw_config.get_nested(values, *keys)
    return found if isinstance(found, dict) else {}


def _route(route: Any) -> Any:
    if not isinstance(route, dict) or "provider" not in route:
        return route
    type_, alias, _ = provider_name(str(route["provider"]))
    rest = {key: value for key, value in route.items() if key != "provider"}
    return {"model_provider": f"{type_}.{alias}", **rest}


def _earlier(values: JsonObject, schema: int, alias: str) -> ConvertedConfig:
    """Convert one agent of a configuration of schema 3 for a release with a single agent: its provider, channels and
    identity, and settings with the same name in both."""
    done = ConvertedConfig({"schema_version": schema} if schema > 1 else {})
    for name, value in values.items():
        if name in _SINCE_THIRD:
            done.refused[(name,)] = RETIRED
        elif name != "schema_version":
            done.put((name,), value)
    agent = config_table(values, "agents", alias)
    type_, _, named = str(agent.get("model_provider") or "").partition(".")
    origin: Path = ("providers", "models", type_, named)
    if settings := config_table(values, "providers", "models", type_, named):
        names = {new: old for old, new in reversed(_GLOBALS.items())} | {"model": "default_model"}
        done.put(_place_of(("providers", "default_provider"), schema), type_)
        for key, value in settings.items():
            if key in names:
                done.put(_place_of(("providers", names[key]), schema), value, (*origin, key))
                done.refused[*origin, key] = None
    for name in agent.get("channels") or ():
        kind, _, account = str(name).partition(".")
        for key, value in config_table(values, "channels", kind, account).items():
            done.put(_place_of(("channels", kind, key), schema), value, ("channels", kind, account, key))
            done.refused.setdefault(("channels", kind, account, key), None)
    if identity := config_table(agent, "identity"):
        done.put(("identity",), identity, ("agents", alias, "identity"))
        done.refused["agents", alias, "identity"] = None
    return done
