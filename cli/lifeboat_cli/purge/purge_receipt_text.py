"""Describe receipts of purges for people and for auditors. Receipts contain no content."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import WHOLE_AGENT
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_cli.terminal.text_table import TableFit
from lifeboat_core.agents import agent as agents
from lifeboat_core.home.context import Context
from lifeboat_core.purge import purged_agent_files
from lifeboat_core.purge.receipt_findings import ReceiptFinding, ReceiptLevel
from lifeboat_core.texts.human_text import count_text, join_names, time_text, when_text
from lifeboat_keys.signed.purge_receipt import DONE, WAITING, MachinePurgeNote, PurgeReceipt, VaultPurgeNote

_MOST_PLACES = 3
_ENOUGH = 13
"""Characters of an id that distinguish receipts by the millisecond. They fit on a narrow terminal for copying."""
_LOOKED = {
    "bodies": ("version",),
    "files": ("file",),
    "live": ("place in the workspace", "places in the workspace"),
    "read": ("remote file",),
}
"""What was searched again, singular and plural."""
_REASONS = {
    "gdpr_article_17": "the right to erasure (GDPR, article 17)",
    "ccpa_deletion": "a deletion under the CCPA",
    "user_request": "the user's request",
    "security_incident": "a security incident",
}


def collect_agent_names(context: Context) -> dict[str, str]:
    """Return the names of agents by id, including those that were purged entirely."""
    gone = {one.agent.id: one.name for one in purged_agent_files.list_purged_agents(context)}
    return gone | {one.id: one.name for one in agents.list_agents(context)}


# The list of receipts -------------------------------------------------------------------------------------------------


def summarize_receipt(receipt: PurgeReceipt, known: Mapping[str, str]) -> JsonObject:
    """Return one receipt of `receipts list --json`."""
    audit = receipt.audit
    return {
        "id": receipt.id,
        "agent_id": receipt.agent_id,
        "agent": known.get(receipt.agent_id),
        "scope": audit["scope"],
        "records": len(audit.get("record_ids", [])),
        "reason": audit["reason"],
        "requested_at": audit["requested_at"],
        "completed_at": audit["completed_at"],
        "done": receipt.is_done,
        "vaults": [encode_vault_note(each) for each in receipt.vaults],
    }


def make_receipt_row(receipt: PurgeReceipt, known: Mapping[str, str]) -> tuple[str, ...]:
    return (
        receipt.id[:_ENOUGH],
        known.get(receipt.agent_id, receipt.agent_id),
        time_text(receipt.audit["requested_at"]),
        _what(receipt.audit),
        _stands(receipt),
    )


def encode_vault_note(note: VaultPurgeNote) -> JsonObject:
    """Return the state of a purge in one vault, without the vault's signature."""
    return {name: value for name, value in asdict(note).items() if name != "receipt"}


def describe_vault_note(note: VaultPurgeNote) -> str:
    """Return `done`, `waits until ...: why` or `pending since ...: why`."""
    if note.state == DONE:
        return f"done, but {note.message}" if note.message else "done"
    if note.state == WAITING and note.applies_at is not None:
        why = note.message or "until then the owner of the remote can refuse the purge"
        return f"will be applied at {time_text(note.applies_at)}: {why}"
    return f"not applied yet, requested {time_text(note.since)}: {note.message or 'the remote was not reached'}"


def _what(audit: Mapping[str, Any]) -> str:
    if audit["scope"] == WHOLE_AGENT:
        return "the whole agent"
    count = len(audit["record_ids"])
    return count_text(count, "memory") if count else "text in files"


def _stands(receipt: PurgeReceipt) -> str:
    left = [each for each in receipt.vaults if each.state != DONE]
    if not left:
        return "done"
    said = [f"{'waiting' if each.state == WAITING else 'pending'} on {each.name}" for each in left[:_MOST_PLACES]]
    more = [f"{len(left) - _MOST_PLACES} more"] if len(left) > _MOST_PLACES else []
    return join_names([*said, *more])


# A single receipt -----------------------------------------------------------------------------------------------------


def print_receipt(
    output: CommandOutput, receipt: PurgeReceipt, known: Mapping[str, str], found: Sequence[ReceiptFinding]
) -> None:
    """Print for people what was purged where, what is left to do, and what cannot be reached."""
    audit = receipt.audit
    output.line(f"Purge {receipt.id} of {known.get(receipt.agent_id, receipt.agent_id)}", style="bold")
    output.line(
        f"Purged: {_what(audit)}. Reason: {_REASONS[audit['reason']]}. Requested: {time_text(audit['requested_at'])}."
    )
    for line in _here_lines(receipt.here):
        output.line(line)
    if receipt.vaults:
        rows = ((each.name, each.kind, describe_vault_note(each)) for each in receipt.vaults)
        output.table(("copy", "kind", "state"), rows, TableFit(wrap="state"))
    for each in receipt.unreachable:
        output.line(f"Not reached: {each.name} ({each.what}): {each.why}")
    _say_verdict(output, found, said={each.name for each in receipt.vaults if each.state != DONE})


