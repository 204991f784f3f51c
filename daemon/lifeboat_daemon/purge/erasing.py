"""The end of a whole agent on this machine (ALF §3.1.11, full deletion): every history, key, cache and undo folder is
destroyed. What stays is the signed redaction and its receipt. The workspace is never touched.

A machine that was off learns of it at its next contact with a second copy and does the same.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from lifeboat_alf.redactions import Redaction
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_daemon import agent as agent_files
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_daemon.errors import system_errors
from lifeboat_daemon.locks import agent_lock, home_lock
from lifeboat_daemon.purge import erased, histories, orders, undo_folders
from lifeboat_daemon.purge.orders import Order
from lifeboat_daemon.state_db import throw_away
from lifeboat_endpoint.vault import Vault

__all__ = ["erase", "finish", "partitions_of"]


def erase(context: Context, agent: Agent, redaction: Redaction) -> None:
    """Destroy all that this machine has of an agent. Whoever calls this has verified the signature. Cut off anywhere,
    `finish` completes it. Raises Busy, SystemRefused, KeysError."""
    with system_errors(), agent_lock(context, agent.id, "purge"):
        order = Order(redaction)
        reached(Step.ERASE_MARKED)
        erased.write(context, agent, redaction)
        orders.write(context, order)
        undo_folders.empty(context, agent)
        finish(context, order)


def finish(context: Context, order: Order) -> None:
    """Everything but what needs the agent's own description, which is gone by then. The caller holds the lock."""
    agent_id = order.redaction.agent_id
    reached(Step.ERASE_VAULT_REMOVED)
    for folder in _folders(context, agent_id):
        shutil.rmtree(folder, ignore_errors=False)
    context.files.sync_folder(context.home.vaults_folder)
    reached(Step.ERASE_KEYS_DESTROYED)
    context.keys().destroy_agent(agent_id)
    throw_away(context.home.state_file(agent_id))
    with home_lock(context, "purge"), contextlib.suppress(FileNotFoundError):
        agent_files.forget(context, agent_id)
    orders.remove(context, order)


def _folders(context: Context, agent_id: str) -> Iterator[Path]:
    own = context.home.vault_folder(agent_id)
    if own.exists():
        yield own
    yield from (folder for folder in histories.others(context, agent_id) if _is_of(context, folder, agent_id))
    yield from histories.copies(context, agent_id)


def _is_of(context: Context, folder: Path, agent_id: str) -> bool:
    """A history whose owner nobody can tell stays, and `doctor` names it."""
    with Vault.open(folder, files=context.files, clock=context.clock) as vault:
        return vault.agent_id == agent_id


def partitions_of(vault: Vault) -> tuple[str, ...]:
    """Every partition that any kept state has, by name."""
    found = {item.partition for item in vault.history() if item.partition is not None}
    return tuple(sorted(found))
