"""Bodies as objects. A row of the table `blob` names each of them, and an object without a row does not count.

The row is committed before the object is written and deleted after the object is gone. If a process ends in between,
the row still says which object may exist, and the sweep of orphans (`vault.objects.sweep`,
`service.tenant_bodies.sweep_orphans`) removes the objects that nothing else names. Nothing depends on listings, on
conditional writes or on the order of two writers: names are random, and each object is written once.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
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
"""Default size in bytes up to which a body is kept in a row, which is cheaper than a request."""

TABLES = (
    "create table blob(tenant text not null, scope text not null, name text not null, key text not null unique, "
    "size integer not null, written_at text not null, primary key(tenant, scope, name))",
)
"""The table for SQLite. `scope` is "" for bodies outside of vaults, else the agent; `key` is the name of the object."""

_ADD = "insert into blob(tenant, scope, name, key, size, written_at) values (?, ?, ?, ?, ?, ?)"
_FIND = "select key, size from blob where tenant = ? and scope = ? and name = ?"
_DROP = "delete from blob where tenant = ? and scope = ? and name = ?"
_NAMES = "select name from blob where tenant = ? and scope = ? order by name"
_SIZE = "select coalesce(sum(size), 0) from blob where tenant = ? and scope = ?"


@dataclass(frozen=True)
class ObjectBlobs:
    """A `BlobStore` in `bucket`, below the folder `prefix`.

    `rows` holds the table. Its statements run outside of any transaction, because a rollback could remove the row of an
    object that is being written. Bodies up to `inline` bytes belong in a row instead. Belongs to the thread of `rows`.
    """

    bucket: Bucket
    rows: MetadataStore
    tenant: str
    scope: str
    prefix: str
    inline: int = LARGEST_INLINE
    clock: Clock = field(default_factory=SystemClock)

    @property
    def _mine(self) -> tuple[str, str]:
        return self.tenant, self.scope

    def put(self, name: str, data: bytes) -> None:
        key = new_key(self.prefix)
        reach_crash_point(CrashPoint.BLOB_NAMED)
        self.rows.execute(_ADD, (*self._mine, name, key, len(data), times.to_text(self.clock.now())))
        reach_crash_point(CrashPoint.BLOB_WRITTEN)
        try:
            self.bucket.put(key, data)
        except errors.VaultError:
            # No row refers to a partial body. If this fails too, the next sweep removes it.
            with contextlib.suppress(errors.VaultError):
                self._drop(name, key)
            raise

    def flush(self) -> None:
        """Do nothing: `put` returns after the store has returned the object unchanged."""

    def read(self, name: str) -> bytes:
        row = self.rows.row(_FIND, (*self._mine, name))
        if row is None:
            raise errors.VaultDamaged(f"the stored content {name} is missing")
        key, size = row
        data = self.bucket.get(key, size)
        if len(data) != size:
            raise errors.VaultDamaged(f"the stored content {name} has {len(data)} bytes, expected {size}")
        return data

    def names(self) -> Iterator[str]:
        for (name,) in self.rows.rows(_NAMES, self._mine):
            yield name

    def remove(self, name: str) -> None:
        row = self.rows.row(_FIND, (*self._mine, name))
        if row is not None:
            self._drop(name, row[0])

    def _drop(self, name: str, key: str) -> None:
        reach_crash_point(CrashPoint.BLOB_REMOVED)
        self.bucket.delete(key)
        reach_crash_point(CrashPoint.BLOB_FORGOTTEN)
        self.rows.execute(_DROP, (*self._mine, name))

    def size(self) -> int:
        row = self.rows.row(_SIZE, self._mine)
        return int(row[0]) if row else 0

    def copy_to(self, folder: Path) -> None:
        target = DiskBlobs(folder, SystemFiles())
        for name in list(self.names()):
            target.put(name, self.read(name))
        target.flush()


def new_key(prefix: str) -> str:
    """Return an unguessable key. Its first two digits spread objects that are written at the same time."""
    return f"{prefix}/{secrets.token_hex(1)}/{secrets.token_hex(32)}"
