"""`config.toml` and `auth-profiles.json` of an archive merged into an installation's: pure but for the key beside them.

Only paths that are missing are added. What another release says otherwise is said its way.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from lifeboat_adapters.contract import Installation, Merged
from lifeboat_adapters.credentials import StaysOut, UnparsableSecrets
from lifeboat_adapters.merging import KEPT, Change, Missing, has, joined, merge_dotenv
from lifeboat_adapters.secrets import dotenv, json5, toml
from lifeboat_adapters.secrets.leaves import Leaf, Path
from lifeboat_adapters.secrets.places import places_of
from lifeboat_adapters.zeroclaw import config, paths
from lifeboat_adapters.zeroclaw.credentials import codec, profiles, secrets, sharing
from lifeboat_adapters.zeroclaw.restore import config_schema, toml_text
from lifeboat_adapters.zeroclaw.restore.config_schema import config_table
from lifeboat_alf import times
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.reasons import Reason

Same = Callable[[Any, Any], bool]

_OF_ANOTHER = Reason(StaysOut.OF_ANOTHER_AGENT)
_IN_COMMON = Reason(StaysOut.IN_COMMON)
_ANOTHER_FOLDER = "it names a folder of the other machine"


@dataclass(frozen=True, slots=True)
class Place:
    """What a file is merged for: the agent `alias` in `workspace`, in the folder `home` of a layout."""

    layout: str
    alias: str
    workspace: FilePath
    home: FilePath

    @property
    def names_workspace(self) -> bool:
        """Whether a configuration has to say where the agent lives, because nobody would look there."""
        return self.layout != paths.EARLY and self.workspace != self.home / "agents" / self.alias / "workspace"


def merge_home(
    installation: Installation,
    path: str,
    found: bytes | None,
    wanted: bytes,
    left_out: Mapping[Path, Reason],
    state: Any,
    user_home: FilePath,
    now: str,
) -> Merged | None:
    """See `contract.Adapter.merge_home`."""
    name = path.removeprefix(paths.HOME)
    folder = installation.state_dir or installation.workspace
    if name == paths.CONFIG:
        place = Place(installation.layout, installation.native_id, installation.workspace.resolve(), folder.resolve())
        return merge_config(found, wanted, place, left_out, _same_for(folder))
    if name == paths.AUTH_PROFILES:
        return merge_profiles(found, wanted, left_out, now)
    if name == ".env" and (found is not None or left_out):
        return merge_dotenv(found or b"", wanted, left_out)
    return None


def secret_places(path: str, data: bytes, offsets: Sequence[int]) -> list[Path]:
    """See `contract.Adapter.secret_places`."""
    name = path.rpartition("/")[2]
    try:
        return places_of(_leaves(name, data), offsets)
    except UnparsableSecrets:
        return [()] * len(offsets)


def _leaves(name: str, data: bytes) -> list[Leaf]:
    if name.endswith(".toml"):
        return toml.scan(data)
    if name.startswith(".env"):
        return dotenv.scan(data)
    return json5.scan(data) if name.endswith(".json") else []


# The configuration --------------------------------------------------------------------------------------------------


def merge_config(
    found: bytes | None, wanted: bytes, place: Place, left_out: Mapping[Path, Reason], same: Same | None = None
) -> Merged:
    """`config.toml`. One that is not there (None) is taken over as it is, but for where the agent lives. `left_out`
    says of paths why they must not be put in. Raises ValueError when either is no configuration."""
    values = config.parse(wanted)
    there = {} if found is None else config.parse(found)
    before, schema = config.schema(values), _schema(there, values, place)
    alias = source_alias(values, place.alias)
    if not there and before == schema and alias == place.alias:
        # Of a list the last ones go first: the places of the others stay what they are.
        out = sorted((path for path in left_out if has(values, path)), key=_index, reverse=True)
        changes = [Change(path, remove=True) for path in out]
        changed = toml_text.change(wanted, [*changes, *_settling(values, place)])
        return Merged(changed.data, {(): None, **left_out}, rewritten=changed.rewritten)
    # The archive's agent has its later name from the start: what it turns into refers to it by that name.
    mapped = config_schema.in_schema(_renamed(values, alias, place.alias), schema, place.alias)
    decided: dict[Path, Reason | None] = dict(left_out)

    def original(path: Path) -> Path:
        before_renaming = mapped.original(path)
        renamed = ("agents", place.alias) == before_renaming[:2] and alias != place.alias
        return ("agents", alias, *before_renaming[2:]) if renamed else before_renaming

    decided |= {
        (("agents", alias, *path[2:]) if path[:2] == ("agents", place.alias) else path): reason
        for path, reason in mapped.refused.items()
        if path not in left_out
    }
    _settle(mapped.values, there, place)
    secret = {leaf.path for leaf in toml.scan(wanted) if secrets.kind_of(leaf) and "://" not in str(leaf.value)}
    refused = _of_others(mapped.values, there, place, lambda path: original(path) in secret)
    decided |= {original(path): reason for path, reason in refused.items()}
    missing = Missing(decided, left_out, original, same=same or _equal)
    missing.walk(there, mapped.values, ())
    changed = toml_text.change(found or b"", joined(there, missing.changes))
    return Merged(changed.data, decided, rewritten=changed.rewritten and bool(there))


def _index(path: Path) -> int:
    return path[-1] if isinstance(path[-1], int) else -1


def _schema(there: JsonObject, values: JsonObject, place: Place) -> int:
    """The schema that the target reads."""
    if there:
        # A file that says 2 and is spelled like 1 is read by a release that knows 1.
        is_first = config_schema.is_spelled_as_first(there)
        return 1 if is_first and config.schema(there) < config.CURRENT_SCHEMA else config.schema(there)
    before = config.schema(values)
    if place.layout == paths.EARLY:
        return min(before, config.CURRENT_SCHEMA - 1)
    return max(before, config.CURRENT_SCHEMA)


def source_alias(values: JsonObject, otherwise: str) -> str:
    """What the agent of an archive was called in its configuration: an archive has one agent's share."""
    tables = config_table(values, "agents")
    if config.schema(values) < config.CURRENT_SCHEMA or not tables or otherwise in tables:
        return otherwise
    return next(iter(tables))


