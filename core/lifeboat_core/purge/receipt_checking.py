"""Check the receipt of a purge: as a document, against the keys that this home trusts, and against the vault if it is
here. Everything is checked, and nothing raises for what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import SignatureError
from lifeboat_core.purge.receipt_findings import (
    ReceiptFinding,
    ReceiptLevel,
    report_open,
    report_untrusted,
    report_valid,
    report_wrong,
)
from lifeboat_core.texts.human_text import count_text
from lifeboat_keys.errors import KeysError, SignedByAnother
from lifeboat_keys.signed import vault_receipts as vault_receipts
from lifeboat_keys.signed.purge_receipt import DONE, HOME, WAITING, PurgeReceipt, VaultPurgeNote, decode_purge_receipt
from lifeboat_keys.signed.vault_receipts import ReceiptVerdict, VaultReceipt

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context
    from lifeboat_keys.pairs.trusted_keys import TrustedKeys

HITS = "hits"
"""The count of a search that has to be 0."""
RECEIPT = "receipt"
"""The subject of findings about the whole receipt."""
_UNKNOWN = "signed with a key that this home does not know"
_WHOLE = "Lifeboat could only check that the receipt does not contradict itself"


@dataclass(frozen=True, slots=True)
class ReceiptKeys:
    """The accepted signers of a receipt; none without a home. `may_be_foreign`: a signature under an unknown key leaves
    the receipt open, as without a home; otherwise it is wrong."""

    trusted: TrustedKeys | None = None
    endpoints: Mapping[str, bytes] = field(default_factory=dict)
    may_be_foreign: bool = False


def verify_receipt(context: Context | None, document: Any, *, may_be_foreign: bool = False) -> list[ReceiptFinding]:
    """Check a receipt (decoded JSON) against itself, and with a home against its keys, its vault and the receipt that
    it keeps. It is valid unless a finding is WRONG. `may_be_foreign`: another user may have made it (see
    `ReceiptKeys`); a receipt kept by this home is its own. Raises SystemRefused when the home's pins cannot be read."""
    try:
        receipt = decode_purge_receipt(document)
    except KeysError as error:
        return [report_wrong(RECEIPT, error.message)]
    keys = ReceiptKeys() if context is None else replace(load_receipt_keys(context), may_be_foreign=may_be_foreign)
    found = [_signature(receipt, keys), *_together(receipt)]
    for note in receipt.vaults:
        found += _vault(receipt, note, keys)
    if context is not None:
        from lifeboat_core.purge import receipt_against_home

        found += receipt_against_home.check_against_home(context, receipt, keys.trusted)
    return found


def has_wrong_finding(found: list[ReceiptFinding]) -> bool:
    return any(each.level is ReceiptLevel.WRONG for each in found)


def load_receipt_keys(context: Context) -> ReceiptKeys:
    """Return the accepted keys of a home; a home without a key trusts none."""
    from lifeboat_core.purge import endpoint_pins

    try:
        trusted = context.keys().trusted
    except KeysError:
        trusted = None
    return ReceiptKeys(trusted, endpoint_pins.load_pinned_keys(context))


def find_vault_problem(receipt: PurgeReceipt, note: VaultPurgeNote, keys: ReceiptKeys) -> str | None:
    """Return why what a vault signed does not prove that this purge is done in it; None when it does."""
    return next((each.message for each in _of_vault(receipt, note, keys) if each.level is ReceiptLevel.WRONG), None)


# The whole ------------------------------------------------------------------------------------------------------------


def _signature(receipt: PurgeReceipt, keys: ReceiptKeys) -> ReceiptFinding:
    def check(trusted: TrustedKeys | None) -> ReceiptVerdict:
        return vault_receipts.verify_purge(receipt.statement(), receipt.signature, trusted)

    try:
        verdict, signer = _judge(check, keys)
    except SignatureError as error:
        return report_wrong(RECEIPT, error.message)
    if verdict is ReceiptVerdict.SIGNED:
        return report_valid(RECEIPT, f"signed by one of your machines; last changed at {receipt.changed_at}")
    return report_untrusted(RECEIPT, f"{signer}: {_WHOLE}")


