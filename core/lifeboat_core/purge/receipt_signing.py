"""Receipts of purges as this home keeps them: `vault/receipts/<redaction id>.json`, for their owner alone, signed by
this machine's device at every change. Whoever learns how a vault stands notes it; noting again changes nothing.

`receipt_document` says what a receipt is, `receipt_checking` whether one holds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
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
    """Sign a receipt and keep it, durably, in the place of what is kept of this purge. Raises NoKey, OSError, Busy."""
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
    """The receipt of a redaction. One that is kept already keeps what vaults said. The audit record is that of the
    vault here; `completed_at` counts where no vault of the agent is here."""
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
    """Notes of those second copies, of the ids in `having`, that have something of the agent and hear of it later."""
    said = partial(VaultPurgeNote, kind="remote", state=PENDING, since=now, message="it was not told yet")
    return tuple(said(config.name, config.id) for config in configs if config.id in having)


def change_receipt(
    context: Context, receipt_id: str, how: Callable[[PurgeReceipt], PurgeReceipt]
) -> PurgeReceipt | None:
    """Change a receipt as it stands now, and sign it anew; what changes nothing is not written. None when there is no
    such receipt. Raises what `read_receipt` and `write_purge_receipt` raise."""
    with _alone(context):
        known = read_receipt(context, receipt_id)
        if known is None:
            return None
        wanted = how(known)
        return known if wanted == known else _sign_and_save(context, wanted)


def note_here(context: Context, receipt_id: str, here: MachinePurgeNote) -> PurgeReceipt | None:
    """What was done on this machine beside the vault."""
    return change_receipt(context, receipt_id, lambda known: replace(known, here=here))


def note_vault(
    context: Context,
    receipt_id: str,
    vault_id: str,
    *,
    name: str,
    kind: str,
    state: str,
    applies_at: str | None = None,
    message: str = "",
    receipt: JsonObject | None = None,
    refused: bool = False,
) -> PurgeReceipt | None:
    """How a purge stands in one vault; what it signed where it is done. A vault that was done stays so, with
    the first receipt that held. What an
    endpoint signed counts only if it holds, and under the key that was remembered: else the purge is pending there,
    and `message` says why. One that waits goes on waiting while it cannot be asked, but not when it was `refused`.
    None when there is no receipt of this purge."""

    def noted(known: PurgeReceipt) -> PurgeReceipt:
        before = known.vault(vault_id)
        if before is not None and before.state == DONE and state != DONE:
            return known
        if (
            before is not None
            and before.state == DONE
            and find_vault_problem(known, before, load_receipt_keys(context)) is None
        ):
            return _with_note(known, replace(before, message=message))
        made = VaultPurgeNote(name, vault_id, kind, state, context.now(), applies_at, message, receipt)
        if receipt is not None:
            made = _believed(context, known, made)
        elif before is not None and state == PENDING and not refused and _waits(context, before):
            made = replace(before, message=message)
        if before is not None and before.state == made.state:
            made = replace(made, since=before.since)
        return _with_note(known, made)

    return change_receipt(context, receipt_id, noted)


def _with_note(receipt: PurgeReceipt, note: VaultPurgeNote) -> PurgeReceipt:
    """With what is known of a vault in the place of what was noted before."""
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
    """What the vault on this disk says about a redaction that was applied in it, signed by this machine's device.

    `objects` lost their bytes; `found`: what was looked through again, and the `hits` in it; `applied`: how many
    redactions it has applied, counted where it is not told.
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
    """While a key of the user's is being replaced: every receipt that counts for `before`, with what it has of vaults
    that cannot sign themselves, under the key in force. Raises what `write_purge_receipt` raises."""
    device = context.keys().device

    def vault(note: VaultPurgeNote) -> VaultPurgeNote:
        signed = None if note.receipt is None else vault_receipts.from_json(note.receipt)
        if signed is None or signed.signer != vault_receipts.DEVICE:
            return note
        vault_receipts.verify_vault_receipt(signed, trusted=before, endpoints={})
        return replace(note, receipt=vault_receipts.sign_with_device(signed, device).to_json())

    with _alone(context):
        for receipt in load_receipts(context):
            with contextlib.suppress(SignatureError, ReceiptInvalid):  # what does not hold stays as it is
                vault_receipts.verify_purge(receipt.statement(), receipt.signature, before)
                _sign_and_save(context, replace(receipt, vaults=tuple(vault(each) for each in receipt.vaults)))


def _completed_at(context: Context, redaction: Redaction) -> str | None:
    """When the vault here was done with a redaction, by its audit; None where there is no vault or it was not."""
    try:
        with context.vault(redaction.agent_id) as vault:
            row = find_audit_row(vault, redaction.id)
    except LifeboatError:
        return None
    return None if row is None else str(row.details["completed_at"])


def _believed(context: Context, known: PurgeReceipt, note: VaultPurgeNote) -> VaultPurgeNote:
    """A note with a receipt: done if that holds, else pending. The first receipt of an endpoint tells its key."""
    endpoint_pins.pin_receipt_signer(context, note.id, note.name, note.receipt)
    problem = find_vault_problem(known, note, load_receipt_keys(context))
    if problem is None:
        return note
    return replace(note, state=PENDING, applies_at=None, receipt=None, message=f"its receipt does not hold: {problem}")


def _sign_and_save(context: Context, receipt: PurgeReceipt) -> PurgeReceipt:
    made = replace(receipt, changed_at=context.now())
    signed = replace(made, signature=vault_receipts.sign_purge(made.statement(), context.keys().device))
    save_receipt(context, signed)
    return signed


@contextlib.contextmanager
def _alone(context: Context) -> Iterator[None]:
    """The service and commands note at the same time."""
    try:
        with FileLock(context.home.locks_folder / "receipts.lock", mode=0o600, timeout=_WAIT):
            yield
    except Timeout:
        raise Busy(f"another program has been writing receipts for {_WAIT:.0f} seconds") from None
