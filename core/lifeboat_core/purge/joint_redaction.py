"""Sign a joint redaction when a new one contradicts a known one: it says what both together leave (see
`lifeboat_alf.joining`)."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.purging.purge_items import PurgeItem
from lifeboat_alf.redaction import joined_redactions
from lifeboat_alf.redaction.redactions import NONE, Redaction, Redactions
from lifeboat_core.home.context import Context
from lifeboat_core.purge import histories
from lifeboat_core.purge.histories import Histories
from lifeboat_keys.signed import redaction_signatures


def make_joint_redaction(context: Context, opened: Histories, redaction: Redaction) -> Redaction | None:
    """Return the redaction to apply first, so that nothing is lost that no purge named; None when there is nothing to
    join. Raises NoKey, VaultError."""

    def items() -> Iterator[PurgeItem]:
        for history in opened.open:
            yield from histories.iter_vault_items(history.vault)

    made = joined_redactions.join_redactions(_known(opened), redaction, items, context.now())
    return None if made is None else redaction_signatures.sign_redaction(made, context.keys().device)


def describe_joint_redaction(opened: Histories, redaction: Redaction, joint: Redaction) -> str:
    """Return the note of a joint redaction for its receipt."""
    joined = joined_redactions.find_joined(_known(opened), redaction, joint)
    named = ", ".join(each.id for each in joined)
    return f"joins {named}: purges of the same bytes that did not know of each other"


def _known(opened: Histories) -> Redactions:
    known = NONE
    for history in opened.open:
        known = known.joined(history.vault.redactions)
    return known
