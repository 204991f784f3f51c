"""Remove what interrupted processes left in the home."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from lifeboat_alf.common import ids
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import folders_in
from lifeboat_vault.errors import VaultError, VaultMissing

OLD_SECONDS = 3600
"""A temporary file of this age is not in use any more."""
_RESTORES = ("restore", "restore/undo", "restore/receipts", "restore/origins")
_FOLDERS = ("", "agents", "remotes", "state", "state/keys", "state/keys/agents", "keys", *_RESTORES)


def remove_temporary_files(context: Context) -> list[Path]:
    """Remove the temporary files of atomic writes that were never renamed; return them. Raises OSError."""
    folders = (context.home.folder / name for name in _FOLDERS)
    found = [Path(entry.path) for folder in folders if folder.is_dir() for entry in context.files.scan(folder)]
    gone = [path for path in found if path.name.startswith(".") and path.name.endswith(".tmp") and _is_old(path)]
    for path in gone:
        path.unlink(missing_ok=True)
    return gone


def remove_begun_vaults(context: Context) -> list[Path]:
    """Remove vaults of agents that were never registered and that are empty; return them. The caller holds the home's
    lock."""
    found = folders_in(context.files, context.home.vaults_folder)
    folders = [folder for folder in found if ids.is_uuid(folder.name)]
    gone = [folder for folder in folders if _is_nobodys(context, folder) and _is_empty(context, folder.name)]
    for folder in gone:
        shutil.rmtree(folder)
    return gone


def _is_nobodys(context: Context, folder: Path) -> bool:
    return folder.name not in agent_files.all_ids(context)


def _is_empty(context: Context, agent_id: str) -> bool:
    """Return whether a vault was never finished or never committed to. A damaged one may contain anything: it stays."""
    try:
        with context.vault(agent_id) as vault:
            return vault.head() is None
    except VaultMissing:
        return True
    except VaultError:
        return False


def _is_old(path: Path) -> bool:
    """Return the age by the time of the file system, not by the program's clock."""
    try:
        return time.time() - path.lstat().st_mtime > OLD_SECONDS
    except FileNotFoundError:
        return False
