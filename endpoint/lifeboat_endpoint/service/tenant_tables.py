"""`tenant.db` opened, and what is sealed in it read and written."""

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
        """The current key of an agent, or of what belongs to the tenant as a whole. Raises KeyRevoked."""
        ...

    def sealer_of(self, key_id: str, agent_id: str | None = None) -> Sealer:
        """The key that something is sealed under. Raises KeyRevoked."""
        ...

    def is_own(self, agent_id: str) -> bool:
        """Whether an agent has keys that no other one has."""
        ...

    def renew(self, agent_id: str) -> str:
        """A new current key for an agent that has its own; its id. Raises KeyRevoked, KeySourceAway."""
        ...

    def destroy_older(self, agent_id: str, than: str) -> list[str]:
        """Let go of the keys of an agent that are older than this one; their ids."""
        ...

    def destroy_agent(self, agent_id: str) -> list[str]:
        """Let go of the keys that only this agent has; their ids."""
        ...


def open_tables(
    folder: Path, tenant_id: str, files: FileOperations, clock: Clock, allowed: Callable[[], None] | None = None
) -> SqliteStore:
    """The tables of a tenant in its folder, both made when missing. `allowed` may refuse changes (see `SqliteStore`).
    Raises VaultDamaged for those of another tenant, VaultNewer."""
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
    """The tables are made when missing, and are of this tenant. Raises VaultDamaged."""
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
    """What was sealed under the current key, or under an older one that is still there."""
    return keys.sealer_of(key_id_of(sealed), agent_id).open(kind, sealed)
