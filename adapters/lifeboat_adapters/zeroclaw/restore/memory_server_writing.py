"""Write memories to a server after the configuration that names the server is in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import ServerWrite, StoredRow, VectorModel, WriteOrder
from lifeboat_adapters.zeroclaw import server_memories
from lifeboat_adapters.zeroclaw.restore import brain_rows, database_writing, memory_vectors
from lifeboat_adapters.zeroclaw.restore.brain_rows import WantedBrainRow
from lifeboat_alf.memory import memory_records
from lifeboat_alf.memory.embeddings import StateVectors

_WAITS = "waiting_for_server"


def plan_server_write(installation: Installation, order: WriteOrder) -> ServerWrite | None:
    """Implement `DatabaseSupport.plan_server_write`."""
    title = server_memories.TITLES.get(database_writing.backend_after_restore(installation, order))
    if title is None:
        return None
    if not installation.remote:
        reason = (
            f"this memory cannot be written, because you have not allowed Lifeboat to write to {title}. To "
            f"allow it: {server_memories.ALLOW}"
        )
        return ServerWrite(title, tuple(_fates(order, reason, "not_allowed")))
    reason = f"this memory is not in {title} yet. When {title} is reachable, run the same restore again"

    def write(located: Installation) -> list[ItemFate]:
        return _write(located, order)

    return ServerWrite(title, tuple(_fates(order, reason, _WAITS)), write)


def _fates(order: WriteOrder, reason: str, code: str) -> Iterator[ItemFate]:
    for item in brain_rows.list_wanted_rows(order):
        yield _held_back(item, order) or ItemFate(brain_rows.MEMORY, item.id, ItemOutcome.UNRESOLVED, reason, code)


def _held_back(item: WantedBrainRow, order: WriteOrder) -> ItemFate | None:
    """Return the fate of a memory that is not written, None for one that is."""
    if memory_records.read_record_status(item.record) == "archived":
        return ItemFate(brain_rows.MEMORY, item.id, ItemOutcome.OMITTED, brain_rows.ARCHIVED)
    if not order.cut.isdisjoint(item.chain):
        return ItemFate(brain_rows.MEMORY, item.id, ItemOutcome.UNRESOLVED, brain_rows.WAITS)
    return None


def _write(installation: Installation, order: WriteOrder) -> list[ItemFate]:
    """Write the memories and return their fates. Raises RuntimeDatabaseError."""
    model = memory_vectors.model_for(installation, order, None)
    held = StateVectors(order.state) if model is not None else None
    fates: list[ItemFate] = []
    stored: list[StoredRow] = []
    names: dict[str, str] = {}
    for item in brain_rows.list_wanted_rows(order):
        kept_back = _held_back(item, order)
        if kept_back is None:
            stored.append(_row(item, held, model, order))
            names[str(item.row["id"])] = item.id
        else:
            fates.append(kept_back)
    written = server_memories.write_server_memories(installation, stored)
    told = (fate for fate in written if fate.kind == brain_rows.MEMORY)
    return [*fates, *(replace(fate, name=names.get(fate.name, fate.name)) for fate in told)]


def _row(item: WantedBrainRow, held: StateVectors | None, model: VectorModel | None, order: WriteOrder) -> StoredRow:
    return StoredRow(item.row, memory_vectors.find_vector(held, item, model, order.state))
