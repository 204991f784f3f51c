"""Apply a redaction on one machine: one that its user just requested, or one that another machine sent through a
remote. Everything can be repeated; `purge_orders` records what was begun."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from lifeboat_alf.errors import RedactionInvalid
from lifeboat_alf.redaction import joined_redactions
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import Tell, count_units, tell_nobody
from lifeboat_core.purge import (
    histories,
    keep_out,
    purge_orders,
    receipt_signing,
    restore_receipts,
    undo_folders,
    workspace_purge,
)
from lifeboat_core.purge.histories import Histories, History
from lifeboat_core.purge.keep_out import KeepOut
from lifeboat_core.purge.purge_orders import PurgeOrder
from lifeboat_core.purge.receipt_signing import MachinePurgeNote, UnreachableCopy
from lifeboat_core.remotes import acknowledged_states, remote_registry
from lifeboat_core.restore import scratch_folders
from lifeboat_core.state.state_db import delete_cache
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_keys.signed import redaction_signatures
from lifeboat_keys.signed.purge_receipt import VaultPurgeNote

Search = Callable[[Histories], Mapping[str, int]]


@dataclass(slots=True)
class AppliedRedaction:
    """The result on this machine. `objects` is the number of objects that lost their bytes in all histories. `remains`
    names histories whose files may still have something, because other programs read them or there is no room: it is
    tried again. `workspace` are the live files that were changed, None if they were left alone. `searched` counts what
    was searched afterwards, and the `hits` in it."""

    objects: int = 0
    undo_folders: int = 0
    copies: int = 0
    workspace: list[str] | None = None
    searched: dict[str, int] = field(default_factory=dict)
    remains: list[str] = field(default_factory=list)


def apply_redaction(
    context: Context,
    agent: Agent,
    redaction: Redaction,
    *,
    workspace: bool = False,
    keep_print: bool = False,
    search: Search | None = None,
    unreachable: tuple[UnreachableCopy, ...] = (),
    tell: Tell = tell_nobody,
) -> AppliedRedaction:
    """Destroy what a redaction names on this machine: in every history, undo folders, staging, caches and, with
    `workspace`, in the live workspace. The caller has verified the signature. `search` searches once more for the
    requested text, which only the requesting user knows.

    Raises Busy, SystemRefused, DiskFull, VaultError, KeysError; RedactionInvalid for a redaction that cannot be
    applied, whose order is then removed. After an interruption `purge_recovery` completes it.
    """
    with convert_system_errors(), agent_lock(context, agent.id, "purge"):
        order = PurgeOrder(redaction, workspace, keep_print=keep_print)
        purge_orders.write_order(context, order)
        try:
            return carry_out_order(context, agent, order, search=search, unreachable=unreachable, tell=tell)
        except RedactionInvalid:
            purge_orders.remove_order(context, order)
            raise


def carry_out_order(
    context: Context,
    agent: Agent,
    order: PurgeOrder,
    *,
    search: Search | None = None,
    unreachable: tuple[UnreachableCopy, ...] = (),
    tell: Tell = tell_nobody,
) -> AppliedRedaction:
    """Carry out an order, or the rest of it. If it contradicts a redaction known here, first apply one that joins both.
    The caller holds the agent's lock."""
    joint = _joint(context, agent, order.redaction)
    if joint is not None:
        purge_orders.write_order(context, joint)
        carry_out_order(context, agent, joint)
    done = AppliedRedaction()
    with histories.open_histories(context, agent.id) as opened:
        # The filter is planned while the bytes are still here. It has digests of everything that is removed.
        own, planned = opened.own, None
        if order.workspace and own is not None:
            planned = KeepOut.planned(context, own, order.redaction)
        objects = _redacted_in_all(context, opened, order, tell)
        done.objects = sum(objects.values())
        reach_crash_point(CrashPoint.PURGE_SWEPT)
        tell("Emptying undo folders and caches", 0, None)
        done.remains = [each.name for each in opened.open if not each.vault.settle()]
        done.copies = histories.remove_history_copies(context, agent.id)
        scratch_folders.remove_left_scratch(context)
        reach_crash_point(CrashPoint.PURGE_WORKSPACE_CUT)
        done.workspace = _cut_workspace(context, agent, opened, planned) if order.workspace else None
        reach_crash_point(CrashPoint.PURGE_UNDO_EMPTIED)
        done.undo_folders = undo_folders.empty_undo_folders(context, agent)
        restore_receipts.blank_restore_receipts(context, agent.id)
        reach_crash_point(CrashPoint.PURGE_STATE_DELETED)
        delete_cache(context.home.state_file(agent.id))
        tell("Searching for the purged data again", 0, None)
        done.searched = dict(search(opened)) if search is not None else {}
        reach_crash_point(CrashPoint.PURGE_RECEIPT_WRITTEN)
        closed = (UnreachableCopy(name, why, "a history on this disk") for name, why in opened.closed.items())
        _write_receipt(context, order, opened, objects, done, (*unreachable, *closed))
    reach_crash_point(CrashPoint.PURGE_NOTED)
    if not done.remains:
        purge_orders.remove_order(context, order)
    return done


