"""Merge `config.toml` and `auth-profiles.json` of an archive into those of an installation. All functions are pure,
except that they read the key beside the files.

Only missing paths are added. Settings of another release are converted first.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from lifeboat_adapters.additive_merging import (
    KEPT,
    MissingValues,
    ValueChange,
    has_value_at,
    join_changes,
    merge_dotenv,
)
from lifeboat_adapters.contract import HomeFileMerge, Installation, MergedHomeFile
from lifeboat_adapters.credential_types import CredentialRefusal, UnparsableSecrets
from lifeboat_adapters.secrets import dotenv_leaves, json5_leaves, toml_leaves
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf, Path, paths_at_offsets
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_paths
from lifeboat_adapters.zeroclaw.credentials import (
    secret_encryption,
    zeroclaw_auth_profiles,
    zeroclaw_secrets,
    zeroclaw_shared_files,
)
from lifeboat_adapters.zeroclaw.restore import config_schema, toml_editing
from lifeboat_adapters.zeroclaw.restore.config_schema import config_table
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason

Same = Callable[[Any, Any], bool]

_OF_ANOTHER = Reason(CredentialRefusal.OF_ANOTHER_AGENT)
_IN_COMMON = Reason(CredentialRefusal.IN_COMMON)
_ANOTHER_FOLDER = "the value is a folder path of the original installation, which may not exist here"


@dataclass(frozen=True, slots=True)
class ZeroClawMergeTarget:
    """The agent that a file is merged for: `alias` in `workspace`, in the folder `home` of a layout."""

    layout: str
    alias: str
    workspace: FilePath
    home: FilePath

    @property
    def names_workspace(self) -> bool:
        """Return whether the configuration has to name the workspace, because it is not at the default place."""
        return self.layout != zeroclaw_paths.EARLY and self.workspace != self.home / "agents" / self.alias / "workspace"


def merge_zeroclaw_file(installation: Installation, merge: HomeFileMerge) -> MergedHomeFile | None:
    """Implement `PlacementSupport.merge_home`."""
    found, wanted, left_out = merge.found, merge.wanted, merge.left_out
    name = merge.path.removeprefix(zeroclaw_paths.HOME)
    folder = installation.state_dir or installation.workspace
    if name == zeroclaw_paths.CONFIG:
        place = ZeroClawMergeTarget(
            installation.layout, installation.native_id, installation.workspace.resolve(), folder.resolve()
        )
        return merge_zeroclaw_config(found, wanted, place, left_out, _same_for(folder))
    if name == zeroclaw_paths.AUTH_PROFILES:
        return merge_zeroclaw_profiles(found, wanted, left_out, merge.now)
    if name == ".env" and (found is not None or left_out):
        return merge_dotenv(found or b"", wanted, left_out)
    return None


def zeroclaw_secret_places(path: str, data: bytes, offsets: Sequence[int]) -> list[Path]:
    """Implement `CredentialSupport.secret_places`."""
    name = path.rpartition("/")[2]
    try:
        return paths_at_offsets(_leaves(name, data), offsets)
    except UnparsableSecrets:
        return [()] * len(offsets)


def _leaves(name: str, data: bytes) -> list[ParsedLeaf]:
    if name.endswith(".toml"):
        return toml_leaves.scan_toml(data)
    if name.startswith(".env"):
        return dotenv_leaves.scan_dotenv(data)
    return json5_leaves.scan_json5(data) if name.endswith(".json") else []


# The configuration --------------------------------------------------------------------------------------------------


def merge_zeroclaw_config(
    found: bytes | None,
    wanted: bytes,
    place: ZeroClawMergeTarget,
    left_out: Mapping[Path, Reason],
    same: Same | None = None,
) -> MergedHomeFile:
    """Merge `config.toml`. If there is none (None), the one of the archive is used, with the place of the agent
    changed. `left_out` gives reasons for paths that must not be added. Raises ValueError when either is no
    configuration."""
    values = zeroclaw_config.parse_zeroclaw_config(wanted)
    there = {} if found is None else zeroclaw_config.parse_zeroclaw_config(found)
    before, schema = zeroclaw_config.schema_version_of(values), _schema(there, values, place)
    alias = source_alias(values, place.alias)
    if not there and before == schema and alias == place.alias:
        # Remove the last items of a list first, so that the indexes of the others stay valid.
        out = sorted((path for path in left_out if has_value_at(values, path)), key=_index, reverse=True)
        changes = [ValueChange(path, remove=True) for path in out]
        changed = toml_editing.edit_toml(wanted, [*changes, *_settling(values, place)])
        return MergedHomeFile(changed.data, {(): None, **left_out}, rewritten=changed.rewritten)
    # The archive's agent gets its new name first, because the converted settings refer to it.
    mapped = config_schema.convert_to_schema(_renamed(values, alias, place.alias), schema, place.alias)
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
    secret = {
        leaf.path
        for leaf in toml_leaves.scan_toml(wanted)
        if zeroclaw_secrets.credential_type_of_setting(leaf) and "://" not in str(leaf.value)
    }
    refused = _of_others(mapped.values, there, place, lambda path: original(path) in secret)
    decided |= {original(path): reason for path, reason in refused.items()}
    missing = MissingValues(decided, left_out, original, same=same or _equal)
    missing.walk(there, mapped.values, ())
    changed = toml_editing.edit_toml(found or b"", join_changes(there, missing.changes))
    return MergedHomeFile(changed.data, decided, rewritten=changed.rewritten and bool(there))


def _index(path: Path) -> int:
    return path[-1] if isinstance(path[-1], int) else -1


def _schema(there: JsonObject, values: JsonObject, place: ZeroClawMergeTarget) -> int:
    """Return the schema that the target reads."""
    if there:
        # A file with version 2 in the spelling of 1 belongs to a release that reads schema 1.
        is_first = config_schema.is_spelled_as_first(there)
        return (
            1
            if is_first and zeroclaw_config.schema_version_of(there) < zeroclaw_config.CURRENT_SCHEMA
            else zeroclaw_config.schema_version_of(there)
        )
    before = zeroclaw_config.schema_version_of(values)
    if place.layout == zeroclaw_paths.EARLY:
        return min(before, zeroclaw_config.CURRENT_SCHEMA - 1)
    return max(before, zeroclaw_config.CURRENT_SCHEMA)


def source_alias(values: JsonObject, otherwise: str) -> str:
    """Return the name of the archive's agent in its configuration. An archive holds the share of one agent."""
    tables = config_table(values, "agents")
    if zeroclaw_config.schema_version_of(values) < zeroclaw_config.CURRENT_SCHEMA or not tables or otherwise in tables:
        return otherwise
    return next(iter(tables))


