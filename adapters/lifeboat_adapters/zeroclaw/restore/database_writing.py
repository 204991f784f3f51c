"""Plan what a restore does to the databases of ZeroClaw."""

from __future__ import annotations

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.memory_stores import DatabaseWrite, WriteOrder
from lifeboat_adapters.persona.derivation_files import StateFiles
from lifeboat_adapters.zeroclaw import zeroclaw_config, zeroclaw_folders
from lifeboat_adapters.zeroclaw.layers import aieos_documents
from lifeboat_adapters.zeroclaw.restore import brain_writing, other_tables, zeroclaw_installation

AS_ROWS = (zeroclaw_config.SQLITE, zeroclaw_config.LUCID)


def plan_database_writes(installation: Installation, order: WriteOrder) -> list[DatabaseWrite]:
    """Implement `DatabaseSupport.plan_writes`."""
    has_rows = backend_after_restore(installation, order) in AS_ROWS
    memories = [brain_writing.plan_brain_write(installation, order)] if has_rows else []
    return [*memories, *other_tables.plan_other_tables(installation, order)]


def backend_after_restore(installation: Installation, order: WriteOrder) -> str:
    """Return where the agent will keep its memory: as configured here, otherwise as in the archive."""
    values = zeroclaw_folders.config_values_of(installation)
    if values:
        return zeroclaw_config.configured_backend(values, installation.native_id)
    archived = aieos_documents.captured_zeroclaw_config(StateFiles(order.state)) or {}
    return zeroclaw_config.configured_backend(archived, zeroclaw_installation.source_alias(order.state))
