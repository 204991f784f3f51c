"""The end of a whole agent on this machine (ALF §3.1.11, full deletion): every history, key, cache and undo folder is
destroyed. What stays is the signed redaction and its receipt. The workspace is never touched.

A machine that was off learns of it at its next contact with a second copy and does the same.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.redactions import Redaction
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_core.agents import agent as agent_files
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock, home_lock
from lifeboat_core.home.context import Context
from lifeboat_core.purge import erased, histories, orders, receipts, restore_receipts, undo_folders
from lifeboat_core.purge.erased import Erased
from lifeboat_core.purge.orders import Order
from lifeboat_core.purge.receipts import Here
from lifeboat_core.remotes import acknowledged, registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.restore import scratch
from lifeboat_core.state import last_status
from lifeboat_core.state.state_db import throw_away
from lifeboat_core.system_refusals import system_errors
from lifeboat_keys.receipts import Head, VaultReceipt, sign_with_device
from lifeboat_vault.vault import Vault


def erase(context: Context, agent: Agent, redaction: Redaction) -> None:
    """Destroy all that this machine has of an agent. Whoever calls this has verified the signature. Cut off anywhere,
    `finish` completes it. Raises Busy, SystemRefused, KeysError."""
    with system_errors(), agent_lock(context, agent.id, "purge"):
        order = Order(redaction)
        with histories.opened(context, agent.id) as opened:
            vaults = tuple(_receipt(context, each.vault, redaction) for each in opened.open)
            known_by = acknowledged.having(opened.own)
        reached(Step.ERASE_MARKED)
        erased.write(context, Erased(redaction, agent.name, agent.runtime, agent.workspace, vaults, known_by))
        orders.write(context, order)
        finish(context, order)


def finish(context: Context, order: Order) -> None:
    """All of it, or the rest of it: the agent's own description may be gone by then. The caller holds the lock."""
    agent_id = order.redaction.agent_id
    undo_folders.empty(context, _as_it_was(context, order.redaction).agent)
    restore_receipts.empty(context, agent_id)
    reached(Step.ERASE_VAULT_REMOVED)
    for folder in _folders(context, agent_id):
        shutil.rmtree(folder, ignore_errors=False)
    scratch.remove_left(context)
    for file in histories.copied_documents(context, agent_id):
        context.files.remove(file)
    context.files.sync_folder(context.home.vaults_folder)
    reached(Step.ERASE_KEYS_DESTROYED)
    context.keys().destroy_agent(agent_id)
    throw_away(context.home.state_file(agent_id))
    last_status.forget(context.home, context.files)
    with home_lock(context, "purge"), contextlib.suppress(FileNotFoundError):
        agent_files.forget(context, agent_id)
    _write_receipt(context, order.redaction)
    orders.remove(context, order)


def _receipt(context: Context, vault: Vault, redaction: Redaction) -> VaultReceipt:
    """What its vault was, while it is there. Its audit ends with it."""
    head, objects = vault.head(), {item.object for item in vault.history()}
    return VaultReceipt(
        vault_id=vault.id,
        kind=receipts.HOME,
        name=context.keys().own_name,
        agent_id=redaction.agent_id,
        redaction_id=redaction.id,
        redaction_digest=redaction.digest.hex(),
        applied=len(vault.redactions) + 1,
        leaves=0,
        objects=len(objects),
        remaining=0,
        completed_at=context.now(),
        head=None if head is None else Head(head.number, head.digest.hex()),
    )


def _as_it_was(context: Context, redaction: Redaction) -> Erased:
    """What is known of the agent; its id alone where that is damaged, which keeps nothing from being destroyed."""
    nothing = Erased(redaction, redaction.agent_id, "", Path())
    try:
        return erased.find(context, redaction.agent_id) or nothing
    except LifeboatError:
        return nothing


def _write_receipt(context: Context, redaction: Redaction) -> None:
    known, now = _as_it_was(context, redaction), context.now()
    untold = receipts.untold(registry.everyone(context), known.again, now)
    receipts.begin(context, redaction, now, here=Here(state_db=True), vaults=untold)
    for each in known.vaults:
        signed = sign_with_device(replace(each, completed_at=context.now()), context.keys().device)
        receipts.note_vault(
            context,
            redaction.id,
            each.vault_id,
            name=each.name,
            kind=each.kind,
            state=receipts.DONE,
            receipt=signed.to_json(),
        )


# Second copies that could not be told ---------------------------------------------------------------------------------


def tell_everywhere(context: Context) -> None:
    """Tell second copies of agents that were purged whole, where that did not work before. What goes wrong is in the
    receipts."""
    for each in erased.everyone(context):
        for config in registry.usable(context):
            if _is_to_be_told(context, each, config):
                _tell(context, each, config)


def _is_to_be_told(context: Context, known: Erased, config: RemoteConfig) -> bool:
    receipt = receipts.read(context, known.redaction.id)
    noted = None if receipt is None else receipt.vault(config.id)
    return config.id in known.again or (noted is not None and noted.state != receipts.DONE)


def _tell(context: Context, known: Erased, config: RemoteConfig) -> None:
    from lifeboat_core.remotes import redacting

    with contextlib.suppress(LifeboatError):  # noted by whoever sends
        redacting.send(context, known.agent, config, known.redaction)
        erased.note_told(context, known.agent.id, config.id)


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


def records_in(vault: Vault) -> int:
    """How many records its history ever held."""
    return len({item.record_id for item in vault.history() if item.record_id is not None})


def partitions_of(vault: Vault) -> tuple[str, ...]:
    """Every partition that any kept state has, by name."""
    found = {item.partition for item in vault.history() if item.partition is not None}
    return tuple(sorted(found))
