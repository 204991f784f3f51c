"""Storage of an endpoint in one data folder:

control.db        tenants, tokens, audit (`tenancy`)
tenants/<id>/     keys.json, tenant.db, files/, and the vaults of its agents in agents/<id>/
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from lifeboat_alf.common import ids, times
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_endpoint.engines.contract import Sources, TenantUsage
from lifeboat_endpoint.engines.move_markers import MoveMarkers
from lifeboat_endpoint.service import tenant_bodies
from lifeboat_endpoint.service import tenant_statements as sql
from lifeboat_endpoint.service.tenant_tables import FILE as TABLES
from lifeboat_endpoint.service.tenant_tables import open_tables
from lifeboat_endpoint.tenancy.control_file import CONTROL, ControlFile
from lifeboat_vault import errors
from lifeboat_vault.at_rest.key_document_store import FolderKeyDocumentStore
from lifeboat_vault.at_rest.sealer import Sealer
from lifeboat_vault.store.disk_blobs import DiskBlobs, translate_errors
from lifeboat_vault.store.lock_file import hold_lock_file
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore
from lifeboat_vault.store.timed_operations import ConnectionCounts
from lifeboat_vault.vault import Vault
from lifeboat_vault.vault.open_vault import FILE as VAULT

TENANTS = "tenants"
AGENTS = "agents"
_CARE_LOCK = "care.lock"
_FOLDERS = {"care": "", "removal": TENANTS}
"""Folders of locks that earlier releases had already, whose processes still lock there."""


class FilesEngine:
    """An `Engine` in `folder`."""

    shared = False

    def __init__(self, folder: Path, *, files: FileOperations, clock: Clock) -> None:
        """Raises VaultMissing, VaultNewer, VaultDamaged for its control.db."""
        self._folder = folder
        self._files = files
        self._clock = clock
        self._control = ControlFile(folder / CONTROL)
        self._markers = MoveMarkers(folder)

    def control(self, *, tenant: str | None = None, token: str | None = None) -> MetadataStore:
        return self._control.control()

    def tenant(self, tenant_id: str, now: datetime) -> FolderPlace:
        folder, allowed = self._tenant_folder(tenant_id), self._markers.check
        return FolderPlace(folder, tenant_id, files=self._files, clock=self._clock, allowed=allowed)

    def key_documents(self, tenant_id: str, sources: Sources | None = None) -> FolderKeyDocumentStore:
        return FolderKeyDocumentStore(self._tenant_folder(tenant_id), self._files, self._markers.check)

    def alone(self, what: str, *, seconds: float) -> AbstractContextManager[None]:
        if what in _FOLDERS:
            return hold_care_lock(self._folder / _FOLDERS[what], seconds=seconds)
        busy = errors.EndpointBusy(f"another process is working on this part of the endpoint ({what})")
        return hold_lock_file(self._folder / f"{what}.lock", seconds=seconds, busy=busy)

    def figures(self, tenant_id: str) -> TenantUsage:
        folder = self._tenant_folder(tenant_id)
        return TenantUsage(_agents(folder), sum(size for _, size in files_in(self._files, folder)))

    def remove_tenant(self, tenant_id: str) -> int:
        return self._remove_folder(self._tenant_folder(tenant_id))

    def remove_nobodys(self, known: Collection[str], before: datetime) -> int:
        removed = 0
        with translate_errors():
            entries = list(self._files.scan(self._folder / TENANTS))
        for entry in entries:
            changed = times.from_nanoseconds(self._files.lstat(entry.path).st_mtime_ns)
            if ids.is_uuid(entry.name) and entry.name not in known and changed < before:
                self._remove_folder(Path(entry.path))
                removed += 1
        return removed

    def check_unmoved(self, *, changes: bool = False) -> None:
        self._markers.check() if changes else self._markers.check_here()

    def time(self) -> None:
        return None

    def sweep(self, now: datetime) -> int:
        """Do nothing: vaults and tenants sweep their own folders."""
        return 0

    def buckets(self) -> None:
        return None

    def connections(self) -> Mapping[str, ConnectionCounts]:
        return {}

    def checks(self) -> Mapping[str, Callable[[], None]]:
        return {"database": self._check_control, "moved": self.check_unmoved}

    def close_thread(self) -> None:
        self._control.close_thread()

    def close(self) -> None:
        """Do nothing: threads share no resources."""

    def _check_control(self) -> None:
        self.control().row("select schema from control")

    def _tenant_folder(self, tenant_id: str) -> Path:
        return self._folder / TENANTS / tenant_id

    def _remove_folder(self, folder: Path) -> int:
        freed = 0
        with translate_errors():
            for path, size in [*files_in(self._files, folder), (folder, 0)]:
                with contextlib.suppress(FileNotFoundError):
                    is_folder = path.is_dir() and not path.is_symlink()
                    self._files.remove_folder(path) if is_folder else self._files.remove(path)
                    freed += size
            self._files.sync_folder(folder.parent)
        return freed


class FolderPlace:
    """A `TenantPlace` in a folder. `allowed` raises when changes are not allowed."""

    leaves_remains = False

    def __init__(
        self,
        folder: Path,
        tenant_id: str,
        *,
        files: FileOperations,
        clock: Clock,
        allowed: Callable[[], None] = lambda: None,
    ) -> None:
        self.folder = folder
        self._vaults = folder / AGENTS
        self._files = files
        self._clock = clock
        self._allowed = allowed
        self.metadata: MetadataStore = open_tables(folder, tenant_id, files, clock, allowed)
        self.blobs: BlobStore = DiskBlobs(folder / tenant_bodies.FOLDER, files)

    def open_vault(self, agent_id: str, sealer: Sealer) -> Vault:
        folder = self._vaults / agent_id
        return Vault.open(folder, files=self._files, clock=self._clock, sealer=sealer, allowed=self._allowed)

    def create_vault(self, agent_id: str, sealer: Sealer) -> Vault:
        self._allowed()
        self.remove_vault(agent_id)
        folder = self._vaults / agent_id
        return Vault.create(folder, agent_id, files=self._files, clock=self._clock, sealer=sealer)

    def has_vault(self, agent_id: str) -> bool:
        return (self._vaults / agent_id / VAULT).exists()

    def vault_ids(self) -> list[str]:
        if not self._vaults.exists():
            return []
        return sorted(item.name for item in self._files.scan(self._vaults))

    def remains(self, agent_id: str) -> int:
        folder = self._vaults / agent_id
        return sum(path.is_file() for path in folder.rglob("*")) if folder.exists() else 0

    def remove_vault(self, agent_id: str, vault_id: str | None = None) -> None:
        folder = self._vaults / agent_id
        # A vault that cannot be read is removed too.
        if not folder.exists() or (vault_id is not None and _vault_in(folder) not in (None, vault_id)):
            return
        for path in sorted(folder.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        folder.rmdir()

    def alone(self, agent_id: str, *, seconds: float) -> AbstractContextManager[None]:
        return hold_care_lock(self._vaults / agent_id, seconds=seconds)

    def close(self) -> None:
        self.metadata.close()


def _vault_in(folder: Path) -> str | None:
    """Return the id of a vault, or None if it cannot be read."""
    with contextlib.suppress(errors.VaultError), contextlib.closing(SqliteStore(folder / VAULT)) as metadata:
        row = metadata.row("select id from vault")
        return None if row is None else str(row[0])
    return None


def files_in(files: FileOperations, folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield everything under a folder with its size, deepest first. Folders have size 0.

    Files that disappear meanwhile are left out, and links are not followed.
    """
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for entry in files.scan(folder):
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                yield from files_in(files, path)
                yield path, 0
                continue
            with contextlib.suppress(FileNotFoundError):
                yield path, files.lstat(path).st_size


def _agents(folder: Path) -> int:
    if not (folder / TABLES).exists():
        return 0
    with contextlib.closing(SqliteStore(folder / TABLES)) as metadata:
        return sum(1 for _ in metadata.rows(sql.AGENT_IDS))


def hold_care_lock(folder: Path, *, seconds: float) -> AbstractContextManager[None]:
    """Keep other processes from maintaining what is in a folder. Raises EndpointBusy.

    Pushes do not wait for this lock: a writer waits for the transactions of the vault, and each step of the maintenance
    is one short transaction.
    """
    busy = errors.EndpointBusy(f"another process is maintaining {folder.name}")
    return hold_lock_file(folder / _CARE_LOCK, seconds=seconds, busy=busy)
