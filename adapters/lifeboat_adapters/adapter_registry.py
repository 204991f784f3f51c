"""Find the installed adapters by the entry point group `lifeboat.adapters`, and the runtimes that a profile describes.

Each adapter is imported only when it is asked for, so that one runtime does not load the code of the others."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType

from lifeboat_adapters.contract import (
    Adapter,
    CredentialSupport,
    DatabaseSupport,
    HookSupport,
    PlacementSupport,
    ProjectSupport,
)
from lifeboat_adapters.errors import AdapterError, AdapterOutdated, NotAWorkspace, ProfileInvalid, UnknownRuntime
from lifeboat_adapters.folder import folder_profile, shipped_profiles
from lifeboat_adapters.folder.folder_adapter import FolderAdapter
from lifeboat_adapters.foreign_runtimes import refuse_foreign_runtime
from lifeboat_keys.installers import upgrade_command

GROUP = "lifeboat.adapters"
_NOTHING: Mapping[str, str] = MappingProxyType({})
_CAPABILITIES = {
    "credentials": CredentialSupport,
    "databases": DatabaseSupport,
    "hook": HookSupport,
    "placement": PlacementSupport,
    "projects": ProjectSupport,
}
_MOVED = {
    "credentials": "secrets opened learned leftovers is_store secret_places key_file recrypted translate deliveries",
    "databases": "rows unreadable_rows row_names memory_store memory_of row_of offers write_databases write_server",
    "hook": "unhook hook_problem",
    "placement": "home_around install_into is_configured running home_name merge_home next_steps missing_on_host",
}
"""Methods of the earlier contract by the group that replaced them. Lifeboat never calls them on the adapter itself."""


@cache
def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}


@cache
def _loaded(runtime: str) -> Adapter:
    point = _points()[runtime]
    try:
        found = point.load()
        problem = find_contract_problem(found)
    except (ImportError, AttributeError, TypeError) as error:  # it imports or inherits a name that no longer exists
        problem = f"the adapter cannot be loaded ({error})"
    if problem:
        package = point.dist.name if point.dist is not None else ""
        raise AdapterOutdated(
            f"the adapter for {runtime} ({package or point.value}) does not work with this version of Lifeboat: "
            f"{problem}",
            fix=upgrade_command(package) if package else None,
        )
    adapter: Adapter = found
    return adapter


def find_contract_problem(adapter: object) -> str:
    """Return why an object does not fulfil `contract.Adapter`, "" when it does.

    An adapter for the earlier contract must be refused. Lifeboat would never call its `secrets`, so it would capture
    credentials in plain text.
    """
    if not isinstance(adapter, Adapter):
        return "the object is not a lifeboat_adapters.contract.Adapter"
    for name, group in _CAPABILITIES.items():
        if not isinstance(getattr(adapter, name), group | None):
            return f"the attribute {name} of the adapter is not a lifeboat_adapters.contract.{group.__name__}"
    for name, methods in _MOVED.items():
        moved = [method for method in methods.split() if hasattr(adapter, method)]
        if moved:
            return (
                f"these methods must be in the attribute {name} of the adapter (a "
                f"contract.{_CAPABILITIES[name].__name__}), not in the adapter itself: {', '.join(moved)}"
            )
    return ""


def list_runtimes(profiles: Path | None = None) -> list[str]:
    """Return the names of the runtimes that have an adapter or a profile, sorted. `profiles` is the folder of the
    user's profiles."""
    described = {*shipped_profiles.load_shipped_profiles(), *shipped_profiles.list_user_profiles(profiles)}
    return sorted({*_points(), *described})


def load_adapters(profiles: Path | None = None) -> dict[str, Adapter]:
    """Return every adapter that can be used by the name of its runtime, sorted."""
    found: dict[str, Adapter] = {}
    for runtime in list_runtimes(profiles):
        with contextlib.suppress(AdapterOutdated, ProfileInvalid):
            found[runtime] = load_adapter(runtime, profiles)
    return found


