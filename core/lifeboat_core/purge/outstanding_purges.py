"""List purges that are not done everywhere, for `status` and `doctor`, without contacting a remote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import WHOLE_AGENT
from lifeboat_core.home.context import Context
from lifeboat_core.purge import receipt_store
from lifeboat_core.texts.human_text import time_text
from lifeboat_keys.signed.purge_receipt import DONE, WAITING


@dataclass(frozen=True, slots=True)
class OutstandingPurge:
    """One purge in one vault. `state` is `waiting` (until `applies_at`) or `pending` (`message` says why)."""

    id: str
    agent_id: str
    vault: str
    state: str
    since: str
    applies_at: str | None
    message: str

    def to_json(self) -> JsonObject:
        return asdict(self)


def list_outstanding_purges(context: Context, agent_id: str | None = None) -> list[OutstandingPurge]:
    """Return outstanding purges, of one agent if given, oldest first. When a whole agent was purged, its smaller purges
    are not outstanding. Costs one listing of a folder when nothing was ever purged."""
    receipts = [each for each in receipt_store.load_receipts(context) if agent_id in (None, each.agent_id)]
    gone = {
        (receipt.agent_id, note.id)
        for receipt in receipts
        if receipt.audit["scope"] == WHOLE_AGENT
        for note in receipt.vaults
        if note.state == DONE
    }
    return [
        OutstandingPurge(receipt.id, receipt.agent_id, note.name, note.state, note.since, note.applies_at, note.message)
        for receipt in receipts
        for note in receipt.vaults
        if note.state != DONE and (receipt.agent_id, note.id) not in gone
    ]


def describe_outstanding_purges(found: Sequence[OutstandingPurge]) -> str:
    """Return a sentence such as `1 purge is not done everywhere: lifeboat receipts show ID`; "" for none."""
    if not found:
        return ""
    purges = {each.id for each in found}
    if len(purges) == 1:
        return f"1 purge is not complete in every copy: lifeboat receipts show {found[0].id}"
    return f"{len(purges)} purges are not complete in every copy: lifeboat receipts list"


def describe_progress(one: OutstandingPurge) -> str:
    """Return a phrase such as `waits until 2026-11-20 19:40` or `is pending since ...`."""
    if one.state == WAITING and one.applies_at is not None:
        return f"waits until {time_text(one.applies_at)}"
    return f"has been pending since {time_text(one.since)}"
