"""What a restore does to the databases of ZeroClaw."""

from __future__ import annotations

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.memory_stores import DatabaseWrite, WriteOrder
from lifeboat_adapters.persona.documents import StateFiles
from lifeboat_adapters.zeroclaw import config, host
from lifeboat_adapters.zeroclaw.layers import documents
from lifeboat_adapters.zeroclaw.restore import brain_writing, installing, other_tables

AS_ROWS = (config.SQLITE, config.LUCID)


def write_databases(installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
    """See `contract.Adapter.write_databases`."""
    has_rows = backend(installation, order) in AS_ROWS
    memories = [brain_writing.plan(installation, order)] if has_rows else []
    return [*memories, *other_tables.plan(installation, order)]


def backend(installation: Installation, order: WriteOrder) -> str:
    """Where the agent is going to keep its memory: as configured here, else as in the archive."""
    values = host.values_of(installation)
    if values:
        return config.backend(values, installation.native_id)
    archived = documents.config_of(StateFiles(order.state)) or {}
    return config.backend(archived, installing.source_alias(order.state))