def has_adapter(runtime: str) -> bool:
    """Return whether a package has an adapter for a runtime, whose name no profile can have."""
    return runtime in _points()


def find_refused_adapters(profiles: Path | None = None) -> dict[str, AdapterError]:
    """Return why installed adapters and the user's profiles are not used, by the name of their runtime."""
    refused: dict[str, AdapterError] = {}
    for runtime in (*_points(), *shipped_profiles.list_user_profiles(profiles)):
        try:
            load_adapter(runtime, profiles)
        except (AdapterOutdated, ProfileInvalid) as error:
            refused[runtime] = error
    for runtime, own in shipped_profiles.list_user_profiles(profiles).items():
        if has_adapter(runtime):
            taken = ProfileInvalid(
                f"Lifeboat ignores the folder profile {own}, because it already has an adapter for {runtime}",
                fix=f"rm {shlex.quote(str(own))}",
            )
            refused.setdefault(runtime, taken)
    return refused


def load_adapter(runtime: str, profiles: Path | None = None, carried: Mapping[str, str] = _NOTHING) -> Adapter:
    """Return the adapter of a runtime. A profile of the user takes the place of a shipped one, not of an adapter: its
    agents are captured on, and `find_refused_adapters` names the profile. `carried` are texts of profiles that a state
    contains, by runtime: they are used where the user has none.

    Raises UnknownRuntime, which names the known runtimes, AdapterOutdated, and ProfileInvalid.
    """
    if has_adapter(runtime):
        return _loaded(runtime)
    own = shipped_profiles.list_user_profiles(profiles).get(runtime)
    if own is not None:
        return FolderAdapter(*shipped_profiles.read_user_profile(runtime, own))
    if runtime in carried:
        text = carried[runtime]
        return FolderAdapter(folder_profile.parse_carried_profile(runtime, text), text)
    shipped = shipped_profiles.load_shipped_profiles().get(runtime)
    if shipped is None:
        raise UnknownRuntime(
            f"{runtime!r} is not a known runtime; the known runtimes are: {', '.join(list_runtimes(profiles))}"
        )
    return FolderAdapter(shipped)


def recognise_workspace(workspace: Path, profiles: Path | None = None) -> Adapter:
    """Return the adapter of the runtime that a folder most certainly belongs to.

    Raises NotAWorkspace when there is no such runtime or more than one, or when the folder belongs to a runtime without
    an adapter. Raises AdapterOutdated or ProfileInvalid when no adapter recognises the folder and one was refused.
    """
    adapters = load_adapters(profiles)
    sure = {name: one.recognises(workspace) for name, one in adapters.items() if not one.takes_any_folder}
    best = max(sure.values(), default=0)
    found = [runtime for runtime in sure if best and sure[runtime] == best]
    if len(found) == 1:
        return adapters[found[0]]
    if not found:
        refuse_foreign_runtime(workspace)
        refused = next(iter(find_refused_adapters(profiles).values()), None)
        if refused is not None:  # the folder may belong to its runtime
            raise refused
        any_folder = (name for name, one in adapters.items() if one.takes_any_folder and one.recognises(workspace))
        offered = next(any_folder, None)
        if offered is not None:
            raise NotAWorkspace.NOTES(
                f"{workspace} contains notes, but no files of a known runtime",
                fix=f"lifeboat agents add --runtime {offered} {shlex.quote(str(workspace))}",
            )
        known = ", ".join(sure)
        raise NotAWorkspace(
            f"{workspace} contains no files of a known runtime ({known}); if the folder is a workspace, name its "
            "runtime with --runtime"
        )
    raise NotAWorkspace.AMBIGUOUS(
        f"{workspace} could be a workspace of {' or '.join(found)}; name its runtime with --runtime",
        fix=f"lifeboat agents add {shlex.quote(str(workspace))} --runtime {found[0]}",
    )
