"""Before a purge is applied that contradicts a known one: the redaction that says what both leave, signed here (see
`lifeboat_alf.joining`)."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf import joining
from lifeboat_alf.purging.items import Item
from lifeboat_alf.redactions import NONE, Redaction, Redactions
from lifeboat_core.home.context import Context
from lifeboat_core.purge import histories
from lifeboat_core.purge.histories import Histories
from lifeboat_keys import redacting


def joint(context: Context, opened: Histories, redaction: Redaction) -> Redaction | None:
    """What has to be applied first, so that nothing is lost that nobody purged; None when there is nothing to join.
    Raises NoKey, VaultError."""

    def items() -> Iterator[Item]:
        for history in opened.open:
            yield from histories.items(history.vault)

    made = joining.join(_known(opened), redaction, items, context.now())
    return None if made is None else redacting.sign(made, context.keys().device)


def note_of(opened: Histories, redaction: Redaction, joint: Redaction) -> str:
    """What the receipt of a joint redaction says."""
    joined = joining.joined(_known(opened), redaction, joint)
    named = ", ".join(each.id for each in joined)
    return f"joins {named}: purges of the same bytes that did not know of each other"


def _known(opened: Histories) -> Redactions:
    known = NONE
    for history in opened.open:
        known = known.joined(history.vault.redactions)
    return known
