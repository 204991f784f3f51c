"""What a crash interrupted, finished by whoever starts next: a command, or the daemon. Light while there is nothing."""

from __future__ import annotations

from lifeboat_daemon import lost_agents
from lifeboat_daemon.context import Context
from lifeboat_daemon.purge import folders
from lifeboat_keys.names import SETTLING


def rebuild_agents(context: Context) -> list[str]:
    """Write the lost files of agents again; a sentence for each."""
    return lost_agents.rebuild(context)


def finish_restores(context: Context) -> list[str]:
    """Roll interrupted restores forward; a sentence for each."""
    folder = context.home.restore_folder
    if not (folder.is_dir() and context.files.scan(folder)):  # nothing was ever restored: nothing is loaded for it
        return []
    from lifeboat_daemon.restore import recover

    return recover(context)


def finish_purges(context: Context) -> list[str]:
    """Complete purges that were cut off; a sentence for each."""
    if not folders.purges(context).is_dir():
        return []
    from lifeboat_daemon.purge import resuming

    return resuming.finish(context)


def finish_rotation(context: Context) -> list[str]:
    """Go on with a replaced key whose vaults had not settled; a sentence for each. Raises what is in its way now."""
    if not (context.home.keys_folder / SETTLING).exists():
        return []
    from lifeboat_daemon import key_rotation

    return key_rotation.finish(context)
