"""Finish what a crash interrupted, when the next command or the daemon starts. Light while there is nothing."""

from __future__ import annotations

import contextlib

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents import lost_agents
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import is_there, names_in
from lifeboat_core.purge import purge_folders
from lifeboat_core.remotes import remote_registry
from lifeboat_keys.home.key_file_names import DEVICE_KEY, FINGERPRINT_KEY, SETTLING, USER_PUBLIC


def rebuild_lost(context: Context) -> list[str]:
    """Write the lost files of agents again, return a sentence for each, and keep copies of files that could be lost."""
    with contextlib.suppress(OSError, LifeboatError):  # on a full disk there is no copy, and nothing depends on it
        remote_registry.copy_remote_files(context)
        _make_machine_keys(context)
    return lost_agents.rebuild_lost_agents(context)


def _make_machine_keys(context: Context) -> None:
    """Make lost keys of this machine again: a restore needs them as a capture does. Raises KeysError while the user's
    key is away, which `status` reports."""
    folder = context.home.keys_folder
    if is_there(context.files, folder / USER_PUBLIC) and not all(
        is_there(context.files, folder / name) for name in (DEVICE_KEY, FINGERPRINT_KEY)
    ):
        context.keys().ensure()


def finish_restores(context: Context) -> list[str]:
    """Roll interrupted restores forward; return a sentence for each."""
    if not names_in(
        context.files, context.home.restore_folder
    ):  # nothing was ever restored: do not import the code for it
        return []
    from lifeboat_core.restore import recover_restores

    return recover_restores(context)


def finish_purges(context: Context) -> list[str]:
    """Complete interrupted purges; return a sentence for each."""
    if not names_in(context.files, purge_folders.locate_purge_orders(context)):
        return []
    from lifeboat_core.purge import purge_recovery

    return purge_recovery.complete_purges(context)


def finish_rotation(context: Context) -> list[str]:
    """Continue a key rotation whose vaults had not settled; return a sentence for each. Raises what prevents it now."""
    keys = context.home.keys_folder, context.home.spare_keys_folder
    if not any(is_there(context.files, folder / SETTLING) for folder in keys):
        return []
    from lifeboat_core.home import user_key_rotation

    return user_key_rotation.finish_rotation(context)