def _renamed(values: JsonObject, before: str, alias: str) -> JsonObject:
    """Return a configuration in which the archive's agent has its name of this installation."""
    if before == alias:
        return values
    done = copy.deepcopy(values)
    agents = done["agents"]
    done["agents"] = {alias if name == before else name: table for name, table in agents.items()}
    for group in config_table(done, "peer_groups").values():
        if isinstance(group, dict) and isinstance(group.get("agents"), list):
            group["agents"] = [alias if name == before else name for name in group["agents"]]
    if zeroclaw_config.get_nested(done, "heartbeat", "agent") == before:
        done["heartbeat"]["agent"] = alias
    return done


def _settling(values: JsonObject, place: ZeroClawMergeTarget) -> list[ValueChange]:
    """Yield the changes that put the agent's present workspace into a configuration that is used as a whole."""
    if zeroclaw_config.schema_version_of(values) < zeroclaw_config.CURRENT_SCHEMA:
        return []
    path: Path = ("agents", place.alias, "workspace", "path")
    named = zeroclaw_config.get_nested_text(values, *map(str, path))
    if place.names_workspace:
        if named is not None and _is_workspace(named, place):
            return []
        return join_changes(values, [ValueChange(path, str(place.workspace))])
    return [ValueChange(path, remove=True)] if named is not None and not _is_workspace(named, place) else []