def _renamed(values: JsonObject, before: str, alias: str) -> JsonObject:
    """A configuration in which the archive's agent has the name that it has here."""
    if before == alias:
        return values
    done = copy.deepcopy(values)
    agents = done["agents"]
    done["agents"] = {alias if name == before else name: table for name, table in agents.items()}
    for group in config_table(done, "peer_groups").values():
        if isinstance(group, dict) and isinstance(group.get("agents"), list):
            group["agents"] = [alias if name == before else name for name in group["agents"]]
    if config.get(done, "heartbeat", "agent") == before:
        done["heartbeat"]["agent"] = alias
    return done


def _settling(values: JsonObject, place: Place) -> list[Change]:
    """What a configuration that is taken over has to say of where the agent lives."""
    if config.schema(values) < config.CURRENT_SCHEMA:
        return []
    path: Path = ("agents", place.alias, "workspace", "path")
    named = config.text(values, *map(str, path))
    if place.names_workspace:
        if named is not None and _is_workspace(named, place):
            return []
        return joined(values, [Change(path, str(place.workspace))])
    return [Change(path, remove=True)] if named is not None and not _is_workspace(named, place) else []


def _settle(values: JsonObject, there: JsonObject, place: Place) -> None:
    """The same for one that is merged: what another machine's says of it does not count."""
    agent = config_table(values, "agents", place.alias)
    workspace = config_table(agent, "workspace")
    workspace.pop("path", None)
    if agent and not workspace:
        agent.pop("workspace", None)
    is_new = not has(there, ("agents", place.alias))
    if place.names_workspace and is_new and config.schema(values) >= config.CURRENT_SCHEMA:
        own = values.setdefault("agents", {}).setdefault(place.alias, {})
        own.setdefault("workspace", {})["path"] = str(place.workspace)


def _is_workspace(named: str, place: Place) -> bool:
    return (place.home / FilePath(named).expanduser()).resolve() == place.workspace