def print_receipt_findings(output: CommandOutput, found: Sequence[ReceiptFinding]) -> None:
    """Print everything that was checked, and the verdict."""
    rows = ((each.subject, str(each.level), each.message) for each in found)
    output.table(("checked", "", "found"), rows, TableFit(shorten=("checked",), wrap="found"))
    _say_verdict(output, found, said={each.subject for each in found})


def _here_lines(here: MachinePurgeNote) -> Iterator[str]:
    emptied = [
        count_text(count, word)
        for count, word in ((here.undo_folders, "undo folder"), (here.staging, "interrupted restore"))
        if count
    ]
    if emptied:
        yield f"Emptied on this machine: {join_names(emptied)}."
    if here.state_db:
        yield "The caches on this machine were deleted."
    if here.workspace is not None:
        yield f"The text was removed from {count_text(here.workspace, 'file')} in the workspace."
    elif here.keep_out_until is not None:
        yield "The files in the workspace were not changed."
    if here.keep_out_until is not None:
        yield (
            f"Captures leave out purged text that is still in the workspace, until {when_text(here.keep_out_until)}."
        )
    looked = [
        count_text(count, *_LOOKED.get(what, (what.removesuffix("s"),)))
        for what, count in here.searched.items()
        if count and what != "hits"
    ]
    if looked:
        yield (
            f"A second search of {join_names(looked)} found "
            f"{count_text(here.searched.get('hits', 0), 'match', 'matches')}."
        )


def _say_verdict(output: CommandOutput, found: Sequence[ReceiptFinding], *, said: Collection[str]) -> None:
    """Print the verdict without repeating the lines above (`said`)."""
    wrong = [each for each in found if each.level is ReceiptLevel.WRONG]
    left = wrong or [each for each in found if each.level is ReceiptLevel.OPEN]
    verdict = "The receipt is not valid" if wrong else "The receipt is valid, but some parts could not be checked"
    shown = [f"{each.subject}: {each.message}" for each in left if wrong or each.subject not in said]
    output.line(f"{(verdict if left else 'The receipt is valid')}{(':' if shown else '.')}", style="bold")
    for line in shown:
        output.line(line)


# For auditors ---------------------------------------------------------------------------------------------------------


def make_audit_view(receipt: PurgeReceipt) -> JsonObject:
    """Return the record of ALF §3.1.11, the redaction's digest, and its position in the chain of each vault."""
    return {
        "audit": receipt.audit,
        "redaction": {"id": receipt.id, "digest": receipt.digest},
        "positions": [_position(each) for each in receipt.vaults if each.receipt is not None],
    }


def _position(note: VaultPurgeNote) -> JsonObject:
    signed = note.receipt or {}
    fields = ("vault_id", "kind", "applied", "leaves", "objects", "remaining", "head", "audit", "completed_at", "found")
    return {"name": note.name, **{name: signed.get(name) for name in (*fields, "signer")}}


def print_audit(output: CommandOutput, receipt: PurgeReceipt, found: Sequence[ReceiptFinding]) -> None:
    view = make_audit_view(receipt)
    output.line("Audit record (Agent Life Format, section 3.1.11):", style="bold")
    output.block(json_codec.encode_pretty(view["audit"]).decode())
    output.line("Redaction:", style="bold")
    output.verbatim(f"  digest {receipt.digest}")
    for each in view["positions"]:
        output.line(f"{each['name']} ({each['kind']}, {each['vault_id']}):", style="bold")
        for line in _position_lines(each):
            output.verbatim(f"  {line}")
    print_receipt_findings(output, found)


def _position_lines(position: JsonObject) -> Iterator[str]:
    yield (
        f"objects destroyed: {position['objects']}, objects remaining: {position['remaining']}, completed at "
        f"{position['completed_at']}"
    )
    if position["audit"]:
        yield f"row {position['audit']['number']} of the audit log, hash {position['audit']['hash']}"
    if position["head"]:
        yield f"newest sequence {position['head']['number']}, digest {position['head']['digest']}"
    yield (
        f"signed by {position['signer']}, which has applied {count_text(position['applied'], 'purge')} of this agent"
    )
