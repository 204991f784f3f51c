"""Access to tenant.db and to the sealed values in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from lifeboat_alf.common import times
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_endpoint.service import tenant_schema
from lifeboat_endpoint.service import tenant_statements as sql
from lifeboat_vault import errors
from lifeboat_vault.at_rest.sealer import Sealer, key_id_of
from lifeboat_vault.store.disk_blobs import translate_errors
from lifeboat_vault.store.schema_migrations import migrate_tables
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.store.store_protocols import MetadataStore

FILE = "tenant.db"


class TenantKeys(Protocol):
    """What this package needs of a tenant's data keys (`at_rest.data_keys.DataKeys`)."""

    def sealer(self, agent_id: str | None = None) -> Sealer:
        """Return the current key of an agent, or of the tenant itself. Raises KeyRevoked."""

    def sealer_of(self, key_id: str, agent_id: str | None = None) -> Sealer:
        """Return the key with an id. Raises KeyRevoked."""

    def is_own(self, agent_id: str) -> bool:
        """Whether an agent has separate keys."""

    def renew(self, agent_id: str) -> str:
        """Make a new current key for an agent with its own keys; return its id. Raises KeyRevoked, KeySourceAway."""

    def destroy_older(self, agent_id: str, than: str) -> list[str]:
        """Destroy the keys of an agent that are older than this one; return their ids."""

    def destroy_agent(self, agent_id: str) -> list[str]:
        """Destroy the keys that only this agent uses; return their ids."""


def open_tables(
    folder: Path, tenant_id: str, files: FileOperations, clock: Clock, allowed: Callable[[], None] | None = None
) -> SqliteStore:
    """Open the tables of a tenant in its folder; both are made if missing. `allowed` may refuse changes (see
    `SqliteStore`).

    Raises VaultDamaged for tables of another tenant, VaultNewer.
    """
    with translate_errors():
        files.make_folders(folder, 0o700)
    metadata = SqliteStore(folder / FILE, create=True, tables=tenant_schema.TABLES, allowed=allowed)
    try:
        check_tenant(metadata, tenant_id, times.to_text(clock.now()))
        migrate_tables(metadata, folder / FILE, tenant_schema.STEPS, tenant_schema.VERSION, table="tenant")
    except BaseException:
        metadata.close()
        raise
    return metadata


def check_tenant(metadata: MetadataStore, tenant_id: str, now: str) -> None:
    """Make the tables if they are missing, and check that they are this tenant's. Raises VaultDamaged."""
    metadata.prepare()
    found = metadata.row(sql.TENANT)
    if found is None:
        with metadata.transaction():
            found = metadata.row(sql.TENANT)
            if found is None:
                metadata.execute(sql.ADD_TENANT, (tenant_id, tenant_schema.VERSION, now))
                return
    if found[0] != tenant_id:
        raise errors.VaultDamaged(f"{FILE} belongs to another tenant")


def open_sealed(keys: TenantKeys, agent_id: str | None, kind: str, sealed: bytes) -> bytes:
    """Open what was sealed under the current key, or under an older one that still exists."""
    return keys.sealer_of(key_id_of(sealed), agent_id).open(kind, sealed)