def _of_others(
    values: JsonObject, there: JsonObject, place: Place, is_secret: Callable[[Path], bool]
) -> dict[Path, Reason]:
    """Take out of an archive's configuration what says something about other agents here, and say why by path: their
    own tables; and, for an agent that is new here, settings inside of what they use already. A provider that gets an
    address from the archive would be sent everybody's key."""
    if config.schema(there) < config.CURRENT_SCHEMA or not isinstance(there.get("agents"), dict):
        return {}
    here = {agent.alias for agent in config.agents(there)}
    tables, jobs = config_table(values, "agents"), config_table(values, "cron")
    others = here - {place.alias}
    refused: dict[Path, Reason] = {("agents", name): _OF_ANOTHER for name in tables.keys() & others}
    for name, job in jobs.items():
        if isinstance(job, dict) and not others.isdisjoint(str(job.get(field)) for field in ("agent", "agent_alias")):
            refused["cron", name] = _OF_ANOTHER
    for part, alias in refused:
        del values[str(part)][alias]
    if place.alias not in here:
        for part in sorted(values.keys() & there.keys() - {"agents"}):
            refused |= dict.fromkeys(_closed(values[part], there[part], (part,), is_secret), _IN_COMMON)
    return refused


def _closed(wanted: Any, found: Any, path: Path, is_secret: Callable[[Path], bool]) -> list[Path]:
    """Settings that are missing in a table that other agents use, taken out of `wanted`. A credential may be added: it
    goes where the table says."""
    if not isinstance(wanted, dict) or not isinstance(found, dict):
        return []
    closed: list[Path] = []
    for name in list(wanted):
        here = (*path, name)
        if name in found and found[name] not in ("", None):
            closed += _closed(wanted[name], found[name], here, is_secret)
        elif len(path) >= sharing.DEPTHS.get(str(path[0]), 1) and not is_secret(here):
            del wanted[name]
            closed.append(here)
    return closed


def _equal(found: Any, wanted: Any) -> bool:
    return bool(found == wanted)


def _same_for(folder: FilePath) -> Same:
    """Whether two values say the same, to ZeroClaw with the key in a folder."""
    try:
        key = codec.read_key(folder)
    except codec.BadSecretKey:
        key = None

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(each) for each in value]
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items()}
        if not isinstance(value, str):
            return value
        try:
            return codec.decrypt(value, key)
        except codec.UnreadableSecret:
            return value

    return lambda found, wanted: bool(plain(found) == plain(wanted))


# Logins -------------------------------------------------------------------------------------------------------------


def merge_profiles(found: bytes | None, wanted: bytes, left_out: Mapping[Path, Reason], now: str) -> Merged:
    """`auth-profiles.json`, profile by profile: one that is there stays while it is usable. Raises ValueError."""
    document = profiles.parse(wanted)
    if found is None and not left_out:
        return Merged(wanted, {(): None})
    there: JsonObject = {"schema_version": 1} if found is None else profiles.parse(found)
    decided: dict[Path, Reason | None] = {}
    known = there.setdefault("profiles", {})
    if not isinstance(known, dict):
        raise ValueError("its profiles are no object")
    listed = config_table(document, "profiles")
    for id, values in listed.items():
        path: Path = ("profiles", id)
        reason = next((why for out, why in left_out.items() if out[:2] == path), None) or _reason(
            known.get(id), values, now
        )
        decided[path] = reason
        if not reason:
            known[id] = values
    active = there.setdefault("active_profiles", {})
    for provider, id in config_table(document, "active_profiles").items():
        if isinstance(active, dict) and isinstance(id, str) and id in known:
            active.setdefault(provider, id)
    data = (json.dumps(there, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    return Merged(found if found is not None and profiles.parse(found) == there else data, decided)


def _reason(found: Any, wanted: Any, now: str) -> Reason | None:
    """Return why a stored profile is not replaced, None when it may be."""
    if not isinstance(found, dict) or found == wanted:
        return None
    return KEPT if is_usable(found, now) else None


def is_usable(values: JsonObject, now: str) -> bool:
    """Whether a profile still serves: there is something in it, and it has not expired or can be refreshed."""
    if values.get("refresh_token"):
        return True
    expired = (profiles.timestamp(values.get("expires_at")) or "9") <= times.to_text(times.parse(now))
    return bool(values.get(profiles.TOKEN) or values.get("access_token")) and not expired