def _settle(values: JsonObject, there: JsonObject, place: ZeroClawMergeTarget) -> None:
    """Put the agent's present workspace into a configuration that is merged. The one of the other machine does not
    count."""
    agent = config_table(values, "agents", place.alias)
    workspace = config_table(agent, "workspace")
    workspace.pop("path", None)
    if agent and not workspace:
        agent.pop("workspace", None)
    is_new = not has_value_at(there, ("agents", place.alias))
    if place.names_workspace and is_new and zeroclaw_config.schema_version_of(values) >= zeroclaw_config.CURRENT_SCHEMA:
        own = values.setdefault("agents", {}).setdefault(place.alias, {})
        own.setdefault("workspace", {})["path"] = str(place.workspace)


def _is_workspace(named: str, place: ZeroClawMergeTarget) -> bool:
    return (place.home / FilePath(named).expanduser()).resolve() == place.workspace


def _of_others(
    values: JsonObject, there: JsonObject, place: ZeroClawMergeTarget, is_secret: Callable[[Path], bool]
) -> dict[Path, Reason]:
    """Remove settings of other agents here from an archive's configuration, and record a reason for each path.

    These are their own tables and, for an agent that is new here, settings inside of tables that they already use.
    Otherwise a provider with an address from the archive would receive the keys of all agents.
    """
    if zeroclaw_config.schema_version_of(there) < zeroclaw_config.CURRENT_SCHEMA or not isinstance(
        there.get("agents"), dict
    ):
        return {}
    here = {agent.alias for agent in zeroclaw_config.list_zeroclaw_agents(there)}
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
    """Remove from `wanted` the settings that are missing in a table that other agents use. A credential may be added,
    because it is sent to the address in the table."""
    if not isinstance(wanted, dict) or not isinstance(found, dict):
        return []
    closed: list[Path] = []
    for name in list(wanted):
        here = (*path, name)
        if name in found and found[name] not in ("", None):
            closed += _closed(wanted[name], found[name], here, is_secret)
        elif len(path) >= zeroclaw_shared_files.DEPTHS.get(str(path[0]), 1) and not is_secret(here):
            del wanted[name]
            closed.append(here)
    return closed


def _equal(found: Any, wanted: Any) -> bool:
    return bool(found == wanted)


def _same_for(folder: FilePath) -> Same:
    """Return a function that compares two values as ZeroClaw does with the key in a folder."""
    try:
        key = secret_encryption.read_key(folder)
    except secret_encryption.BadSecretKey:
        key = None

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(each) for each in value]
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items()}
        if not isinstance(value, str):
            return value
        try:
            return secret_encryption.decrypt_secret(value, key)
        except secret_encryption.UnreadableSecret:
            return value

    return lambda found, wanted: bool(plain(found) == plain(wanted))


# Logins -------------------------------------------------------------------------------------------------------------


def merge_zeroclaw_profiles(
    found: bytes | None, wanted: bytes, left_out: Mapping[Path, Reason], now: str
) -> MergedHomeFile:
    """Merge `auth-profiles.json` by profile. An existing profile stays while it is usable. Raises ValueError."""
    document = zeroclaw_auth_profiles.parse_profiles(wanted)
    if found is None and not left_out:
        return MergedHomeFile(wanted, {(): None})
    there: JsonObject = {"schema_version": 1} if found is None else zeroclaw_auth_profiles.parse_profiles(found)
    decided: dict[Path, Reason | None] = {}
    known = there.setdefault("profiles", {})
    if not isinstance(known, dict):
        raise ValueError("the profiles in the file are not a JSON object")
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
    return MergedHomeFile(
        found if found is not None and zeroclaw_auth_profiles.parse_profiles(found) == there else data, decided
    )


def _reason(found: Any, wanted: Any, now: str) -> Reason | None:
    """Return why a stored profile is not replaced, None when it may be."""
    if not isinstance(found, dict) or found == wanted:
        return None
    return KEPT if is_usable_profile(found, now) else None


def is_usable_profile(values: JsonObject, now: str) -> bool:
    """Return whether a profile has a value, and has not expired or can be refreshed."""
    if values.get("refresh_token"):
        return True
    expired = (zeroclaw_auth_profiles.normalize_timestamp(values.get("expires_at")) or "9") <= times.to_text(
        times.parse_time(now)
    )
    return bool(values.get(zeroclaw_auth_profiles.TOKEN) or values.get("access_token")) and not expired
