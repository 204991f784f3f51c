"""A tenant goes: its tokens at once, then its keys, then its files, then its rows. Whatever ends half-way is taken up
by the next run: while there is a row, somebody knows what is left to do."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from pathlib import Path

from lifeboat_alf import ids, times
from lifeboat_alf.seams.steps import Step, reached
from lifeboat_endpoint.at_rest.data_keys import FILE as KEYS
from lifeboat_endpoint.endpoint import TENANTS, Endpoint
from lifeboat_endpoint.errors import UnknownTenant
from lifeboat_endpoint.maintenance.figures import files_in
from lifeboat_endpoint.maintenance.locking import PATIENCE, alone
from lifeboat_endpoint.store.disk import translated

_NOBODYS = timedelta(days=1)


def remove_tenant(endpoint: Endpoint, tenant_id: str) -> int:
    """All that is kept of a tenant; the bytes that are free then. Once its keys are gone nothing can be read any more,
    whatever becomes of the files. Raises UnknownTenant."""
    with alone(endpoint.folder / TENANTS, seconds=PATIENCE):
        return _removed(endpoint, tenant_id)


def _removed(endpoint: Endpoint, tenant_id: str) -> int:
    endpoint.control.begin_removal(tenant_id)
    endpoint.forget(tenant_id)
    reached(Step.TENANT_MARKED)
    folder = endpoint.tenant_folder(tenant_id)
    with translated(), contextlib.suppress(FileNotFoundError):
        endpoint.files.remove(folder / KEYS)
        endpoint.files.sync_folder(folder)
    reached(Step.TENANT_KEYS_DESTROYED)
    freed = _remove_folder(endpoint, folder)
    reached(Step.TENANT_FILES_REMOVED)
    endpoint.control.remove_tenant(tenant_id)
    reached(Step.TENANT_ROWS_REMOVED)
    endpoint.control.compact()
    return freed


def finish_removals(endpoint: Endpoint) -> list[str]:
    """Go on with removals that were interrupted; the ids of the tenants that are gone now."""
    begun = [tenant.id for tenant in endpoint.control.tenants() if tenant.state == "removing"]
    for tenant_id in begun:
        with contextlib.suppress(UnknownTenant):  # somebody else came to its end
            remove_tenant(endpoint, tenant_id)
    return begun


def remove_nobodys(endpoint: Endpoint) -> int:
    """Remove folders of tenants that there are not, a day after they were made: left by a process that ended between a
    folder and its row, or a row and its folder. How many."""
    known = {tenant.id for tenant in endpoint.control.tenants()}
    young = endpoint.clock.now() - _NOBODYS
    removed = 0
    with translated():
        entries = endpoint.files.scan(endpoint.folder / TENANTS)
    for entry in entries:
        changed = times.from_nanoseconds(endpoint.files.lstat(entry.path).st_mtime_ns)
        if ids.is_uuid(entry.name) and entry.name not in known and changed < young:
            _remove_folder(endpoint, Path(entry.path))
            removed += 1
    return removed


def _remove_folder(endpoint: Endpoint, folder: Path) -> int:
    freed = 0
    with translated():
        for path, size in [*files_in(endpoint.files, folder), (folder, 0)]:
            with contextlib.suppress(FileNotFoundError):
                is_folder = path.is_dir() and not path.is_symlink()
                endpoint.files.remove_folder(path) if is_folder else endpoint.files.remove(path)
                freed += size
        endpoint.files.sync_folder(folder.parent)
    return freed
