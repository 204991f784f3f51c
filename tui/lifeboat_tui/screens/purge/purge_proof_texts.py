"""Texts on the result of a purge: the state of each vault, what was verified, and what remains to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from lifeboat_core.documents.purge_documents import Purged, Remote
from lifeboat_core.documents.receipt_documents import (
    DONE,
    WAITING,
    Audited,
    Finding,
    Here,
    Listed,
    Receipt,
    Shown,
    Vault,
)
from lifeboat_core.texts.human_text import count_text, join_names, path_text, time_text, when_text
from lifeboat_tui.cell_text import format_short_age
from lifeboat_tui.screens.purge.purge_command import REASONS
from lifeboat_tui.screens.purge.purge_plan_texts import NEVER, count_purged_items

Line = tuple[str, str]
"""(kind of style, sentence); the kinds done, waiting, pending and error have signs."""
_LOOKED = {
    "bodies": ("version",),
    "files": ("file",),
    "live": ("place in the workspace", "places in the workspace"),
    "read": ("remote file",),
}
"""What was searched again, singular and plural."""
_LEVELS = {"holds": "done", "open": "pending", "wrong": "error"}


def describe_purge_outcome(done: Purged, planned: Purged | None) -> Iterator[Line]:
    """Yield what was destroyed here and what remains to do here. `planned` is the plan that the preview showed."""
    if done.receipt is None:
        yield "done", f"Nothing was purged: no sequence of {done.agent.name} contains the text."
        return
    if done.is_whole:
        yield "done", f"All data of {done.agent.name} was purged from this machine."
    else:
        yield "done", f"Purged: {count_purged_items(done)}."
        if planned is not None and done.versions > planned.versions:
            more = count_text(done.versions - planned.versions, "version")
            yield (
                "",
                (
                    f"The purge destroyed {more} more than the preview showed, because the text was written "
                    "again in the meantime."
                ),
            )
    if done.workspace:
        yield "done", f"Removed from the workspace: {join_names([path_text(path) for path in done.workspace])}."
    if done.remains:
        yield (
            "pending",
            "Another program is reading the database of this agent, so its files still contain parts of the "
            "purged data. Lifeboat will remove them later.",
        )
    hits = done.searched.get("hits", 0)
    if hits:
        yield "error", f"A new search still finds the text in {count_text(hits, 'place')}. Start the purge again."


def describe_receipt(shown: Shown, told: Sequence[Remote] = ()) -> Iterator[Line]:
    """Yield the receipt: what was purged on this machine, the state of every vault, what cannot be reached, and whether
    the receipt is valid. `told` lists remotes about which the receipt may say nothing yet."""
    receipt = shown.receipt
    yield from _here(receipt.here)
    for vault in receipt.vaults:
        yield _kind(vault), f"{vault.name}: {describe_vault_state(vault)}{_signed(vault)}"
    known = {vault.name for vault in receipt.vaults} | {each.name for each in receipt.unreachable}
    for remote in told:
        if remote.name not in known:
            yield _at_remote(remote)
    for each in receipt.unreachable:
        yield "pending", f"The purge did not reach {path_text(each.name)}: {each.why} ({each.what})"
    yield from describe_verdict(
        shown.holds, shown.findings, said={each.name for each in receipt.vaults if each.state != DONE}
    )
    yield "muted", NEVER


def _here(here: Here) -> Iterator[Line]:
    if here.searched:
        hits = here.searched.get("hits", 0)
        looked = [count_text(here.searched[name], *word) for name, word in _LOOKED.items() if here.searched.get(name)]
        yield (
            "error" if hits else "done",
            f"Searched again in {join_names(looked) or 'all data'}: {count_text(hits, 'match', 'matches')} found.",
        )
    if here.searched.get("live"):
        until = f" until {when_text(here.keep_out_until)}" if here.keep_out_until else ""
        live = count_text(here.searched["live"], "place")
        yield (
            "waiting",
            f"The purged text is still in {live} of the workspace; captures leave it out{until}. Press x to remove "
            "it there.",
        )
    if here.undo_folders:
        yield (
            "done",
            f"{count_text(here.undo_folders, 'undo folder')} emptied, so earlier restores can no longer be undone.",
        )


def _at_remote(remote: Remote) -> Line:
    """Return the line of a remote that has signed nothing."""
    why = f" ({remote.message})" if remote.message else ""
    if remote.state == DONE:
        return "done", f"Remote {remote.name}: purge applied{why}"
    return "pending", f"Remote {remote.name}: not reached yet{why}; the purge is sent at the next contact"


def describe_vault_state(vault: Vault) -> str:
    """Return the state of the purge in one vault."""
    if vault.state == DONE:
        return f"purge applied, but {vault.message}" if vault.message else "done"
    if vault.state == WAITING and vault.applies_at is not None:
        why = vault.message or "the owner can refuse the purge until then"
        return f"waiting until {time_text(vault.applies_at)} ({why}); press t to purge now"
    since = f" since {time_text(vault.since)}" if vault.since else ""
    return f"pending{since}: {vault.message or 'not reached yet'}; the purge is sent at the next contact"


def _signed(vault: Vault) -> str:
    """Return the figures that the vault signed."""
    signed = vault.receipt
    if not signed:
        return ""
    head = signed.get("head")
    at = f", newest sequence {head['number']}" if isinstance(head, dict) and "number" in head else ""
    objects = count_text(int(signed.get("objects", 0)), "object")
    return f"; signed: {objects} destroyed, {signed.get('remaining', '?')} left{at}"


def _kind(vault: Vault) -> str:
    return vault.state if vault.state in (DONE, WAITING) else "pending"


def describe_verdict(holds: bool, findings: Sequence[Finding], *, said: set[str]) -> Iterator[Line]:
    """Yield whether a receipt is valid, and each open or failed check. `said` are the vaults that were listed
    already."""
    wrong = [each for each in findings if each.level == "wrong"]
    for each in wrong:
        yield "error", f"{each.subject}: {each.message}"
    for each in findings:
        if each.level == "open" and each.subject not in said:
            yield "pending", f"{each.subject}: {each.message}"
    if not holds:
        yield "error", "The receipt is not valid: a check failed."
    elif all(each.level == "holds" for each in findings):
        yield "done", "The receipt is valid: all signatures and positions in the logs of the vaults are correct."
    else:
        yield "done", "All checks that could run succeeded. Some parts of the receipt could not be checked yet."


def describe_purged_items(listed_one: Listed) -> str:
    """Return what was purged, for a row in the list of receipts."""
    if listed_one.scope == "full_agent":
        return "the whole agent"
    return count_text(listed_one.records, "memory") if listed_one.records else "text in files"


def describe_purge_state(listed_one: Listed) -> tuple[str, str]:
    """Return (state, words) for a row in the list of receipts."""
    left = [each for each in listed_one.vaults if each.state != DONE]
    if not left:
        return "done", "done"
    said = [f"{each.name} {'waiting' if each.state == WAITING else 'pending'}" for each in left]
    return ("waiting" if all(each.state == WAITING for each in left) else "pending"), ", ".join(said)


def build_receipt_heading(receipt: Receipt, agent: str | None, now: datetime) -> Iterator[Line]:
    """Yield which agent was purged, what, when and why."""
    audit = receipt.audit
    yield "", f"Purge {receipt.id}"
    yield "", f"agent {agent or audit.agent_id}, reason: {REASONS.get(audit.reason, audit.reason)}"
    yield (
        "",
        f"requested {time_text(audit.requested_at) if audit.requested_at else 'at an unknown time'}"
        + (f", {format_short_age(audit.requested_at, now)}" if audit.requested_at else ""),
    )


def describe_audit(view: Audited) -> Iterator[Line]:
    """Yield details for an auditor: the record, hashes, and positions in the chains."""
    audit = view.audit
    for name in ("purge_id", "agent_id", "scope", "reason", "requested_at", "completed_at", "requested_by"):
        yield "", f"{name:<14}{getattr(audit, name) or ''}"
    yield "", f"{'record_ids':<14}{len(audit.record_ids)}"
    for record in audit.record_ids:
        yield "muted", f"  {record}"
    for partition in audit.partitions_affected:
        yield "muted", f"  {partition}"
    yield "", f"{'redaction':<14}{view.redaction.id}"
    yield "muted", f"  {view.redaction.digest}"
    for each in view.positions:
        yield "", f"{each.name} ({each.kind}, {each.vault_id})"
        yield "muted", f"  signed by {each.signer}, {each.completed_at or '?'}"
        leaves = count_text(each.leaves, "leaf", "leaves")
        yield (
            "muted",
            (
                f"{leaves} (hashes of files or memories) named in the record, "
                f"{count_text(each.objects, 'object')} destroyed, {each.remaining} left"
            ),
        )
        for name, place in (("head", each.head), ("audit", each.audit)):
            if place:
                yield "muted", f"  {name} {place.get('number')}  {place.get('digest') or place.get('hash') or ''}"
    yield from describe_verdict(view.holds, view.findings, said=set())


def describe_receipt_findings(holds: bool, found: Sequence[Finding]) -> Iterator[Line]:
    """Yield every check of a receipt file."""
    for each in found:
        yield _LEVELS.get(each.level, "pending"), f"{each.subject}: {each.message}"
    yield ("done", "The receipt is valid.") if holds else ("error", "The receipt is not valid: a check failed.")
