"""Purges that lie outside of vaults, signed anew while the user's key is replaced: those that were not carried out to
their end, and those of whole agents, which second copies have to be told of again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lifeboat_alf.errors import SignatureError
from lifeboat_alf.redactions import Redaction
from lifeboat_core.home.context import Context
from lifeboat_core.purge import erased, orders, receipts
from lifeboat_keys import redacting
from lifeboat_keys.trusted import Trusted


def sign_again(context: Context, before: Trusted, after: Trusted) -> None:
    """New signatures for those that count for `before` and no more for `after`. Raises OSError, ReceiptInvalid."""
    device = context.keys().device

    def is_to_be_signed(redaction: Redaction) -> bool:
        return _counts(redaction, before) and not _counts(redaction, after)

    _sign_orders(context, is_to_be_signed, lambda redaction: redacting.sign(redaction, device))
    for each in list(erased.everyone(context)):
        if is_to_be_signed(each.redaction):
            signed = redacting.sign(each.redaction, device)
            again = dict.fromkeys((*each.again, *_told(context, each.redaction)))
            erased.write(context, replace(each, redaction=signed, again=tuple(again)))


def _sign_orders(
    context: Context, is_to_be_signed: Callable[[Redaction], bool], sign: Callable[[Redaction], Redaction]
) -> None:
    for order in list(orders.pending(context)):
        if is_to_be_signed(order.redaction):
            orders.write(context, replace(order, redaction=sign(order.redaction)))


def _told(context: Context, redaction: Redaction) -> tuple[str, ...]:
    """The second copies that were told of it, or were to be."""
    receipt = receipts.read(context, redaction.id)
    return () if receipt is None else tuple(note.id for note in receipt.vaults if note.kind != receipts.HOME)


def _counts(redaction: Redaction, trusted: Trusted) -> bool:
    try:
        redacting.verify(redaction, trusted)
    except SignatureError:
        return False
    return True
