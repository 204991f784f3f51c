"""Open every history of an agent in this home: its vault, histories that another machine displaced, and those kept of
removed agents."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from lifeboat_alf.purging.purge_items import PurgeItem
from lifeboat_alf.redaction.redactions import NONE, Redactions
from lifeboat_core.agents.manage_agents import REMOVED
from lifeboat_core.home.context import Context
from lifeboat_core.home.folder_names import folders_in, is_there
from lifeboat_core.remotes import displaced_histories
from lifeboat_vault.errors import VaultError
from lifeboat_vault.vault import Vault
from lifeboat_vault.vault.open_vault import FILE

OWN = "vault"


@dataclass(frozen=True, slots=True)
class History:
    """An open history. `name` is "vault" for the agent's own, else the name of its folder."""

    name: str
    vault: Vault


@dataclass(slots=True)
class Histories:
    """All histories of an agent. `closed` has the reason for those that could not be opened, by name."""

    open: list[History] = field(default_factory=list)
    closed: dict[str, str] = field(default_factory=dict)

    @property
    def own(self) -> Vault | None:
        """Return the agent's own vault; None when it is gone."""
        return next((each.vault for each in self.open if each.name == OWN), None)

    @property
    def redactions(self) -> Redactions:
        """Return the redactions that any of the histories knows."""
        known = NONE
        for history in self.open:
            known = known.joined(history.vault.redactions)
        return known

    def items(self) -> Iterator[PurgeItem]:
        """Yield everything that the histories ever had."""
        return (item for history in self.open for item in iter_vault_items(history.vault))


@contextmanager
def open_histories(context: Context, agent_id: str) -> Iterator[Histories]:
    """Open the histories, the agent's own first. Raises VaultError when that does not open; others are listed in
    `closed`."""
    with ExitStack() as stack:
        found = Histories()
        if is_there(context.files, context.home.vault_folder(agent_id) / FILE):
            found.open.append(History(OWN, stack.enter_context(context.vault(agent_id))))
        for folder in find_other_histories(context, agent_id):
            try:
                vault = stack.enter_context(Vault.open(folder, files=context.files, clock=context.clock))
            except VaultError as error:
                found.closed[folder.name] = error.message
                continue
            if vault.agent_id == agent_id:
                found.open.append(History(folder.name, vault))
        yield found


def find_other_histories(context: Context, agent_id: str) -> list[Path]:
    """Return the folders that may hold another history of the agent. Raises OSError."""
    beginnings = (REMOVED, f"{displaced_histories.PREFIX}{agent_id}-")
    found = folders_in(context.files, context.home.vaults_folder)
    return [folder for folder in found if folder.name.startswith(beginnings) and is_there(context.files, folder / FILE)]


def find_history_copies(context: Context, agent_id: str) -> list[Path]:
    """Return the copies of the agent's histories in `backups/`, from before a layout migration. Raises OSError."""
    backups = folders_in(context.files, context.home.backups_folder)
    found = [folder for backup in backups for folder in folders_in(context.files, backup / "vault")]
    whole = [folder for folder in found if is_there(context.files, folder / FILE)]
    return [folder for folder in whole if agent_id in folder.name or _owner_of(folder) == agent_id]


def _owner_of(folder: Path) -> str | None:
    """Return the agent of a copy from its database, because the folder of a removed agent can have any name."""
    try:
        with contextlib.closing(sqlite3.connect(f"{(folder / FILE).as_uri()}?immutable=1", uri=True)) as opened:
            row = opened.execute("select agent_id from vault").fetchone()
    except sqlite3.Error:
        return None
    return None if row is None else str(row[0])


def find_copied_documents(context: Context, agent_id: str) -> list[Path]:
    """Return the other files about the agent in backups: its keys and its description."""
    backups = folders_in(context.files, context.home.backups_folder)
    named = (f"keys/agents/{agent_id}.json", f"agents/{agent_id}.toml")
    return [backup / name for name in named for backup in backups if is_there(context.files, backup / name)]


def remove_history_copies(context: Context, agent_id: str) -> int:
    """Remove the copies of histories; return their number. Raises OSError."""
    found = find_history_copies(context, agent_id)
    for folder in found:
        shutil.rmtree(folder)
    return len(found)


def iter_vault_items(vault: Vault) -> Iterator[PurgeItem]:
    """Yield everything that a vault ever had, each stay of an object once."""
    for found in vault.history():
        body = partial(vault.read_object, found.object)
        yield PurgeItem(found.leaf, body, found.path, found.meta, found.record_id, found.partition)
