"""Which installation an agent is restored into, and how files of an archive become its files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path as FilePath

from lifeboat_adapters.contract import Installation, Merged
from lifeboat_adapters.credentials import UnparsableSecrets
from lifeboat_adapters.merging import merge_dotenv
from lifeboat_adapters.openclaw import config, host, paths, placement
from lifeboat_adapters.openclaw.credentials import profiles
from lifeboat_adapters.openclaw.documents import config_of
from lifeboat_adapters.openclaw.restore import config_merging, merging
from lifeboat_adapters.openclaw.restore.config_merging import NEW, OLD, Place
from lifeboat_adapters.persona.documents import StateFiles
from lifeboat_adapters.secrets import dotenv, json5
from lifeboat_adapters.secrets.leaves import Leaf, Path
from lifeboat_adapters.secrets.places import places_of
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.reasons import Reason
from lifeboat_alf.state import State

_DATABASES_SINCE = (2026, 7)
"""The first release that keeps its credentials in databases."""
_VERSION = re.compile(r"(20\d\d)\.(\d{1,2})\.")
_STORE_OF = re.compile(rf"{re.escape(paths.HOME)}agents/([^/]+)/agent/")


def install_into(
    state_dir: FilePath,
    workspace: FilePath,
    state: State,
    environment: Mapping[str, str],
    user_home: FilePath,
    version: str,
) -> Installation:
    """The installation that a state folder is for an agent restored into it; the folder may not exist yet.

    Raises RuntimeConfigError when its configuration cannot be read.
    """
    folder = host.StateFolder(state_dir, state_dir / paths.CONFIG, host.home_of(environment, user_home))
    values = config.read(folder.config)
    native_id = _native_id(folder, values, workspace, state)
    found = config.agent(values, native_id)
    return Installation(
        runtime=paths.RUNTIME,
        workspace=workspace,
        native_id=native_id,
        name=(found.name if found is not None else None) or native_id,
        state_dir=state_dir,
        config=folder.config if folder.config.is_file() else None,
        layout=_layout(folder, values, state, version),
        version=config.text(values, "meta", "lastTouchedVersion"),
        program=host.program(environment),
        included=_included(state),
    )


def source_id(state: State) -> str:
    """What the agent of an archive was called by its installation."""
    files = StateFiles(state)
    values = config_of(files)
    if config.get(values, "agents", "entries") or config.get(values, "agents", "list"):
        return config.agents(values)[0].id
    stores = (_STORE_OF.match(path) for path in files.paths(f"{paths.HOME}agents/"))
    return next((match[1] for match in stores if match), config.MAIN)


def _native_id(folder: host.StateFolder, values: JsonObject, workspace: FilePath, state: State) -> str:
    """The agent that lives in the workspace; else the name it had, unless another agent here has it and lives
    elsewhere."""
    lives = {agent.id: folder.workspace_of(agent, values).resolve() for agent in config.agents(values)}
    here = next((id for id, place in lives.items() if place == workspace), None)
    if here is not None:
        return here
    wanted = source_id(state)
    named = config.agent(values, wanted)
    if named is None or not (named.values or lives[wanted].is_dir()):
        return wanted
    base = re.sub(r"[^a-z0-9-]+", "-", workspace.name.lower()).strip("-") or wanted
    candidates = (base if number == 1 else f"{base}-{number}" for number in range(1, len(lives) + 3))
    return next(id for id in candidates if id not in lives)


def _layout(folder: host.StateFolder, values: JsonObject, state: State, version: str) -> str:
    """What is there decides, then the program, then the archive."""
    has_agents = config.get(values, "agents", "entries") or config.get(values, "agents", "list")
    if (folder.folder / host.STATE_DATABASE).exists() or has_agents:
        return host.layout_of(folder.folder, values)
    number = _VERSION.search(version)
    if number is not None:
        return NEW if (int(number[1]), int(number[2])) >= _DATABASES_SINCE else OLD
    files = StateFiles(state)
    rows = next(iter(files.paths(paths.DATABASES)), None)
    otherwise = OLD if rows is None and any(map(profiles.is_file, files.paths(paths.HOME))) else NEW
    return config_merging.layout_of(config_of(files), otherwise)


def _included(state: State) -> tuple[str, ...]:
    """Files of an archive that its configuration includes."""
    names = (path.removeprefix(paths.HOME) for path in StateFiles(state).paths(paths.HOME))
    return tuple(name for name in names if not name.startswith("db/") and not _is_home_file(name))


def _is_home_file(name: str) -> bool:
    return any(fnmatchcase(name, glob) for glob in placement.HOME_FILES)


# Files ---------------------------------------------------------------------------------------------------------------


def home_name(installation: Installation, path: str) -> str | None:
    """Where a store of an archive stands in the state folder; None where it goes into a database."""
    if installation.layout == OLD and (profiles.is_file(path) or path == paths.AUTH_PROFILES):
        return f"agents/{installation.native_id}/agent/auth-profiles.json"
    return None


def merge_home(
    installation: Installation,
    path: str,
    found: bytes | None,
    wanted: bytes,
    left_out: Mapping[Path, Reason],
    state: State,
    home: FilePath,
    now: str,
) -> Merged | None:
    """A file merged by path; None for one that is taken over as it is, or stays as it is."""
    name = path.removeprefix(paths.HOME)
    if profiles.is_file(path) or path == paths.AUTH_PROFILES:
        return _profiles(path, found, wanted, left_out, now)
    if name == paths.CONFIG:
        return config_merging.merge_config(found, wanted, _place(installation, home, state), left_out)
    if found is None and not left_out:
        return None
    if name == paths.SECRETS:
        return merging.merge_json(found, wanted, left_out)
    return merge_dotenv(found or b"", wanted, left_out) if name == ".env" else None


def _place(installation: Installation, home: FilePath, state: State) -> Place:
    folder = installation.state_dir or installation.workspace
    around = host.StateFolder(folder, folder / paths.CONFIG, home)
    return Place(installation.layout, installation.native_id, installation.workspace, around, source_id(state))


def _profiles(path: str, found: bytes | None, wanted: bytes, left_out: Mapping[Path, Reason], now: str) -> Merged:
    if found is None and profiles.is_file(path) and not left_out:
        return Merged(wanted, {(): None})
    listed = profiles.profiles_in(path, wanted)
    places: list[Path] = [("profiles", each.id) if profiles.is_file(path) else (n,) for n, each in enumerate(listed)]
    reasons = {place: reason for place in places for out, reason in left_out.items() if out[: len(place)] == place}
    kept = [each for each, place in zip(listed, places, strict=True) if place not in reasons]
    merged = merging.merge_profiles(found, kept, now)
    decided = {
        place: reasons.get(place) or merged.reason(("profiles", each.id))
        for each, place in zip(listed, places, strict=True)
    }
    return Merged(merged.data, decided, merged.rewritten)


def secret_places(path: str, data: bytes, offsets: Sequence[int]) -> list[Path]:
    """The paths in a cut file at which its cuts stand; () where that cannot be told."""
    try:
        return places_of(_leaves(path, data), offsets)
    except UnparsableSecrets:
        return [()] * len(offsets)


def _leaves(path: str, data: bytes) -> Iterable[Leaf]:
    name = path.rpartition("/")[2]
    if name.endswith(".jsonl"):
        at = 0
        for number, line in enumerate(data.splitlines(keepends=True)):
            for leaf in json5.scan(line):
                yield leaf._replace(path=(number, *leaf.path), start=leaf.start + at, end=leaf.end + at)
            at += len(line)
    elif name.startswith(".env"):
        yield from dotenv.scan(data)
    elif ".json" in name:
        yield from json5.scan(data)
