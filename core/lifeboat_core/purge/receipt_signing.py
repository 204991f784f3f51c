"""Sign and update receipts of purges: `vault/receipts/<redaction id>.json`, signed by this machine's device at every
change. Every process that learns the state of a vault notes it; noting it again changes nothing.

`vault_receipts` of the keys defines a receipt, `receipt_checking` verifies one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from lifeboat_alf.common import times
from lifeboat_alf.errors import LifeboatError, SignatureError
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_core.errors import Busy
from lifeboat_core.home.context import Context
from lifeboat_core.purge import endpoint_pins
from lifeboat_core.purge.receipt_against_home import find_audit_row
from lifeboat_core.purge.receipt_checking import (
    find_vault_problem,
    has_wrong_finding,
    load_receipt_keys,
    verify_receipt,
)
from lifeboat_core.purge.receipt_findings import ReceiptFinding, ReceiptLevel
from lifeboat_core.purge.receipt_store import (
    find_receipt,
    list_damaged_receipts,
    load_receipts,
    read_receipt,
    save_receipt,
)
from lifeboat_keys.errors import ReceiptInvalid
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.signed import vault_receipts as vault_receipts
from lifeboat_keys.signed.purge_receipt import (
    DONE,
    HOME,
    PENDING,
    WAITING,
    MachinePurgeNote,
    PurgeReceipt,
    UnreachableCopy,
    VaultPurgeNote,
)
from lifeboat_keys.signed.vault_receipts import ReceiptAudit, ReceiptHead, VaultReceipt

if TYPE_CHECKING:
    from lifeboat_core.remotes.contract import RemoteConfig
    from lifeboat_vault.vault import Vault

__all__ = [
    "DONE",
    "HOME",
    "PENDING",
    "WAITING",
    "MachinePurgeNote",
    "PurgeReceipt",
    "ReceiptFinding",
    "ReceiptLevel",
    "UnreachableCopy",
    "VaultPurgeNote",
    "begin_receipt",
    "change_receipt",
    "find_receipt",
    "has_wrong_finding",
    "list_damaged_receipts",
    "load_receipts",
    "make_home_receipt",
    "note_here",
    "note_untold_remotes",
    "note_vault",
    "read_receipt",
    "sign_receipts_again",
    "verify_receipt",
    "write_purge_receipt",
]

_WAIT = 30.0
"""Seconds."""


# Writing --------------------------------------------------------------------------------------------------------------


def write_purge_receipt(context: Context, receipt: PurgeReceipt) -> PurgeReceipt:
    """Sign a receipt and store it durably, replacing the stored one of this purge. Raises NoKey, OSError, Busy."""
    with _alone(context):
        return _sign_and_save(context, receipt)


def begin_receipt(
    context: Context,
    redaction: Redaction,
    completed_at: str,
    *,
    here: MachinePurgeNote | None = None,
    vaults: Iterable[VaultPurgeNote] = (),
    unreachable: Iterable[UnreachableCopy] = (),
) -> PurgeReceipt:
    """Write the receipt of a redaction. A stored one keeps the notes of vaults. The audit record is that of the vault
    here; `completed_at` is used when there is none."""
    from lifeboat_vault.vault.vault_purging import audit_record

    with _alone(context):
        known = read_receipt(context, redaction.id)
        made = known or PurgeReceipt(redaction.id, {}, redaction.digest.hex())
        notes = {each.id: each for each in vaults} | {each.id: each for each in made.vaults}
        otherwise = str(made.audit.get("completed_at", completed_at))
        wanted = replace(
            made,
            audit=audit_record(redaction, _completed_at(context, redaction) or otherwise),
            vaults=tuple(notes.values()),
            here=here or made.here,
            unreachable=tuple(dict.fromkeys((*made.unreachable, *unreachable))),
        )
        return wanted if wanted == known else _sign_and_save(context, wanted)


def note_untold_remotes(
    configs: Iterable[RemoteConfig], having: Collection[str], now: str
) -> tuple[VaultPurgeNote, ...]:
    """Return notes for those of the remotes in `having`, which have something of the agent, that are told later."""
    said = partial(
        VaultPurgeNote,
        kind="remote",
        state=PENDING,
        since=now,
        message="Lifeboat has not sent the purge to this remote yet",
    )
    return tuple(said(config.name, config.id) for config in configs if config.id in having)


def change_receipt(
    context: Context, receipt_id: str, how: Callable[[PurgeReceipt], PurgeReceipt]
) -> PurgeReceipt | None:
    """Change a stored receipt and sign it again, unless nothing changes. Return None when there is no such receipt.
    Raises what `read_receipt` and `write_purge_receipt` raise."""
    with _alone(context):
        known = read_receipt(context, receipt_id)
        if known is None:
            return None
        wanted = how(known)
        return known if wanted == known else _sign_and_save(context, wanted)


def note_here(context: Context, receipt_id: str, here: MachinePurgeNote) -> PurgeReceipt | None:
    """Note what was done on this machine outside the vault."""
    return change_receipt(context, receipt_id, lambda known: replace(known, here=here))


def note_vault(
    context: Context, receipt_id: str, note: VaultPurgeNote, *, refused: bool = False
) -> PurgeReceipt | None:
    """Note the state of a purge in one vault, with the receipt that it signed if it is done. `note.since` is set here.

    A vault that is done stays done, with its first valid receipt. The receipt of an endpoint counts only if it is valid
    under the pinned key; else the purge is pending there, and `message` says why. A vault that waits stays waiting
    while it cannot be asked, but not after it `refused`. Return None when there is no receipt of this purge.
    """

    def noted(known: PurgeReceipt) -> PurgeReceipt:
        before, made = known.vault(note.id), replace(note, since=context.now())
        if before is not None and before.state == DONE:
            if note.state != DONE:
                return known
            if find_vault_problem(known, before, load_receipt_keys(context)) is None:
                return _with_note(known, replace(before, message=note.message))
        if note.receipt is not None:
            made = _believed(context, known, made)
        elif before is not None and note.state == PENDING and not refused and _waits(context, before):
            made = replace(before, message=note.message)
        if before is not None and before.state == made.state:
            made = replace(made, since=before.since)
        return _with_note(known, made)

    return change_receipt(context, receipt_id, noted)


def _with_note(receipt: PurgeReceipt, note: VaultPurgeNote) -> PurgeReceipt:
    """Return the receipt with a new note of a vault in place of the former one."""
    if receipt.vault(note.id) is None:
        return replace(receipt, vaults=(*receipt.vaults, note))
    return replace(receipt, vaults=tuple(note if each.id == note.id else each for each in receipt.vaults))


def _waits(context: Context, note: VaultPurgeNote) -> bool:
    until = note.applies_at
    return note.state == WAITING and until is not None and times.parse_time(until) > context.clock.now()


def make_home_receipt(
    context: Context,
    vault: Vault,
    redaction: Redaction,
    *,
    objects: int,
    found: Mapping[str, int] | None = None,
    applied: int | None = None,
) -> VaultReceipt:
    """Return what the vault on this disk says about a redaction that it applied, signed by this machine's device.

    `objects` is the number of objects that lost their bytes; `found` what was searched again, with the `hits`;
    `applied` the number of applied redactions, counted if not given.
    """
    keys, head = context.keys(), vault.head()
    row = find_audit_row(vault, redaction.id)
    unsigned = VaultReceipt(
        vault_id=vault.id,
        kind=HOME,
        name=keys.own_name,
        agent_id=redaction.agent_id,
        redaction_id=redaction.id,
        redaction_digest=redaction.digest.hex(),
        applied=sum(each.applied for each in vault.redaction_rows()) if applied is None else applied,
        leaves=len(redaction.leaves),
        objects=objects,
        remaining=vault.remaining(redaction),
        completed_at=context.now(),
        head=None if head is None else ReceiptHead(head.number, head.digest.hex()),
        audit=None if row is None else ReceiptAudit(row.number, row.hash.hex()),
        found=dict(found or {}),
    )
    return vault_receipts.sign_with_device(unsigned, keys.device)


def sign_receipts_again(context: Context, before: TrustedKeys) -> None:
    """Sign every receipt that is valid for `before`, and what it has of vaults that cannot sign themselves, with the
    key in force, while a user key is replaced. Raises what `write_purge_receipt` raises."""
    device = context.keys().device

    def vault(note: VaultPurgeNote) -> VaultPurgeNote:
        signed = None if note.receipt is None else vault_receipts.decode_vault_receipt(note.receipt)
        if signed is None or signed.signer != vault_receipts.DEVICE:
            return note
        vault_receipts.verify_vault_receipt(signed, trusted=before, endpoints={})
        return replace(note, receipt=vault_receipts.sign_with_device(signed, device).to_json())

    with _alone(context):
        for receipt in load_receipts(context):
            with contextlib.suppress(SignatureError, ReceiptInvalid):  # invalid receipts are not changed
                vault_receipts.verify_purge(receipt.statement(), receipt.signature, before)
                _sign_and_save(context, replace(receipt, vaults=tuple(vault(each) for each in receipt.vaults)))


def _completed_at(context: Context, redaction: Redaction) -> str | None:
    """Return when the vault here completed a redaction, by its audit; None when there is no vault or it is not done."""
    try:
        with context.vault(redaction.agent_id) as vault:
            row = find_audit_row(vault, redaction.id)
    except LifeboatError:
        return None
    return None if row is None else str(row.details["completed_at"])


def _believed(context: Context, known: PurgeReceipt, note: VaultPurgeNote) -> VaultPurgeNote:
    """Return a note with a receipt: done if the receipt is valid, else pending. The first receipt of an endpoint pins
    its key."""
    endpoint_pins.pin_receipt_signer(context, note.id, note.name, note.receipt)
    problem = find_vault_problem(known, note, load_receipt_keys(context))
    if problem is None:
        return note
    return replace(
        note, state=PENDING, applies_at=None, receipt=None, message=f"the receipt of the remote is not valid: {problem}"
    )


def _sign_and_save(context: Context, receipt: PurgeReceipt) -> PurgeReceipt:
    made = replace(receipt, changed_at=context.now())
    signed = replace(made, signature=vault_receipts.sign_purge(made.statement(), context.keys().device))
    save_receipt(context, signed)
    return signed


@contextlib.contextmanager
def _alone(context: Context) -> Iterator[None]:
    """Hold a lock, because the daemon and commands write receipts at the same time."""
    try:
        with FileLock(context.home.locks_folder / "receipts.lock", mode=0o600, timeout=_WAIT):
            yield
    except Timeout:
        raise Busy(f"another program has been writing receipts for more than {_WAIT:.0f} seconds") from None
