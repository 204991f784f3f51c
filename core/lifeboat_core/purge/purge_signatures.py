"""Sign purges outside of vaults again while the user's key is replaced: unfinished orders, and those of whole agents,
of which remotes have to be told again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lifeboat_alf.errors import SignatureError
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_core.home.context import Context
from lifeboat_core.purge import purge_orders, purged_agent_files, receipt_signing
from lifeboat_keys.pairs.trusted_keys import TrustedKeys
from lifeboat_keys.signed import redaction_signatures


def sign_purges_again(context: Context, before: TrustedKeys, after: TrustedKeys) -> None:
    """Sign what is valid for `before` and not for `after`. Raises OSError, ReceiptInvalid."""
    device = context.keys().device

    def is_to_be_signed(redaction: Redaction) -> bool:
        return _counts(redaction, before) and not _counts(redaction, after)

    _sign_orders(context, is_to_be_signed, lambda redaction: redaction_signatures.sign_redaction(redaction, device))
    for each in list(purged_agent_files.list_purged_agents(context)):
        if is_to_be_signed(each.redaction):
            signed = redaction_signatures.sign_redaction(each.redaction, device)
            again = dict.fromkeys((*each.again, *_told(context, each.redaction)))
            purged_agent_files.write_purged_agent(context, replace(each, redaction=signed, again=tuple(again)))


def _sign_orders(
    context: Context, is_to_be_signed: Callable[[Redaction], bool], sign: Callable[[Redaction], Redaction]
) -> None:
    for order in list(purge_orders.list_pending_orders(context)):
        if is_to_be_signed(order.redaction):
            purge_orders.write_order(context, replace(order, redaction=sign(order.redaction)))


def _told(context: Context, redaction: Redaction) -> tuple[str, ...]:
    """Return the remotes that were told of a redaction, or were to be."""
    receipt = receipt_signing.read_receipt(context, redaction.id)
    return () if receipt is None else tuple(note.id for note in receipt.vaults if note.kind != receipt_signing.HOME)


def _counts(redaction: Redaction, trusted: TrustedKeys) -> bool:
    try:
        redaction_signatures.verify_redaction(redaction, trusted)
    except SignatureError:
        return False
    return True
