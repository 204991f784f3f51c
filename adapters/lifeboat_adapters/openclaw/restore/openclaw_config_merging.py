"""Merge `openclaw.json` of an archive into that of an installation. All functions are pure.

Only missing paths are added. Only settings that both layouts read alike move from one layout to the other.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from lifeboat_adapters import json5_editing
from lifeboat_adapters.additive_merging import MissingValues, ValueChange, has_value_at, join_changes
from lifeboat_adapters.contract import MergedHomeFile
from lifeboat_adapters.credential_types import CredentialRefusal
from lifeboat_adapters.openclaw import openclaw_config, openclaw_folders
from lifeboat_adapters.openclaw.hook.hook_selection import ENTRY as HOOK_ENTRY
from lifeboat_adapters.secrets.parsed_leaves import Path
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason

OLD, NEW = "2026.2", "2026.9"
_RETIRED = Reason(CredentialRefusal.RETIRED, runtime="OpenClaw")
_OF_INSTALLATION = Reason(CredentialRefusal.OF_INSTALLATION)
_ANOTHER_FOLDER = Reason(CredentialRefusal.ANOTHER_FOLDER)

_ACROSS_RELEASES: tuple[Path, ...] = (
    ("agents", "defaults", "model"),
    ("agents", "defaults", "models"),
    ("auth", "order"),
    ("auth", "profiles"),
    ("bindings",),
    ("channels",),
    ("env",),
    ("gateway", "auth"),
    ("gateway", "bind"),
    ("gateway", "mode"),
    ("gateway", "port"),
    ("models",),
    ("plugins", "entries"),
    ("skills", "entries"),
)
"""Settings that releases of both layouts read alike. One unknown key makes a configuration invalid and every command
fail, so nothing else moves from one layout to the other."""
_OF_MACHINE = Reason(CredentialRefusal.OF_MACHINE)
_OF_AN_AGENT = ("name", "workspace", "identity", "model")
_INSTALLATION_KEYS = ("meta", "wizard")


@dataclass(frozen=True, slots=True)
class OpenClawMergeTarget:
    """The agent that a file is merged for: `native_id` in `workspace`, in a state directory with a layout. `source_id`
    is its id in the archive, "" for the same one."""

    layout: str
    native_id: str
    workspace: FilePath
    state: openclaw_folders.OpenClawStateFolder
    source_id: str = ""

    @property
    def renames(self) -> bool:
        return self.source_id not in ("", self.native_id)

    @property
    def written_workspace(self) -> str:
        """Return the workspace as a configuration names it, beginning with `~` where possible, so that it moves with
        its home."""
        try:
            return f"~/{self.workspace.relative_to(self.state.home.resolve()).as_posix()}"
        except ValueError:
            return str(self.workspace)


def merge_openclaw_config(
    found: bytes | None, wanted: bytes, place: OpenClawMergeTarget, left_out: Mapping[Path, Reason]
) -> MergedHomeFile:
    """Merge `openclaw.json`. If there is none (None), the one of the archive is used, with the place of the agent
    changed. `left_out` gives reasons for paths that must not be added. Raises ValueError when either is no
    configuration."""
    values = openclaw_config.parse_openclaw_config(wanted)
    there = {} if found is None else openclaw_config.parse_openclaw_config(found)
    if has_value_at(values, HOOK_ENTRY) and not has_value_at(there, HOOK_ENTRY):
        left_out = {**left_out, HOOK_ENTRY: _OF_MACHINE}
    decided: dict[Path, Reason | None] = dict(left_out)
    if found is None and layout_of_config(values, place.layout) == place.layout and not place.renames:
        changes = [ValueChange(path, remove=True) for path in left_out if has_value_at(values, path)]
        changed = json5_editing.edit_json5(wanted, [*changes, *_settling(values, place)])
        return MergedHomeFile(changed.data, {(): None} | decided, rewritten=changed.rewritten)
    mapped = _in_layout(values, place, decided)
    _stay(mapped.values, there, place)
    _own(mapped.values, there, place)
    missing = MissingValues(decided, left_out, mapped.original, appended=(("bindings",),))
    if place.layout == OLD:
        _list(missing, mapped, there)
    missing.walk(there, mapped.values, ())
    changed = json5_editing.edit_json5(b"{}\n" if found is None else found, join_changes(there, missing.changes))
    return MergedHomeFile(changed.data, decided, rewritten=changed.rewritten and bool(there))


@dataclass(frozen=True, slots=True)
class _MappedConfig:
    """The part of a configuration that a target understands, with its agents as a map. `listed` is the position of an
    agent in the archive's list, `targets` the agent at a position of the target's list."""

    values: JsonObject
    place: OpenClawMergeTarget
    listed: dict[str, int]
    targets: dict[int, str]

    def original(self, path: Path) -> Path:
        """Return the path in the archive's file."""
        match path:
            case ("agents", "list", int(number), *rest) if number in self.targets:
                return self.original(("agents", "entries", self.targets[number], *rest))
            case ("agents", "entries", str(id), *rest) if id in self.listed:
                return ("agents", "list", self.listed[id], *rest)
            case ("agents", "entries", self.place.native_id, *rest) if self.place.renames:
                return ("agents", "entries", self.place.source_id, *rest)
        return path


