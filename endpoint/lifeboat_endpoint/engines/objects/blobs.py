"""Bodies as objects. A row of the table `blob` names each, and only what a row names is there.

The row is committed before the object is written, and dropped after the object is gone: wherever a process ends, a row
says what may lie in the store, and a sweep of orphans (`body_objects.remove_orphans`, `sweep_orphans`) removes
what nothing else names. Nothing rests on a listing, on conditional writes or on the order of two writers: names are
random, and an object is written once.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path

from lifeboat_alf.common import times
from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.seams.system_clock import Clock, SystemClock
from lifeboat_endpoint.engines.objects.bucket import Bucket
from lifeboat_vault import errors
from lifeboat_vault.store.disk_blobs import DiskBlobs
from lifeboat_vault.store.store_protocols import MetadataStore

LARGEST_INLINE = 64 << 10
"""Bytes: below it a row costs less than a request, unless settings say otherwise."""

TABLES = (
    "create table blob(tenant text not null, scope text not null, name text not null, key text not null unique, "
    "size integer not null, written_at text not null, primary key(tenant, scope, name))",
)
"""As SQLite spells it. `scope` is "" for bodies outside of vaults, else the agent; `key` that of the object."""

_ADD = "insert into blob(tenant, scope, name, key, size, written_at) values (?, ?, ?, ?, ?, ?)"
_FIND = "select key, size from blob where tenant = ? and scope = ? and name = ?"
_DROP = "delete from blob where tenant = ? and scope = ? and name = ?"
_NAMES = "select name from blob where tenant = ? and scope = ? order by name"
_SIZE = "select coalesce(sum(size), 0) from blob where tenant = ? and scope = ?"


class ObjectBlobs:
    """A `BlobStore` in `bucket`, below the folder `prefix`. `rows` holds the table; its statements here stand alone,
    outside of any transaction: a row that a rollback could take back would not name what is on its way. Bodies up to
    `inline` bytes belong into a row instead. Belongs to the thread that `rows` belongs to."""

    def __init__(
        self,
        bucket: Bucket,
        rows: MetadataStore,
        *,
        tenant: str,
        scope: str,
        prefix: str,
        inline: int = LARGEST_INLINE,
        clock: Clock | None = None,
    ) -> None:
        self._bucket = bucket
        self._rows = rows
        self._mine = (tenant, scope)
        self._prefix = prefix
        self._inline = inline
        self._clock = clock or SystemClock()

    @property
    def inline(self) -> int:
        return self._inline

    def put(self, name: str, data: bytes) -> None:
        key = new_key(self._prefix)
        reach_crash_point(CrashPoint.BLOB_NAMED)
        self._rows.execute(_ADD, (*self._mine, name, key, len(data), times.to_text(self._clock.now())))
        reach_crash_point(CrashPoint.BLOB_WRITTEN)
        try:
            self._bucket.put(key, data)
        except errors.VaultError:
            # Half a body is nobody's; if even this fails the next sweep takes it.
            with contextlib.suppress(errors.VaultError):
                self._drop(name, key)
            raise

    def flush(self) -> None:
        """Nothing is left to do: `put` returns when the store has the object and gave it back unchanged."""

    def read(self, name: str) -> bytes:
        row = self._rows.row(_FIND, (*self._mine, name))
        if row is None:
            raise errors.VaultDamaged(f"the body {name} is missing")
        key, size = row
        data = self._bucket.get(key, size)
        if len(data) != size:
            raise errors.VaultDamaged(f"the body {name} has {len(data)} bytes, not {size}")
        return data

    def names(self) -> Iterator[str]:
        for (name,) in self._rows.rows(_NAMES, self._mine):
            yield name

    def remove(self, name: str) -> None:
        row = self._rows.row(_FIND, (*self._mine, name))
        if row is not None:
            self._drop(name, row[0])

    def _drop(self, name: str, key: str) -> None:
        reach_crash_point(CrashPoint.BLOB_REMOVED)
        self._bucket.delete(key)
        reach_crash_point(CrashPoint.BLOB_FORGOTTEN)
        self._rows.execute(_DROP, (*self._mine, name))

    def size(self) -> int:
        row = self._rows.row(_SIZE, self._mine)
        return int(row[0]) if row else 0

    def copy_to(self, folder: Path) -> None:
        target = DiskBlobs(folder, SystemFiles())
        for name in list(self.names()):
            target.put(name, self.read(name))
        target.flush()


def new_key(prefix: str) -> str:
    """A key that nobody can guess and that says nothing; the first two digits spread what is near in time."""
    return f"{prefix}/{secrets.token_hex(1)}/{secrets.token_hex(32)}"
