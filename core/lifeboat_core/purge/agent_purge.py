"""Purge a whole agent on this machine (ALF §3.1.11, full deletion): destroy every history, key, cache and undo folder.
The signed redaction and its receipt stay. The workspace is never touched.

A machine that was off learns of it at its next contact with a remote and does the same.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock, home_lock
from lifeboat_core.home.context import Context
from lifeboat_core.purge import (
    histories,
    purge_orders,
    purged_agent_files,
    receipt_signing,
    restore_receipts,
    undo_folders,
)
from lifeboat_core.purge.purge_orders import PurgeOrder
from lifeboat_core.purge.purged_agent_files import PurgedAgent
from lifeboat_core.purge.receipt_signing import MachinePurgeNote
from lifeboat_core.remotes import acknowledged_states, remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.restore import scratch_folders
from lifeboat_core.state import last_status
from lifeboat_core.state.state_db import delete_cache
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_keys.signed.vault_receipts import ReceiptHead, VaultReceipt, sign_with_device
from lifeboat_vault.vault import Vault


def apply_agent_purge(context: Context, agent: Agent, redaction: Redaction) -> None:
    """Destroy everything that this machine has of an agent. The caller has verified the signature. After an
    interruption `finish_agent_purge` completes it. Raises Busy, SystemRefused, KeysError."""
    with convert_system_errors(), agent_lock(context, agent.id, "purge"):
        order = PurgeOrder(redaction)
        with histories.open_histories(context, agent.id) as opened:
            vaults = tuple(_receipt(context, each.vault, redaction) for each in opened.open)
            known_by = acknowledged_states.list_remotes_with_data(opened.own)
        reach_crash_point(CrashPoint.ERASE_MARKED)
        purged_agent_files.write_purged_agent(
            context, PurgedAgent(redaction, agent.name, agent.runtime, agent.workspace, vaults, known_by)
        )
        purge_orders.write_order(context, order)
        finish_agent_purge(context, order)


def finish_agent_purge(context: Context, order: PurgeOrder) -> None:
    """Carry out an agent purge, or the rest of it; the agent's own description may be gone already. The caller holds
    the lock."""
    agent_id = order.redaction.agent_id
    undo_folders.empty_undo_folders(context, _as_it_was(context, order.redaction).agent)
    restore_receipts.blank_restore_receipts(context, agent_id)
    reach_crash_point(CrashPoint.ERASE_VAULT_REMOVED)
    for folder in _folders(context, agent_id):
        shutil.rmtree(folder, ignore_errors=False)
    scratch_folders.remove_left_scratch(context)
    for file in histories.find_copied_documents(context, agent_id):
        context.files.remove(file)
    context.files.sync_folder(context.home.vaults_folder)
    reach_crash_point(CrashPoint.ERASE_KEYS_DESTROYED)
    context.keys().destroy_agent(agent_id)
    delete_cache(context.home.state_file(agent_id))
    last_status.forget_status(context.home, context.files)
    with home_lock(context, "purge"), contextlib.suppress(FileNotFoundError):
        agent_files.delete_agent_file(context, agent_id)
    _write_receipt(context, order.redaction)
    purge_orders.remove_order(context, order)


def _receipt(context: Context, vault: Vault, redaction: Redaction) -> VaultReceipt:
    """Return the unsigned receipt of a vault, made while it exists, because its audit ends with it."""
    head, objects = vault.head(), {item.object for item in vault.history()}
    return VaultReceipt(
        vault_id=vault.id,
        kind=receipt_signing.HOME,
        name=context.keys().own_name,
        agent_id=redaction.agent_id,
        redaction_id=redaction.id,
        redaction_digest=redaction.digest.hex(),
        applied=len(vault.redactions) + 1,
        leaves=0,
        objects=len(objects),
        remaining=0,
        completed_at=context.now(),
        head=None if head is None else ReceiptHead(head.number, head.digest.hex()),
    )


def _as_it_was(context: Context, redaction: Redaction) -> PurgedAgent:
    """Return what is known of the agent; only its id if that is damaged, so that damage does not prevent the purge."""
    nothing = PurgedAgent(redaction, redaction.agent_id, "", Path())
    try:
        return purged_agent_files.find_purged_agent(context, redaction.agent_id) or nothing
    except LifeboatError:
        return nothing


def _write_receipt(context: Context, redaction: Redaction) -> None:
    known, now = _as_it_was(context, redaction), context.now()
    untold = receipt_signing.note_untold_remotes(remote_registry.list_remotes(context), known.again, now)
    receipt_signing.begin_receipt(context, redaction, now, here=MachinePurgeNote(state_db=True), vaults=untold)
    for each in known.vaults:
        signed = sign_with_device(replace(each, completed_at=context.now()), context.keys().device)
        done = receipt_signing.VaultPurgeNote(
            each.name, each.vault_id, each.kind, receipt_signing.DONE, now, receipt=signed.to_json()
        )
        receipt_signing.note_vault(context, redaction.id, done)


# Second copies that could not be told ---------------------------------------------------------------------------------


def tell_remotes_of_purged_agents(context: Context) -> None:
    """Send redactions of purged agents to remotes where that failed before. Failures are noted in the receipts."""
    for each in purged_agent_files.list_purged_agents(context):
        for config in remote_registry.list_usable_remotes(context):
            if _is_to_be_told(context, each, config):
                _tell(context, each, config)


def _is_to_be_told(context: Context, known: PurgedAgent, config: RemoteConfig) -> bool:
    receipt = receipt_signing.read_receipt(context, known.redaction.id)
    noted = None if receipt is None else receipt.vault(config.id)
    return config.id in known.again or (noted is not None and noted.state != receipt_signing.DONE)


def _tell(context: Context, known: PurgedAgent, config: RemoteConfig) -> None:
    from lifeboat_core.remotes.redactions import purge_exchange

    with contextlib.suppress(LifeboatError):  # `send` has noted the failure
        purge_exchange.send_redaction(context, known.agent, config, known.redaction)
        purged_agent_files.note_told(context, known.agent.id, config.id)


def _folders(context: Context, agent_id: str) -> Iterator[Path]:
    own = context.home.vault_folder(agent_id)
    if own.exists():
        yield own
    yield from (
        folder for folder in histories.find_other_histories(context, agent_id) if _is_of(context, folder, agent_id)
    )
    yield from histories.find_history_copies(context, agent_id)


def _is_of(context: Context, folder: Path, agent_id: str) -> bool:
    """Return whether a history belongs to the agent. One with an unknown owner stays, and `doctor` names it."""
    with Vault.open(folder, files=context.files, clock=context.clock) as vault:
        return vault.agent_id == agent_id


def count_records(vault: Vault) -> int:
    """Count the records that the history ever had."""
    return len({item.record_id for item in vault.history() if item.record_id is not None})


def list_partitions(vault: Vault) -> tuple[str, ...]:
    """Return the names of all partitions in kept states."""
    found = {item.partition for item in vault.history() if item.partition is not None}
    return tuple(sorted(found))
