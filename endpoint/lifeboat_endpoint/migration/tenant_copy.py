"""Complete, compared copies of one tenant and of one agent.

Repeating a copy is not an error: a complete one is compared, and a partial one is replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial

from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_endpoint.engines.shared import SharedEngine
from lifeboat_endpoint.migration import table_copy
from lifeboat_endpoint.migration.old_folder import OldFolder
from lifeboat_vault import errors
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore

_AGENTS = "select id, vault from agent where vault is not null order by id"
_VAULT = "select id from vault"
_FILES = "select file from object where file is not null"
_BODIES = "select body from part where body is not null union select body from sealed_file"


@dataclass
class CopiedData:
    """How much was copied or found: rows, and bodies that are objects, with their bytes."""

    rows: int = 0
    bodies: int = 0
    bytes: int = 0

    def add(self, other: CopiedData) -> None:
        self.rows += other.rows
        self.bodies += other.bodies
        self.bytes += other.bytes


class TenantCopier:
    """Copies from a folder to a shared engine, for many threads."""

    def __init__(self, old: OldFolder, new: SharedEngine, clock: Clock) -> None:
        self._old = old
        self._new = new
        self._clock = clock

    def agents(self, tenant_id: str) -> list[tuple[str, str]]:
        """Return (id, id of the vault) of the agents with a vault."""
        if not self._old.has_tables(tenant_id):
            return []
        with self._old.tenant(tenant_id) as source:
            return [(agent_id, vault_id) for agent_id, vault_id in source.rows(_AGENTS)]

    def tenant(self, tenant_id: str) -> CopiedData:
        """Copy the data of a tenant outside of vaults. Raises VaultMissing without a key document, VaultDamaged if
        copies differ."""
        self._key_document(tenant_id)
        reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_KEYS)
        if not self._old.has_tables(tenant_id):
            return CopiedData()
        read = partial(self._old.tenant_body, tenant_id)
        rows, blobs = self._new.tenant_rows(tenant_id), self._new.blobs(tenant_id, "")
        with self._old.tenant(tenant_id) as source:
            names = [name for (name,) in source.rows(_BODIES)]
            size = copy_bodies(names, read, blobs)
            reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_TENANT_BODIES)
            count = _replaced(source, rows, table_copy.TENANT)
            reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_TENANT_ROWS)
            _check_same(source, rows, table_copy.TENANT, f"the tenant {tenant_id}")
        return CopiedData(count, len(names), size)

    def _key_document(self, tenant_id: str) -> None:
        data, documents = self._old.key_document(tenant_id), self._new.key_documents(tenant_id)
        with contextlib.suppress(errors.VaultMissing):
            if documents.read() == data:
                return
        with documents.changing():
            documents.replace(data)

    def agent(self, tenant_id: str, agent_id: str, vault_id: str) -> CopiedData:
        """Copy the vault of an agent. Raises VaultDamaged if it is not the listed one, or if copies differ."""
        read = partial(self._old.vault_body, tenant_id, agent_id)
        rows, blobs = self._new.vault_rows(tenant_id, agent_id), self._new.blobs(tenant_id, agent_id)
        with self._old.vault(tenant_id, agent_id) as source:
            if source.row(_VAULT) != (vault_id,):
                raise errors.VaultDamaged(
                    f"the endpoint recorded the vault id {vault_id} for the agent {agent_id}, but the vault has "
                    "another id"
                )
            names = [name for (name,) in source.rows(_FILES)]
            # An earlier attempt has copied this vault, perhaps partly.
            if rows.row(_VAULT) is not None:
                if table_copy.find_different_table(source, rows, table_copy.VAULT) is None and has_same_bodies(
                    names, read, blobs
                ):
                    return CopiedData(_counted(source), len(names), blobs.size())
                self._new.tenant(tenant_id, self._clock.now()).remove_vault(agent_id)
            return self._vault(source, rows, blobs, names, read, agent_id)

    def _vault(
        self,
        source: MetadataStore,
        rows: MetadataStore,
        blobs: BlobStore,
        names: list[str],
        read: partial[bytes],
        agent_id: str,
    ) -> CopiedData:
        """Copy bodies before rows, so that rows never name missing bodies."""
        size = copy_bodies(names, read, blobs)
        reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_BODIES)
        rows.prepare()
        with rows.transaction():
            count = table_copy.copy_tables(source, rows, table_copy.VAULT)
            reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_ROWS)
        reach_crash_point(CrashPoint.ENDPOINT_MIGRATE_COMMITTED)
        _check_same(source, rows, table_copy.VAULT, f"the agent {agent_id}")
        return CopiedData(count, len(names), size)


def _replaced(source: MetadataStore, target: MetadataStore, which: Iterable[table_copy.CopiedTable]) -> int:
    with target.transaction():
        table_copy.empty_tables(target, which)
        return table_copy.copy_tables(source, target, which)


def _check_same(
    source: MetadataStore, target: MetadataStore, which: Iterable[table_copy.CopiedTable], what: str
) -> None:
    found = table_copy.find_different_table(source, target, which)
    if found is not None:
        raise errors.VaultDamaged(f"{what}: the copy of the table {found} differs from the original")


def _counted(source: MetadataStore) -> int:
    rows = (source.row(f"select count(*) from {table.name}") for table in table_copy.VAULT)
    return sum(0 if row is None else int(row[0]) for row in rows)


def copy_bodies(names: Collection[str], read: Callable[[str], bytes], target: BlobStore) -> int:
    """Make the target hold exactly these bodies, regardless of what an earlier attempt left; return their bytes.

    At most one body is in memory, as often as the target needs it.
    """
    there, size = set(target.names()), 0
    for name in there.difference(names):
        target.remove(name)
    for name in names:
        data = read(name)
        if name in there and not _holds(target, name, data):
            target.remove(name)
            there.discard(name)
        if name not in there:
            target.put(name, data)
        size += len(data)
    target.flush()
    return size


def has_same_bodies(names: Collection[str], read: Callable[[str], bytes], target: BlobStore) -> bool:
    """Whether the target holds exactly these bodies."""
    return set(target.names()) == set(names) and all(_holds(target, name, read(name)) for name in names)


def _holds(target: BlobStore, name: str, data: bytes) -> bool:
    """Return whether the target has this body; False also for one that was written partly or never."""
    try:
        found = target.read(name)
    except errors.VaultDamaged:
        return False
    return hashlib.sha256(found).digest() == hashlib.sha256(data).digest()
