"""Memories that go behind a server, once the configuration that says where it is has its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.memory_stores import ServerWrite, StoredRow, VectorModel, WriteOrder
from lifeboat_adapters.receipts import Fate, Outcome
from lifeboat_adapters.zeroclaw import remote
from lifeboat_adapters.zeroclaw.restore import brain_rows, vectors, writing
from lifeboat_adapters.zeroclaw.restore.brain_rows import Wanted
from lifeboat_alf import records
from lifeboat_alf.embeddings import Vectors

_WAITS = "waiting_for_server"


def plan(installation: Installation, order: WriteOrder) -> ServerWrite | None:
    """See `contract.Adapter.write_server`."""
    title = remote.TITLES.get(writing.backend(installation, order))
    if title is None:
        return None
    if not installation.remote:
        reason = f"it is kept in {title}, which is written to only when you say so: {remote.ALLOW}"
        return ServerWrite(title, tuple(_fates(order, reason, "not_allowed")))
    reason = f"it was not put into {title} yet: the same restore again does that"

    def write(located: Installation) -> list[Fate]:
        return _write(located, order)

    return ServerWrite(title, tuple(_fates(order, reason, _WAITS)), write)


def _fates(order: WriteOrder, reason: str, code: str) -> Iterator[Fate]:
    for item in brain_rows.wanted(order):
        yield _held_back(item, order) or Fate(brain_rows.MEMORY, item.id, Outcome.UNRESOLVED, reason, code)


def _held_back(item: Wanted, order: WriteOrder) -> Fate | None:
    """What becomes of a memory that goes nowhere; None for one that is written."""
    if records.status(item.record) == "archived":
        return Fate(brain_rows.MEMORY, item.id, Outcome.OMITTED, brain_rows.ARCHIVED)
    if not order.cut.isdisjoint(item.chain):
        return Fate(brain_rows.MEMORY, item.id, Outcome.UNRESOLVED, brain_rows.WAITS)
    return None


def _write(installation: Installation, order: WriteOrder) -> list[Fate]:
    """Raises RuntimeDatabaseError."""
    model = vectors.model_for(installation, order, None)
    held = Vectors(order.state) if model is not None else None
    fates: list[Fate] = []
    stored: list[StoredRow] = []
    names: dict[str, str] = {}
    for item in brain_rows.wanted(order):
        kept_back = _held_back(item, order)
        if kept_back is None:
            stored.append(_row(item, held, model, order))
            names[str(item.row["id"])] = item.id
        else:
            fates.append(kept_back)
    written = remote.write(installation, stored)
    told = (fate for fate in written if fate.kind == brain_rows.MEMORY)
    return [*fates, *(replace(fate, name=names.get(fate.name, fate.name)) for fate in told)]


def _row(item: Wanted, held: Vectors | None, model: VectorModel | None, order: WriteOrder) -> StoredRow:
    return StoredRow(item.row, vectors.of(held, item, model, order.state))