def layout_of_config(values: JsonObject, otherwise: str) -> str:
    """Return the layout that a configuration is written in, `otherwise` when it does not show one."""
    if isinstance(openclaw_config.get_nested(values, "agents", "entries"), dict):
        return NEW
    version = (openclaw_config.get_nested_text(values, "meta", "lastTouchedVersion") or "").split(".")
    if isinstance(openclaw_config.get_nested(values, "agents", "list"), list) or version[:2] == ["2026", "2"]:
        return OLD
    return NEW if version[:2] == ["2026", "9"] else otherwise


def _in_layout(values: JsonObject, place: OpenClawMergeTarget, decided: dict[Path, Reason | None]) -> _MappedConfig:
    """Return a configuration for a target of this layout. `decided` collects what is left out."""
    across = layout_of_config(values, place.layout) != place.layout
    values = _renamed(values, place) if place.renames else values
    kept = _common(values, (), decided) if across else _without(values, _INSTALLATION_KEYS, decided)
    mapped = _MappedConfig(kept, place, _places_in_list(values), {})
    agents = {agent.id: agent.values for agent in openclaw_config.list_openclaw_agents(values) if agent.values}
    entries = {id: _entry(id, each, place, mapped, decided, across) for id, each in agents.items()}
    if place.native_id not in entries and not _lives_there(
        openclaw_config.find_openclaw_agent(values, place.native_id), values, place
    ):
        entries[place.native_id] = {"workspace": place.written_workspace}
    outer = {key: value for key, value in kept.get("agents", {}).items() if key not in ("list", "entries")}
    if openclaw_config.get_nested(outer, "defaults", "workspace") is not None:
        outer["defaults"] = {key: value for key, value in outer["defaults"].items() if key != "workspace"}
        decided["agents", "defaults", "workspace"] = _ANOTHER_FOLDER
    if entries or outer:
        kept["agents"] = outer | ({"entries": entries} if entries else {})
    return mapped


def _places_in_list(values: JsonObject) -> dict[str, int]:
    listed = openclaw_config.get_nested(values, "agents", "list")
    numbered = enumerate(listed if isinstance(listed, list) else [])
    return {str(entry["id"]): number for number, entry in numbered if isinstance(entry, dict) and "id" in entry}


def _renamed(values: JsonObject, place: OpenClawMergeTarget) -> JsonObject:
    """Return a configuration in which the archive's agent has its id of this installation."""

    def named(id: Any) -> Any:
        return place.native_id if id == place.source_id else id

    done = copy.deepcopy(values)
    agents = done.get("agents")
    entries, listed = (
        openclaw_config.get_nested(done, "agents", "entries"),
        openclaw_config.get_nested(done, "agents", "list"),
    )
    if isinstance(agents, dict) and isinstance(entries, dict):
        agents["entries"] = {named(id): entry for id, entry in entries.items()}
    for key, items in (("id", listed), ("agentId", done.get("bindings"))):
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict) and key in item:
                item[key] = named(item[key])
    return done


def _without(values: JsonObject, keys: Iterable[str], decided: dict[Path, Reason | None]) -> JsonObject:
    decided.update({(key,): _OF_INSTALLATION for key in keys if key in values})
    return {key: value for key, value in values.items() if key not in keys}


def _common(values: JsonObject, path: Path, decided: dict[Path, Reason | None]) -> JsonObject:
    """Return the settings that both layouts read alike."""
    kept: JsonObject = {}
    for key, value in values.items():
        here = (*path, key)
        if here in (("agents", "list"), ("agents", "entries")):
            continue
        if here in _ACROSS_RELEASES:
            kept[key] = value
        elif isinstance(value, dict) and any(known[: len(here)] == here for known in _ACROSS_RELEASES):
            inner = _common(value, here, decided)
            kept |= {key: inner} if inner else {}
        else:
            decided[here] = _RETIRED
    return kept


