"""Put vectors of memories into a database, and predict what ZeroClaw does to rows afterwards.

A vector is written only if the model of the installation computed it, because ZeroClaw takes every vector that it finds
as its own. The others are left to its re-index (ALF §3.1.6, §6.2).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.database_reading import columns_of
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import VectorModel, WriteOrder
from lifeboat_adapters.persona import persona_files
from lifeboat_adapters.persona.derivation_files import StateFiles
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_folders, zeroclaw_paths
from lifeboat_adapters.zeroclaw.layers import aieos_documents
from lifeboat_adapters.zeroclaw.memories import brain_records
from lifeboat_adapters.zeroclaw.restore.brain_rows import BrainRowDecisions, WantedBrainRow
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import effective_view, memory_records
from lifeboat_alf.memory.embeddings import StateVectors, is_vector
from lifeboat_alf.states.agent_state import State

META = ("embedding_provider", "embedding_model", "embedding_dimensions")
_MODEL, _DIMENSIONS = "text-embedding-3-small", 1536
"""ZeroClaw's defaults when its configuration names no model."""
_DAYS = 30
_TALK = "conversation"


def memory_settings_after(installation: Installation, order: WriteOrder) -> JsonObject:
    """Return `[memory]` after the restore: that of the installation, otherwise of the archive's configuration,
    otherwise the settings that the archive recorded."""
    own = _memory(zeroclaw_folders.config_values_of(installation))
    if own:
        return own
    archived = _memory(aieos_documents.captured_zeroclaw_config(StateFiles(order.state)) or {})
    if archived:
        return archived
    head = persona_files.decode_document(order.state, archive_layout.MANIFEST)
    hints = zeroclaw_config.get_nested(head, "adapter_hints", zeroclaw_paths.RUNTIME)
    hints = hints if isinstance(hints, dict) else {}
    embedding = hints.get("embedding")
    named = embedding if isinstance(embedding, dict) else {}
    plain = hints.get("memory")
    return {**(plain if isinstance(plain, dict) else {}), **{f"embedding_{key}": named[key] for key in named}}


def _memory(values: JsonObject) -> JsonObject:
    found = zeroclaw_config.get_nested(values, "memory")
    return found if isinstance(found, dict) else {}


def model_for(installation: Installation, order: WriteOrder, known: VectorModel | None) -> VectorModel | None:
    """Return the model whose vectors may be written: that of the installation, unless the database holds vectors of
    another one. Return None when there is none."""
    told = memory_settings_after(installation, order)
    if not searches_by_vectors(told):
        return None
    provider = str(told["embedding_provider"])
    dimensions = told.get("embedding_dimensions", _DIMENSIONS)
    if not isinstance(dimensions, int) or dimensions <= 0:
        return None
    configured = VectorModel(f"{provider}/{told.get('embedding_model') or _MODEL}", dimensions)
    return configured if known in (None, configured) else None


def searches_by_vectors(told: JsonObject) -> bool:
    """Return whether an installation with these settings searches by vectors."""
    return str(told.get("embedding_provider") or "none") not in ("none", "noop")


def find_vector(
    held: StateVectors | None, item: WantedBrainRow, model: VectorModel | None, state: State
) -> bytes | None:
    """Return the vector of a memory's text, also from an earlier record with the same text, None when there is none of
    this model."""
    if held is None or model is None or not item.is_original:
        return None
    for record in _with_its_text(item, state):
        found = held.usable(record, model.model)
        if found is not None and is_vector(found, model.dimensions):
            return found
    return None


def _with_its_text(item: WantedBrainRow, state: State) -> Iterator[JsonObject]:
    yield item.record
    for id in reversed(item.chain):
        earlier = None if id == item.id else state.record(id)
        record = {} if earlier is None else memory_records.parse_record(earlier.line)
        if record and record.get("content") == item.record.get("content"):
            yield record


def note_model(connection: sqlite3.Connection, model: VectorModel) -> None:
    """Record the model of the vectors if none is recorded. Otherwise ZeroClaw would use them with any model."""
    if not columns_of(connection, "memory_meta")[0]:
        return
    provider, _, name = model.model.partition("/")
    for key, value in zip(META, (provider, name, str(model.dimensions)), strict=True):
        connection.execute("INSERT OR IGNORE INTO memory_meta (key, value) VALUES (?, ?)", (key, value))


def vector_fates(order: WriteOrder, model: VectorModel | None) -> Iterator[ItemFate]:
    """Yield what becomes of the vectors, by their file."""
    for index, groups in StateVectors(order.state).indexes.items():
        usable = model is not None and any(group.model == model.model for group in groups)
        if usable:
            yield ItemFate("vector", index, ItemOutcome.ACCEPTED)
        else:
            reason = (
                "the stored vectors were computed by another model; to compute new vectors: zeroclaw memory reindex"
            )
            yield ItemFate("vector", index, ItemOutcome.OMITTED, reason, "computed_again")


def soon_pruned(installation: Installation, order: WriteOrder, decided: BrainRowDecisions) -> str:
    """Return a warning about conversations that ZeroClaw deletes at its next start, "" without any."""
    told = memory_settings_after(installation, order)
    days = told.get("conversation_retention_days", _DAYS)
    if told.get("hygiene_enabled") is False or not isinstance(days, int) or days <= 0 or not order.now:
        return ""
    limit = times.parse_time(order.now) - timedelta(days=days)
    held = frozenset(decided.held)
    items = effective_view.effective_records(order.state)
    talks = (item for item in items if item.record.get("category") == _TALK and item.record["id"] in held)
    old = sum(_is_older(brain_records.row_of_memory(item.record, item.chain_ids[0]), limit) for item in talks)
    if not old:
        return ""
    return (
        f"{old} conversation {'memory is' if old == 1 else 'memories are'} older than {days} days. ZeroClaw "
        "deletes such memories when it starts. To keep them, raise conversation_retention_days in [memory] of its "
        "config.toml"
    )


def _is_older(row: JsonObject, limit: Any) -> bool:
    if row.get("category") != _TALK:
        return False
    try:
        return bool(times.parse_time(str(row.get("updated_at"))) < limit)
    except (ValueError, OverflowError):
        return False