def _judge(check: Callable[[TrustedKeys | None], ReceiptVerdict], keys: ReceiptKeys) -> tuple[ReceiptVerdict, str]:
    """Return the verdict on a signature, and words for an unknown signer. Raises SignatureError."""
    try:
        return check(keys.trusted), _UNKNOWN
    except SignedByAnother as error:
        # A subclass means a key or machine that is known here and no longer trusted.
        if type(error) is not SignedByAnother or not keys.may_be_foreign:
            raise
        check(None)  # the signature itself has not been verified yet
        return ReceiptVerdict.UNKNOWN_SIGNER, error.message


def _together(receipt: PurgeReceipt) -> Iterator[ReceiptFinding]:
    """Check what has to be the same in all parts of a receipt."""
    if receipt.audit["purge_id"] != receipt.id:
        yield report_wrong(RECEIPT, "the audit record in the receipt belongs to another purge")
    if len({each.id for each in receipt.vaults}) < len(receipt.vaults):
        yield report_wrong(RECEIPT, "the receipt lists a vault twice")
    if not receipt.vaults:
        yield report_open(RECEIPT, "the receipt lists no vault")
    if receipt.here.searched.get(HITS):
        yield report_wrong(
            RECEIPT,
            "the search on this machine after the purge found "
            f"{count_text(receipt.here.searched[HITS], 'match', 'matches')}",
        )


# Vaults ---------------------------------------------------------------------------------------------------------------


def _vault(receipt: PurgeReceipt, note: VaultPurgeNote, keys: ReceiptKeys) -> Iterator[ReceiptFinding]:
    if note.state != DONE and note.receipt is not None:
        yield report_wrong(
            note.name,
            "the receipt contains the signature of this vault, but also states that the vault has not "
            "applied the purge",
        )
    if note.state == DONE:
        yield from _of_vault(receipt, note, keys)
        if note.message:
            # The message of the home lists joined purges; that of a remote says what it did not do.
            yield (report_valid if note.kind == HOME else report_open)(note.name, note.message)
    elif note.state == WAITING and note.applies_at is None:
        yield report_wrong(
            note.name, "the purge is waiting in this vault, but the receipt does not state when it will be applied"
        )
    elif note.state == WAITING:
        yield report_open(
            note.name, f"the purge waits until {note.applies_at}, so that the owner of the remote can refuse it"
        )
    else:
        yield report_open(
            note.name, f"the purge is not applied yet: {note.message or 'the remote has not been reached yet'}"
        )


def _of_vault(receipt: PurgeReceipt, note: VaultPurgeNote, keys: ReceiptKeys) -> Iterator[ReceiptFinding]:
    """Check what one vault signed."""
    if note.receipt is None:
        yield report_wrong(
            note.name, "the purge is marked as done in this vault, but the receipt has no signature of the vault"
        )
        return
    try:
        signed = vault_receipts.decode_vault_receipt(note.receipt)

        def check(trusted: TrustedKeys | None) -> ReceiptVerdict:
            return vault_receipts.verify_vault_receipt(signed, trusted=trusted, endpoints=keys.endpoints)

        verdict, signer = _judge(check, keys)
    except (SignatureError, KeysError) as error:
        yield report_wrong(note.name, error.message)
        return
    problems = list(_mismatches(receipt, note, signed))
    yield from (report_wrong(note.name, problem) for problem in problems)
    if problems:
        return
    if verdict is ReceiptVerdict.UNKNOWN_SIGNER:
        yield report_untrusted(note.name, f"the receipt of this vault was {signer}; {_WHOLE}")
        return
    whose = (
        "the endpoint's key that this home has pinned"
        if verdict is ReceiptVerdict.PINNED
        else "the key of one of your machines"
    )
    yield report_valid(note.name, f"signed with {whose}; destroyed items: {signed.objects}, remaining items: 0")


def _mismatches(receipt: PurgeReceipt, note: VaultPurgeNote, signed: VaultReceipt) -> Iterator[str]:
    """Yield why a valid receipt does not prove this purge in this vault."""
    belongs: JsonObject = {
        "vault": (signed.vault_id, note.id),
        "agent": (signed.agent_id, receipt.audit["agent_id"]),
        "purge": (signed.redaction_id, receipt.id),
        "redaction": (signed.redaction_digest, receipt.digest),
    }
    for differing, (said, expected) in belongs.items():
        if said != expected:
            yield f"the receipt of the vault is for another {differing}"
    if signed.remaining:
        yield f"{signed.remaining} of the items to be destroyed still exist"
    if signed.found.get(HITS):
        yield f"the search after the purge found {count_text(signed.found[HITS], 'match', 'matches')}"
