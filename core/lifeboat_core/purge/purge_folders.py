"""The folders of purges in the home, below `vault/`. The daemon checks them, so this module imports nothing else of a
purge.

purges/<redaction id>.json     orders that are not finished (see `purge_orders`)
receipts/<redaction id>.json   proofs (see `receipt_store`)
erased/<agent id>.json         agents that were purged completely (see `purged_agent_files`)
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
    """Return the ids of agents that were purged completely on this machine. Raises OSError."""
    return [path.stem for path in paths_in(context.files, locate_purged_agents(context), ".json")]