def _entry(
    id: str,
    values: JsonObject,
    place: OpenClawMergeTarget,
    mapped: _MappedConfig,
    decided: dict[Path, Reason | None],
    across: bool,
) -> JsonObject:
    """Return one agent as an entry, without folders: the target decides where it lives."""
    kept: JsonObject = {}
    for key, value in values.items():
        here = mapped.original(("agents", "entries", id, key))
        if across and key not in (*_OF_AN_AGENT, "id", "default"):
            decided[here] = _RETIRED
        elif key == "agentDir" and not _is_own_folder(value, id, place):
            decided[here] = _ANOTHER_FOLDER
        elif key not in ("id", "default"):
            kept[key] = value
    if id == place.native_id and not _is_workspace(kept.get("workspace"), place):
        kept["workspace"] = place.written_workspace
    return kept


def _is_workspace(written: Any, place: OpenClawMergeTarget) -> bool:
    return isinstance(written, str) and place.state.expand(written).resolve() == place.workspace


def _is_own_folder(written: Any, id: str, place: OpenClawMergeTarget) -> bool:
    own = place.state.folder / "agents" / id / "agent"
    return isinstance(written, str) and place.state.expand(written).resolve() == own.resolve()


def _lives_there(agent: openclaw_config.OpenClawAgent | None, values: JsonObject, place: OpenClawMergeTarget) -> bool:
    """Return whether an agent without its own entry lives in the target workspace anyway."""
    agent = agent or openclaw_config.OpenClawAgent(place.native_id, None, {}, place.native_id == openclaw_config.MAIN)
    return place.state.workspace_of(agent, values).resolve() == place.workspace


def _settling(values: JsonObject, place: OpenClawMergeTarget) -> Iterator[ValueChange]:
    """Return the changes that put this agent's present workspace into a configuration that is used as a whole."""
    agent = openclaw_config.find_openclaw_agent(values, place.native_id)
    path = _entry_path(values, place.native_id)
    if agent is None or not _lives_there(agent, values, place):
        where = (*path, "workspace") if path else ("agents", "defaults", "workspace")
        yield from join_changes(values, [ValueChange(where, place.written_workspace)])
    folder = None if agent is None else agent.values.get("agentDir")
    if folder is not None and not _is_own_folder(folder, place.native_id, place):
        yield ValueChange((*path, "agentDir"), remove=True)


def _entry_path(values: JsonObject, id: str) -> Path:
    """Return the path of an agent's entry, () when it has none."""
    if isinstance(openclaw_config.get_nested(values, "agents", "entries", id), dict):
        return ("agents", "entries", id)
    listed = openclaw_config.get_nested(values, "agents", "list")
    for number, entry in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(entry, dict) and entry.get("id") == id:
            return ("agents", "list", number)
    return ()


def _stay(values: JsonObject, there: JsonObject, place: OpenClawMergeTarget) -> None:
    """Drop the workspace of an agent that lives there by configuration already."""
    agent = openclaw_config.find_openclaw_agent(there, place.native_id) if there else None
    entry = openclaw_config.get_nested(values, "agents", "entries", place.native_id)
    if agent is not None and entry is not None and _lives_there(agent, there, place):
        entry.pop("workspace", None)
    if entry == {}:
        del values["agents"]["entries"][place.native_id]


def _own(values: JsonObject, there: JsonObject, place: OpenClawMergeTarget) -> None:
    """Name the owner of an installation of one agent that gets a second one. The first agent stays the owner, which has
    to be configured as soon as there are two."""
    before = openclaw_config.list_openclaw_agents(there)
    added = openclaw_config.get_nested(values, "agents", "entries") or {}
    if not there or place.layout == OLD or not set(added) - {agent.id for agent in before}:
        return
    if not before[0].values:
        home = replace(place, workspace=place.state.workspace_of(before[0], there).resolve())
        added.setdefault(before[0].id, {"workspace": home.written_workspace})
    values["agents"]["ownership"] = "explicit"
    defaults = values["agents"]["defaults"] = dict(values["agents"].get("defaults", {}))
    defaults["systemAgent"] = {"agentId": before[0].id}


def _list(missing: MissingValues, mapped: _MappedConfig, there: JsonObject) -> None:
    """Convert a map of agents to the list that releases of the older layout read."""
    entries: JsonObject = mapped.values.get("agents", {}).pop("entries", {})
    listed = openclaw_config.get_nested(there, "agents", "list")
    found = listed if isinstance(listed, list) else []
    mapped.targets.update({n: str(each.get("id")) for n, each in enumerate(found) if isinstance(each, dict)})
    places = {id: number for number, id in mapped.targets.items()}
    new: list[JsonObject] = []
    for id, entry in entries.items():
        if id in places:
            missing.walk(found[places[id]], entry, ("agents", "list", places[id]))
            continue
        mapped.targets[len(found) + len(new)] = id
        missing.decided[mapped.original(("agents", "entries", id))] = None
        new.append({"id": id, **entry})
    if found:
        missing.changes += [ValueChange(("agents", "list", len(found) + n), entry) for n, entry in enumerate(new)]
    elif new:
        mapped.values.setdefault("agents", {})["list"] = new
