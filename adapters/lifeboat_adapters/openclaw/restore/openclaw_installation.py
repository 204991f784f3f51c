"""Determine the installation that an agent is restored into, and how files of an archive become its files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path as FilePath

from lifeboat_adapters.additive_merging import merge_dotenv
from lifeboat_adapters.contract import HomeFileMerge, Installation, MergedHomeFile
from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.openclaw import openclaw_config, openclaw_folders, openclaw_paths, openclaw_placement
from lifeboat_adapters.openclaw.credentials import openclaw_auth_profiles
from lifeboat_adapters.openclaw.openclaw_config import captured_config_of
from lifeboat_adapters.openclaw.restore import credential_file_merging, openclaw_config_merging
from lifeboat_adapters.openclaw.restore.openclaw_config_merging import NEW, OLD, OpenClawMergeTarget
from lifeboat_adapters.persona.derivation_files import StateFiles
from lifeboat_adapters.secrets import dotenv_leaves, json5_leaves
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf, Path, paths_at_offsets
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.reason_codes import Reason
from lifeboat_alf.states.agent_state import State

_DATABASES_SINCE = (2026, 7)
"""The first release that keeps its credentials in databases."""
_VERSION = re.compile(r"(20\d\d)\.(\d{1,2})\.")
_STORE_OF = re.compile(rf"{re.escape(openclaw_paths.HOME)}agents/([^/]+)/agent/")


def openclaw_install_into(
    state_dir: FilePath,
    workspace: FilePath,
    state: State,
    environment: Mapping[str, str],
    user_home: FilePath,
    version: str,
) -> Installation:
    """Return the installation in a state directory for an agent that is restored into it. The directory may not exist
    yet.

    Raises RuntimeConfigError when its configuration cannot be read.
    """
    folder = openclaw_folders.OpenClawStateFolder(
        state_dir, state_dir / openclaw_paths.CONFIG, openclaw_folders.home_of(environment, user_home)
    )
    values = openclaw_config.read_openclaw_config(folder.config)
    native_id = _native_id(folder, values, workspace, state)
    found = openclaw_config.find_openclaw_agent(values, native_id)
    return Installation(
        runtime=openclaw_paths.RUNTIME,
        workspace=workspace,
        native_id=native_id,
        name=(found.name if found is not None else None) or native_id,
        state_dir=state_dir,
        config=folder.config if folder.config.is_file() else None,
        layout=_layout(folder, values, state, version),
        version=openclaw_config.get_nested_text(values, "meta", "lastTouchedVersion"),
        program=openclaw_folders.find_openclaw_program(environment),
        included=_included(state),
    )


def source_id(state: State) -> str:
    """Return the id that the agent of an archive had in its installation."""
    files = StateFiles(state)
    values = captured_config_of(files)
    if openclaw_config.get_nested(values, "agents", "entries") or openclaw_config.get_nested(values, "agents", "list"):
        return openclaw_config.list_openclaw_agents(values)[0].id
    stores = (_STORE_OF.match(path) for path in files.paths(f"{openclaw_paths.HOME}agents/"))
    return next((match[1] for match in stores if match), openclaw_config.MAIN)


def _native_id(
    folder: openclaw_folders.OpenClawStateFolder, values: JsonObject, workspace: FilePath, state: State
) -> str:
    """Return the id of the agent that lives in the workspace. Otherwise return the former id, unless another agent here
    has it and lives elsewhere."""
    lives = {
        agent.id: folder.workspace_of(agent, values).resolve() for agent in openclaw_config.list_openclaw_agents(values)
    }
    here = next((id for id, place in lives.items() if place == workspace), None)
    if here is not None:
        return here
    wanted = source_id(state)
    named = openclaw_config.find_openclaw_agent(values, wanted)
    if named is None or not (named.values or lives[wanted].is_dir()):
        return wanted
    base = re.sub(r"[^a-z0-9-]+", "-", workspace.name.lower()).strip("-") or wanted
    candidates = (base if number == 1 else f"{base}-{number}" for number in range(1, len(lives) + 3))
    return next(id for id in candidates if id not in lives)


def _layout(folder: openclaw_folders.OpenClawStateFolder, values: JsonObject, state: State, version: str) -> str:
    """Return the layout of the existing directory, otherwise that of the program, otherwise that of the archive."""
    has_agents = openclaw_config.get_nested(values, "agents", "entries") or openclaw_config.get_nested(
        values, "agents", "list"
    )
    if (folder.folder / openclaw_folders.STATE_DATABASE).exists() or has_agents:
        return openclaw_folders.layout_of(folder.folder, values)
    number = _VERSION.search(version)
    if number is not None:
        return NEW if (int(number[1]), int(number[2])) >= _DATABASES_SINCE else OLD
    files = StateFiles(state)
    rows = next(iter(files.paths(openclaw_paths.DATABASES)), None)
    otherwise = (
        OLD
        if rows is None and any(map(openclaw_auth_profiles.is_profile_file, files.paths(openclaw_paths.HOME)))
        else NEW
    )
    return openclaw_config_merging.layout_of_config(captured_config_of(files), otherwise)


def _included(state: State) -> tuple[str, ...]:
    """Return the files of an archive that its configuration includes."""
    names = (path.removeprefix(openclaw_paths.HOME) for path in StateFiles(state).paths(openclaw_paths.HOME))
    return tuple(name for name in names if not name.startswith("db/") and not _is_home_file(name))


def _is_home_file(name: str) -> bool:
    return any(fnmatchcase(name, glob) for glob in openclaw_placement.HOME_FILES)


# Files ---------------------------------------------------------------------------------------------------------------


def openclaw_home_name(installation: Installation, path: str) -> str | None:
    """Return the path of a store of an archive in the state directory, None when it goes into a database."""
    if installation.layout == OLD and (
        openclaw_auth_profiles.is_profile_file(path) or path == openclaw_paths.AUTH_PROFILES
    ):
        return f"agents/{installation.native_id}/agent/auth-profiles.json"
    return None


def merge_openclaw_file(installation: Installation, merge: HomeFileMerge) -> MergedHomeFile | None:
    """Implement `PlacementSupport.merge_home`."""
    found, wanted, left_out = merge.found, merge.wanted, merge.left_out
    name = merge.path.removeprefix(openclaw_paths.HOME)
    if openclaw_auth_profiles.is_profile_file(merge.path) or merge.path == openclaw_paths.AUTH_PROFILES:
        return _profiles(merge.path, found, wanted, left_out, merge.now)
    if name == openclaw_paths.CONFIG:
        place = _place(installation, merge.user_home, merge.state)
        return openclaw_config_merging.merge_openclaw_config(found, wanted, place, left_out)
    if found is None and not left_out:
        return None
    if name == openclaw_paths.SECRETS:
        return credential_file_merging.merge_json(found, wanted, left_out)
    return merge_dotenv(found or b"", wanted, left_out) if name == ".env" else None


def _place(installation: Installation, home: FilePath, state: State) -> OpenClawMergeTarget:
    folder = installation.state_dir or installation.workspace
    around = openclaw_folders.OpenClawStateFolder(folder, folder / openclaw_paths.CONFIG, home)
    return OpenClawMergeTarget(
        installation.layout, installation.native_id, installation.workspace, around, source_id(state)
    )


def _profiles(
    path: str, found: bytes | None, wanted: bytes, left_out: Mapping[Path, Reason], now: str
) -> MergedHomeFile:
    if found is None and openclaw_auth_profiles.is_profile_file(path) and not left_out:
        return MergedHomeFile(wanted, {(): None})
    listed = openclaw_auth_profiles.profiles_in(path, wanted)
    places: list[Path] = [
        ("profiles", each.id) if openclaw_auth_profiles.is_profile_file(path) else (n,) for n, each in enumerate(listed)
    ]
    reasons = {place: reason for place in places for out, reason in left_out.items() if out[: len(place)] == place}
    kept = [each for each, place in zip(listed, places, strict=True) if place not in reasons]
    merged = credential_file_merging.merge_openclaw_profiles(found, kept, now)
    decided = {
        place: reasons.get(place) or merged.reason(("profiles", each.id))
        for each, place in zip(listed, places, strict=True)
    }
    return MergedHomeFile(merged.data, decided, merged.rewritten)


def openclaw_secret_places(path: str, data: bytes, offsets: Sequence[int]) -> list[Path]:
    """Return the paths in a cut file at which its cuts stand, () where that is unknown."""
    try:
        return paths_at_offsets(_leaves(path, data), offsets)
    except UnparsableSecrets:
        return [()] * len(offsets)


def _leaves(path: str, data: bytes) -> Iterable[ParsedLeaf]:
    name = path.rpartition("/")[2]
    if name.endswith(".jsonl"):
        at = 0
        for number, line in enumerate(data.splitlines(keepends=True)):
            for leaf in json5_leaves.scan_json5(line):
                yield leaf._replace(path=(number, *leaf.path), start=leaf.start + at, end=leaf.end + at)
            at += len(line)
    elif name.startswith(".env"):
        yield from dotenv_leaves.scan_dotenv(data)
    elif ".json" in name:
        yield from json5_leaves.scan_json5(data)
