"""Where purges lie in the home, below `vault/`. Light: the daemon looks here and loads nothing else of a purge.

purges/<redaction id>.json     begun, not finished (see `orders`)
receipts/<redaction id>.json   the proof (see `receipts`)
erased/<agent id>.json         agents that were purged whole (see `erased`)
"""

from __future__ import annotations

from pathlib import Path

from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import paths_in


def purges(context: Context) -> Path:
    return context.home.vaults_folder / "purges"


def erased(context: Context) -> Path:
    return context.home.vaults_folder / "erased"


def erased_ids(context: Context) -> list[str]:
    """Return the ids of the agents that were purged whole on this machine. Raises OSError."""
    return [path.stem for path in paths_in(context.files, erased(context), ".json")]