def _joint(context: Context, agent: Agent, redaction: Redaction) -> PurgeOrder | None:
    """Return the order to carry out first if a redaction contradicts a known one: it says what both together leave (see
    `joined_redactions`), so that nothing is lost that no purge named. Return None when there is nothing to join."""
    with histories.open_histories(context, agent.id) as opened:
        known = opened.redactions
        made = joined_redactions.join_redactions(known, redaction, opened.items, context.now())
        if made is None:
            return None
        joint = redaction_signatures.sign_redaction(made, context.keys().device)
        named = ", ".join(each.id for each in joined_redactions.find_joined(known, redaction, joint))
        return PurgeOrder(
            joint,
            note=f"the purges {named} affect the same bytes, so Lifeboat carried them out together, as this purge",
        )


def _redacted_in_all(context: Context, opened: Histories, order: PurgeOrder, tell: Tell) -> dict[str, int]:
    """Redact all histories; return how many objects lost their bytes, by history."""
    redacted = count_units(tell, "Destroying the purged data in the histories", len(opened.open))
    objects = {}
    for each in opened.open:
        objects[each.name] = _redacted(context, each, order)
        redacted()
    return objects


def _redacted(context: Context, history: History, order: PurgeOrder) -> int:
    """Redact one history; return how many objects lost their bytes. The keep-out filter is derived from them before,
    and stored in the same transaction."""
    vault, redaction, is_own = history.vault, order.redaction, history.name == histories.OWN
    is_fresh = redaction.id not in vault.redactions
    derived = is_own and is_fresh
    decisions = keep_out.derive_keep_out(context, vault, redaction, keeps_weak=order.keep_print) if derived else {}
    reach_crash_point(CrashPoint.PURGE_REDACTED)
    return vault.redact(redaction, decisions=decisions).objects


def _cut_workspace(context: Context, agent: Agent, opened: Histories, planned: KeepOut | None) -> list[str]:
    vault = opened.own
    if vault is None:
        return []
    cuts = workspace_purge.plan_workspace_purge(context, agent, vault, planned)
    return workspace_purge.purge_workspace(context, agent, vault, cuts, planned)


def _write_receipt(
    context: Context,
    order: PurgeOrder,
    opened: Histories,
    objects: Mapping[str, int],
    done: AppliedRedaction,
    unreachable: tuple[UnreachableCopy, ...],
) -> None:
    """Write the receipt. Remotes are listed in it from the beginning, so that an interruption before they are told is
    recorded."""
    cut = None if done.workspace is None else len(done.workspace)
    until = None if opened.own is None else keep_out.KeepOut.of(context, opened.own).until
    here = MachinePurgeNote(done.undo_folders, 0, True, cut, until, done.searched)
    now = context.now()
    untold = receipt_signing.note_untold_remotes(
        remote_registry.list_remotes(context), acknowledged_states.list_remotes_with_data(opened.own), now
    )
    receipt_signing.begin_receipt(context, order.redaction, now, here=here, vaults=untold, unreachable=unreachable)
    for each in opened.open:
        _note(context, order, each, objects[each.name], done)


def _note(context: Context, order: PurgeOrder, history: History, objects: int, done: AppliedRedaction) -> None:
    """Note a history in the receipt; its vault signs when nothing is left to do in it."""
    redaction, vault, name = order.redaction, history.vault, context.keys().own_name
    note = VaultPurgeNote(name, vault.id, receipt_signing.HOME, receipt_signing.PENDING, context.now())
    if history.name in done.remains:
        message = "another program is reading the vault, or the disk is full; Lifeboat tries again later"
        receipt_signing.note_vault(context, redaction.id, replace(note, message=message))
        return
    applied = len(vault.redactions)
    signed = receipt_signing.make_home_receipt(
        context, vault, redaction, applied=applied, objects=objects, found=done.searched
    )
    signed_note = replace(note, state=receipt_signing.DONE, message=order.note, receipt=signed.to_json())
    receipt_signing.note_vault(context, redaction.id, signed_note)
