"""What one machine does with a redaction, whoever asked for the purge: its own user a moment ago, or another machine
whose order came from a second copy. Everything can be done again; `orders` says what was begun."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lifeboat_alf.redactions import Redaction
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.context import Context
from lifeboat_daemon.errors import system_errors
from lifeboat_daemon.locks import agent_lock
from lifeboat_daemon.purge import histories, keep_out, orders, receipts, restore_receipts, undo_folders, workspace
from lifeboat_daemon.purge.histories import Histories, History
from lifeboat_daemon.purge.orders import Order
from lifeboat_daemon.purge.receipts import Here, Unreachable
from lifeboat_daemon.state_db import throw_away

Search = Callable[[Histories], Mapping[str, int]]


@dataclass(slots=True)
class Applied:
    """What was done here. `objects` lost their bytes, in all histories together; `workspace` are the live files that
    were cut, None where they were left alone; `searched` is what was looked through afterwards and `hits` in it."""

    objects: int = 0
    undo_folders: int = 0
    copies: int = 0
    workspace: list[str] | None = None
    searched: dict[str, int] = field(default_factory=dict)


def apply(
    context: Context,
    agent: Agent,
    redaction: Redaction,
    *,
    workspace: bool = False,
    search: Search | None = None,
    unreachable: tuple[Unreachable, ...] = (),
) -> Applied:
    """Destroy what a redaction names on this machine: in every history, undo folders, staging, caches and, where that
    is asked for, in the live workspace. Whoever calls this has verified the signature. `search` looks once more for
    what was wanted, which only the user who asked knows.

    Raises Busy, SystemRefused, DiskFull, VaultError, KeysError. Cut off anywhere, `resuming` completes it.
    """
    with system_errors(), agent_lock(context, agent.id, "purge"):
        order = Order(redaction, workspace)
        orders.write(context, order)
        return carry_out(context, agent, order, search=search, unreachable=unreachable)


def carry_out(
    context: Context,
    agent: Agent,
    order: Order,
    *,
    search: Search | None = None,
    unreachable: tuple[Unreachable, ...] = (),
) -> Applied:
    """All of it, or the rest of it. The caller holds the agent's lock."""
    done = Applied()
    with histories.opened(context, agent.id) as opened:
        objects = {each.name: _redacted(context, each, order.redaction) for each in opened.open}
        done.objects = sum(objects.values())
        done.copies = histories.remove_copies(context, agent.id)
        reached(Step.PURGE_WORKSPACE_CUT)
        done.workspace = _cut_workspace(context, agent, opened) if order.workspace else None
        reached(Step.PURGE_UNDO_EMPTIED)
        done.undo_folders = undo_folders.empty(context, agent)
        restore_receipts.empty(context, agent.id)
        reached(Step.PURGE_STATE_DELETED)
        throw_away(context.home.state_file(agent.id))
        done.searched = dict(search(opened)) if search is not None else {}
        reached(Step.PURGE_RECEIPT_WRITTEN)
        closed = (Unreachable(name, why, "a history on this disk") for name, why in opened.closed.items())
        _write_receipt(context, order.redaction, opened, objects, done, (*unreachable, *closed))
    reached(Step.PURGE_NOTED)
    orders.remove(context, order)
    return done


def _redacted(context: Context, history: History, redaction: Redaction) -> int:
    """How many objects lost their bytes. What has to be kept out of captures is derived from them before, and kept in
    the same transaction."""
    vault, is_own = history.vault, history.name == histories.OWN
    is_fresh = redaction.id not in vault.redactions
    decisions = keep_out.derive(context, vault, redaction) if is_own and is_fresh else {}
    reached(Step.PURGE_REDACTED)
    report = vault.redact(redaction, decisions=decisions)
    reached(Step.PURGE_SWEPT)
    vault.compact()
    return report.objects


def _cut_workspace(context: Context, agent: Agent, opened: Histories) -> list[str]:
    vault = opened.own
    if vault is None:
        return []
    return workspace.cut(context, agent, vault, workspace.plan(context, agent, vault))


def _write_receipt(
    context: Context,
    redaction: Redaction,
    opened: Histories,
    objects: Mapping[str, int],
    done: Applied,
    unreachable: tuple[Unreachable, ...],
) -> None:
    cut = None if done.workspace is None else len(done.workspace)
    until = None if opened.own is None else keep_out.KeepOut.of(context, opened.own).until
    here = Here(done.undo_folders, 0, True, cut, until, done.searched)
    receipts.begin(context, redaction, context.now(), here=here, unreachable=unreachable)
    for each in opened.open:
        signed = receipts.home_receipt(
            context,
            each.vault,
            redaction,
            applied=len(each.vault.redactions),
            objects=objects[each.name],
            found=done.searched,
        )
        receipts.note_vault(
            context,
            redaction.id,
            each.vault.id,
            name=signed.name,
            kind=receipts.HOME,
            state=receipts.DONE,
            receipt=signed.to_json(),
        )
