"""Where purges lie in the home, below `vault/`. Light: the daemon looks here and loads nothing else of a purge.

purges/<redaction id>.json     begun, not finished (see `orders`)
receipts/<redaction id>.json   the proof (see `receipts`)
erased/<agent id>.json         agents that were purged whole (see `locate_purged_agents`)
"""

from __future__ import annotations

from pathlib import Path

from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import paths_in


def locate_purge_orders(context: Context) -> Path:
    return context.home.vaults_folder / "purges"


def locate_purged_agents(context: Context) -> Path:
    return context.home.vaults_folder / "erased"


def list_purged_agent_ids(context: Context) -> list[str]:
    """Return the ids of the agents that were purged whole on this machine. Raises OSError."""
    return [path.stem for path in paths_in(context.files, locate_purged_agents(context), ".json")]
