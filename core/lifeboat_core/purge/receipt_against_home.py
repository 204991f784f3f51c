"""Check the receipt of a purge against this home: the receipt kept here, the vault's audit chain and its list of
redactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lifeboat_alf.errors import LifeboatError, SignatureError
from lifeboat_alf.redaction.redactions import WHOLE_AGENT
from lifeboat_core.purge import receipt_store
from lifeboat_core.purge.receipt_findings import ReceiptFinding, report_open, report_valid, report_wrong
from lifeboat_keys.errors import ReceiptInvalid
from lifeboat_keys.signed import redaction_signatures
from lifeboat_keys.signed.purge_receipt import DONE, PurgeReceipt

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context
    from lifeboat_keys.pairs.trusted_keys import TrustedKeys
    from lifeboat_vault.vault import AuditRow, Vault

PURGE = "purge"
"""The kind of the audit row of a redaction; its subject is the redaction's id."""
_KEPT, _AUDIT, _LIST = "receipt in this home", "audit log of the vault on this machine", "vault on this machine"


def check_against_home(
    context: Context, receipt: PurgeReceipt, trusted: TrustedKeys | None
) -> Iterator[ReceiptFinding]:
    """Yield what this home knows of the purge. Raises nothing for what is found."""
    yield from _kept(context, receipt)
    from lifeboat_vault.errors import VaultMissing

    try:
        with context.vault(receipt.agent_id) as vault:
            yield from _vault(vault, receipt, trusted)
    except VaultMissing:
        if receipt.audit["scope"] == WHOLE_AGENT:
            yield report_valid(_LIST, "this machine no longer has a vault of this agent")
        else:
            yield report_open(_LIST, "this machine has no vault of this agent, so the audit log could not be checked")
    except LifeboatError as error:
        yield report_wrong(_LIST, error.message)


def _kept(context: Context, receipt: PurgeReceipt) -> Iterator[ReceiptFinding]:
    """Compare with the kept receipt. An earlier version is valid; a different one of the same time is not."""
    try:
        kept = receipt_store.read_receipt(context, receipt.id)
    except ReceiptInvalid as error:
        yield report_open(_KEPT, error.message)
        return
    if kept is None or kept == receipt:
        return
    if kept.digest != receipt.digest:
        yield report_wrong(_KEPT, "belongs to a different purge with the same id")
    elif kept.signature is not None and _device(kept) != _device(receipt):
        return  # a receipt of the same purge by another machine of the user
    elif kept.audit != receipt.audit or kept.changed_at == receipt.changed_at:
        yield report_wrong(_KEPT, "differs")
    elif kept.changed_at > receipt.changed_at:
        yield report_open(
            _KEPT,
            f"is newer than this file (changed at {kept.changed_at}). To export the newer receipt: "
            f"lifeboat receipts export {receipt.id}",
        )


def _device(receipt: PurgeReceipt) -> object:
    return (receipt.signature or {}).get("device")


# The vault ------------------------------------------------------------------------------------------------------------


def _vault(vault: Vault, receipt: PurgeReceipt, trusted: TrustedKeys | None) -> Iterator[ReceiptFinding]:
    if receipt.audit["scope"] == WHOLE_AGENT:
        yield report_wrong(_LIST, "the agent was purged completely, but its vault still exists on this machine")
        return
    broken = vault.check_audit()
    if broken:
        yield report_wrong(
            _AUDIT,
            f"row {broken[0]} of the audit log does not follow from the row before it: a row was changed or removed",
        )
    yield from _row(vault, receipt)
    yield from _redaction(vault, receipt, trusted)


def _row(vault: Vault, receipt: PurgeReceipt) -> Iterator[ReceiptFinding]:
    """Check the audit row, which has exactly the record of ALF §3.1.11. The vault of another machine has its own row of
    the same purge, completed at another time."""
    note = receipt.vault(vault.id)
    row = find_audit_row(vault, receipt.id)
    if note is None or note.state != DONE or note.receipt is None:
        if row is not None and _record(row.details) != _record(receipt.audit):
            yield report_wrong(_AUDIT, f"row {row.number} of the audit log differs from this purge")
        elif row is not None:
            yield report_valid(
                _AUDIT,
                f"row {row.number} of this machine's audit log records the same purge; the receipt was signed "
                "on another machine",
            )
        return
    if row is None:
        yield report_wrong(_AUDIT, "no row of the audit log records that this purge was done")
        return
    if row.details != receipt.audit:
        yield report_wrong(_AUDIT, f"row {row.number} of the audit log differs from this purge")
    said = note.receipt.get("audit") or {}
    if (said.get("number"), said.get("hash")) != (row.number, row.hash.hex()):
        yield report_wrong(
            _AUDIT, f"row {row.number} of the audit log does not match the receipt: its number or its hash differs"
        )
    else:
        yield report_valid(_AUDIT, f"row {row.number} of the audit log is the one named in the receipt")


def _redaction(vault: Vault, receipt: PurgeReceipt, trusted: TrustedKeys | None) -> Iterator[ReceiptFinding]:
    """Check the redaction in the vault's list: the same, signed, applied, with nothing left."""
    found = next((each for each in vault.redaction_rows() if each.redaction.id == receipt.id), None)
    note = receipt.vault(vault.id)
    if found is None or not found.applied:
        if note is not None and note.state == DONE:
            yield report_wrong(_LIST, "the vault's list of purges does not record this purge as done")
        else:
            yield report_open(_LIST, "the vault has not applied this purge yet")
        return
    if found.redaction.digest.hex() != receipt.digest:
        yield report_wrong(_LIST, "the vault's list of purges contains a different purge with this id")
        return
    try:
        redaction_signatures.verify_redaction(found.redaction, trusted)
    except SignatureError as error:
        yield report_wrong(_LIST, error.message)
        return
    remaining = vault.remaining(found.redaction)
    if remaining:
        yield report_wrong(_LIST, f"{remaining} of the items to be destroyed still exist in the vault")
    else:
        yield report_valid(_LIST, "the vault contains the signed purge and none of the items to be destroyed")


def find_audit_row(vault: Vault, redaction_id: str) -> AuditRow | None:
    """Return the newest audit row of a redaction, because one can be withdrawn and come again."""
    rows = (row for row in vault.audit_rows() if row.kind == PURGE and row.subject == redaction_id)
    return max(rows, key=lambda row: row.number, default=None)


def _record(audit: dict[str, object]) -> dict[str, object]:
    """Return the part of a record that is the same in every vault."""
    return {name: value for name, value in audit.items() if name != "completed_at"}
