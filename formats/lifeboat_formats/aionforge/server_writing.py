"""Memories of a restore on their way into the instance that the agent lives in."""

from __future__ import annotations

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.memory_stores import ServerWrite, WriteOrder
from lifeboat_adapters.receipts import Fate, Outcome
from lifeboat_alf import effective, records
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.record_shapes import fitting
from lifeboat_formats.aionforge import planning, store, writing
from lifeboat_formats.aionforge.address import Principal
from lifeboat_formats.aionforge.planning import MEMORY, Plan
from lifeboat_formats.aionforge.sent import Sent
from lifeboat_formats.interchange.cleaning import Cleaner
from lifeboat_formats.interchange.errors import InterchangeError

TITLE = "Aionforge"
_CUT = "a credential was cut out of it; --with-credentials puts it back"
_NOT_ALLOWED = f"it is kept by {TITLE}, which is written to only when you say so: {store.ALLOW}"
_WAITS = f"it was not put into {TITLE} yet: the same restore again does that, while it runs"


def plan(installation: Installation, order: WriteOrder) -> ServerWrite:
    """`contract.Adapter.write_server`."""
    reason, code = (_WAITS, "waiting_for_server") if installation.remote else (_NOT_ALLOWED, "not_allowed")
    made, held_back = _planned(order, Principal())
    waiting = [Fate(MEMORY, item.id, Outcome.UNRESOLVED, reason, code) for item in made.items]
    fates = (*held_back, *made.fates, *waiting)
    if not installation.remote:
        return ServerWrite(TITLE, fates)
    return ServerWrite(TITLE, fates, lambda located: _write(located, order))


def _write(installation: Installation, order: WriteOrder) -> list[Fate]:
    """Raises RuntimeDatabaseError."""
    with store.asking(installation) as instance:
        asked = instance.connection.address.principal
        try:
            made, held_back = _planned(order, asked)
        except InterchangeError as error:
            raise RuntimeDatabaseError(error.message, fix=error.fix) from None
        # What was put there before is known by its text: a restore keeps no notes.
        return [*held_back, *writing.put(instance, made, Sent({})).fates]


def _planned(order: WriteOrder, asked: Principal) -> tuple[Plan, list[Fate]]:
    """What is put there, and what waits for its credentials. Texts go as they are: it is the agent's own server, and
    what was cut stays cut; they are looked through all the same, and nothing goes unless that was done."""
    there: list[JsonObject] = []
    waiting: list[Fate] = []
    for item in effective.effective_records(order.state):
        if records.is_deleted(item.record):
            continue
        if not order.cut.isdisjoint(item.chain_ids):
            waiting.append(Fate(MEMORY, str(item.record["id"]), Outcome.UNRESOLVED, _CUT))
            continue
        whole = next((order.texts[id] for id in item.chain_ids if id in order.texts), {})
        record = fitting(item.record)
        there.append({**record, "content": whole.get("content", record["content"])})
    return planning.of_records(there, asked, Cleaner(allows_secrets=True)), waiting
