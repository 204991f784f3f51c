"""Use the folder profile that was captured with an agent on a machine that has none for its runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lifeboat_adapters.contract import Adapter
from lifeboat_adapters.folder import shipped_profiles
from lifeboat_alf.seams.file_operations import write_atomic
from lifeboat_alf.states.agent_state import State
from lifeboat_core.home.context import Context
from lifeboat_core.state.state_documents import load_profiles


def with_profiles(context: Context, state: State) -> Context:
    """Return a context that also knows the runtimes whose profiles are in a signed state."""
    return replace(context, carried_profiles=load_profiles(state))


def find_new_profile(context: Context, adapter: Adapter) -> Path | None:
    """Return where a restore writes the profile of a runtime, None if the runtime needs none or the user has one."""
    is_here = adapter.runtime in shipped_profiles.list_user_profiles(context.home.profiles_folder)
    if is_here or not adapter.profile_text:
        return None
    return context.home.profiles_folder / f"{adapter.runtime}{shipped_profiles.SUFFIX}"


def describe_new_profile(adapter: Adapter, path: Path) -> str:
    """Return the warning about a profile that this machine gets."""
    return (
        f"this machine had no folder profile for {adapter.runtime}, so the restore writes the "
        f"captured profile of the agent to {path}; to show the profile: lifeboat profiles show "
        f"{adapter.runtime}"
    )


def write_new_profile(context: Context, adapter: Adapter, path: Path) -> None:
    """Write the profile of a runtime into the home."""
    context.files.make_folders(path.parent, 0o700)
    write_atomic(context.files, path, adapter.profile_text.encode())
