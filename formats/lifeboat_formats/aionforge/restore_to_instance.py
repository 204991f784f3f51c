"""Writes the memories of a restore into the instance that holds the agent's memories."""

from __future__ import annotations

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import ServerWrite, WriteOrder
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import effective_view, memory_records
from lifeboat_alf.memory.record_shapes import keep_fitting_fields
from lifeboat_formats.aionforge import instance_rows, memory_sending, send_plan
from lifeboat_formats.aionforge.instance_address import AssertedPrincipal
from lifeboat_formats.aionforge.send_plan import MEMORY, SendPlan
from lifeboat_formats.aionforge.sent_notes import SentNotes
from lifeboat_formats.interchange.cleaning import Cleaner
from lifeboat_formats.interchange.errors import InterchangeError

TITLE = "Aionforge"
_CUT = "a credential was removed from this memory; restore with --with-credentials to write the memory"
_NOT_ALLOWED = (
    f"this memory cannot be written, because you have not allowed Lifeboat to write to {TITLE}. To "
    f"allow it: {instance_rows.ALLOW}"
)
_WAITS = f"this memory is not in {TITLE} yet; start {TITLE} and run the same restore again"


def plan_server_write(installation: Installation, order: WriteOrder) -> ServerWrite:
    """Implement `DatabaseSupport.plan_server_write`."""
    reason, code = (_WAITS, "waiting_for_server") if installation.remote else (_NOT_ALLOWED, "not_allowed")
    made, held_back = _planned(order, AssertedPrincipal())
    waiting = [ItemFate(MEMORY, item.id, ItemOutcome.UNRESOLVED, reason, code) for item in made.items]
    fates = (*held_back, *made.fates, *waiting)
    if not installation.remote:
        return ServerWrite(TITLE, fates)
    return ServerWrite(TITLE, fates, lambda located: _write(located, order))


def _write(installation: Installation, order: WriteOrder) -> list[ItemFate]:
    """Write the memories. Raises RuntimeDatabaseError."""
    with instance_rows.open_instance(installation) as instance:
        asked = instance.connection.address.principal
        try:
            made, held_back = _planned(order, asked)
        except InterchangeError as error:
            raise RuntimeDatabaseError(error.message, fix=error.fix) from None
        # A restore keeps no notes: the instance recognises texts that were written before.
        return [*held_back, *memory_sending.send_memories(instance, made, SentNotes({})).fates]


def _planned(order: WriteOrder, asked: AssertedPrincipal) -> tuple[SendPlan, list[ItemFate]]:
    """Return what is sent, and the fates of memories that wait for their credentials. Texts are sent unchanged, since
    it is the agent's own server and cut credentials stay cut. The cleaner still examines all of them first."""
    there: list[JsonObject] = []
    waiting: list[ItemFate] = []
    for item in effective_view.effective_records(order.state):
        if memory_records.is_deleted(item.record):
            continue
        if not order.cut.isdisjoint(item.chain_ids):
            waiting.append(ItemFate(MEMORY, str(item.record["id"]), ItemOutcome.UNRESOLVED, _CUT))
            continue
        whole = next((order.texts[id] for id in item.chain_ids if id in order.texts), {})
        record = keep_fitting_fields(item.record)
        there.append({**record, "content": whole.get("content", record["content"])})
    return send_plan.plan_records(there, asked, Cleaner(allows_secrets=True)), waiting
