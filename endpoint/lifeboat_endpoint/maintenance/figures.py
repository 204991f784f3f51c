"""How much is kept of a tenant, told without any of its keys."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lifeboat_alf.seams.files import FileOperations
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.service import statements as sql
from lifeboat_endpoint.service.tables import FILE
from lifeboat_endpoint.store.sqlite import SqliteStore
from lifeboat_endpoint.tenancy.rows import Tenant


@dataclass(frozen=True, slots=True)
class Figures:
    """`bytes` on disk."""

    agents: int
    bytes: int


def figures(endpoint: Endpoint, tenant: Tenant) -> Figures:
    """Raises VaultDamaged."""
    folder = endpoint.tenant_folder(tenant.id)
    return Figures(_agents(folder), sum(size for _, size in files_in(endpoint.files, folder)))


def _agents(folder: Path) -> int:
    if not (folder / FILE).exists():
        return 0
    with contextlib.closing(SqliteStore(folder / FILE)) as metadata:
        return sum(1 for _ in metadata.rows(sql.AGENT_IDS))


def files_in(files: FileOperations, folder: Path) -> Iterator[tuple[Path, int]]:
    """Everything under a folder with its size, what lies deepest first; folders have none. What goes meanwhile is left
    out, and links are not followed."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for entry in files.scan(folder):
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                yield from files_in(files, path)
                yield path, 0
                continue
            with contextlib.suppress(FileNotFoundError):
                yield path, files.lstat(path).st_size
