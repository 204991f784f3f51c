"""The data folder of the endpoint that is migrated. Nothing is written to it, except upgrades of old tables."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_endpoint.engines.files_engine import AGENTS, TENANTS
from lifeboat_endpoint.migration.table_copy import add_hash_function
from lifeboat_endpoint.service import tenant_bodies, tenant_schema
from lifeboat_endpoint.service.tenant_tables import FILE as TABLES
from lifeboat_endpoint.tenancy import control_schema as control_schema
from lifeboat_endpoint.tenancy.control_file import CONTROL
from lifeboat_vault import errors
from lifeboat_vault.at_rest.key_document_store import FolderKeyDocumentStore
from lifeboat_vault.store.disk_blobs import DiskBlobs, translate_errors
from lifeboat_vault.store.schema_migrations import STEPS, Steps, migrate_tables
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.store.vault_schema import TABLES as VAULT_TABLES
from lifeboat_vault.store.vault_schema import VERSION as VAULT_VERSION
from lifeboat_vault.vault.open_vault import BODIES
from lifeboat_vault.vault.open_vault import FILE as VAULT

_VERSIONS = {"control": control_schema.VERSION, "tenant": tenant_schema.VERSION, "vault": VAULT_VERSION}


class OldFolder:
    """The old data folder, for many threads. The caller closes each store that it gets."""

    def __init__(self, folder: Path, files: FileOperations) -> None:
        self.folder = folder
        self._files = files

    @contextlib.contextmanager
    def control(self) -> Iterator[SqliteStore]:
        """Open control.db, in which tokens may still change. Raises VaultMissing, VaultDamaged."""
        with self._opened(self.folder / CONTROL, control_schema.TABLES, control_schema.STEPS, "control") as store:
            yield store

    def has_tables(self, tenant_id: str) -> bool:
        """Whether the tenant has tables: they are made when it is used first."""
        return (self._tenant(tenant_id) / TABLES).exists()

    @contextlib.contextmanager
    def tenant(self, tenant_id: str) -> Iterator[SqliteStore]:
        """Open a snapshot of the tables of a tenant, after changes that were still running. Raises VaultMissing,
        VaultDamaged."""
        with self._moment(
            self._tenant(tenant_id) / TABLES, tenant_schema.TABLES, tenant_schema.STEPS, "tenant"
        ) as store:
            yield store

    @contextlib.contextmanager
    def vault(self, tenant_id: str, agent_id: str) -> Iterator[SqliteStore]:
        """Open a snapshot of a vault, after changes that were still running."""
        with self._moment(self._vault(tenant_id, agent_id) / VAULT, VAULT_TABLES, STEPS, "vault") as store:
            yield store

    def tenant_body(self, tenant_id: str, name: str) -> bytes:
        """Read a body. Raises VaultDamaged if it is missing."""
        return DiskBlobs(self._tenant(tenant_id) / tenant_bodies.FOLDER, self._files).read(name)

    def vault_body(self, tenant_id: str, agent_id: str, name: str) -> bytes:
        return DiskBlobs(self._vault(tenant_id, agent_id) / BODIES, self._files).read(name)

    def key_document(self, tenant_id: str) -> bytes:
        """Read the key document after changes that were still running. Raises VaultMissing, VaultBusy."""
        documents = FolderKeyDocumentStore(self._tenant(tenant_id), self._files)
        with documents.changing():
            return documents.read()

    def _tenant(self, tenant_id: str) -> Path:
        return self.folder / TENANTS / tenant_id

    def _vault(self, tenant_id: str, agent_id: str) -> Path:
        return self._tenant(tenant_id) / AGENTS / agent_id

    @contextlib.contextmanager
    def _moment(self, path: Path, tables: Sequence[str], steps: Steps, table: str) -> Iterator[SqliteStore]:
        with self._opened(path, tables, steps, table) as store:
            wait_for_writers(store)
            with store.snapshot():
                yield store

    @contextlib.contextmanager
    def _opened(self, path: Path, tables: Sequence[str], steps: Steps, table: str) -> Iterator[SqliteStore]:
        with _file(path, tables) as store:
            migrate_tables(store, path, steps, _VERSIONS[table], table=table)
            yield add_hash_function(store)


def wait_for_writers(store: SqliteStore) -> None:
    """Wait for running transactions. Later ones find the marker and are refused. Raises VaultBusy."""
    with store.transaction():
        pass


@contextlib.contextmanager
def _file(path: Path, tables: Sequence[str]) -> Iterator[SqliteStore]:
    """Open a SQLite file, or a temporary copy of it if the disk is full.

    On a full disk SQLite opens only files that some process has open already. Other files are copied to the disk of
    temporary files: no process can write to them. Raises VaultFull if that disk is full too.
    """
    with contextlib.ExitStack() as stack:
        try:
            store = _writable(path, tables)
        except errors.VaultFull:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lifeboat-move.")))
            store = SqliteStore(_copied(path, folder), tables=tables)
        stack.callback(store.close)
        yield store


def _writable(path: Path, tables: Sequence[str]) -> SqliteStore:
    """Raises VaultFull if the file could only be read."""
    store = SqliteStore(path, tables=tables)
    if store.is_read_only:
        store.close()
        raise errors.VaultFull(f"{path}: the file cannot be written")
    return store


def _copied(path: Path, folder: Path) -> Path:
    """Copy a file together with its log."""
    with translate_errors():
        for file in (path, path.with_name(f"{path.name}-wal")):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(file, folder / file.name)
    return folder / path.name
