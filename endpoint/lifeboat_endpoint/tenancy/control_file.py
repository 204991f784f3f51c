"""control.db as a file, with one connection per thread."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from lifeboat_alf.common import times
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_endpoint.tenancy import control_schema
from lifeboat_endpoint.tenancy import control_statements as sql
from lifeboat_vault.rows import audit_chain
from lifeboat_vault.store.schema_migrations import migrate_tables
from lifeboat_vault.store.sqlite_store import SqliteStore

CONTROL = "control.db"


class ControlFile:
    """The `ControlStores` of one file, for many threads."""

    shared = False

    def __init__(self, path: Path) -> None:
        """Open an existing file. Raises VaultMissing, VaultNewer, VaultDamaged."""
        self._path = path
        self._own = threading.local()
        migrate_tables(self.control(), path, control_schema.STEPS, control_schema.VERSION, table="control")

    def control(self, *, tenant: str | None = None, token: str | None = None) -> SqliteStore:
        """Return the connection of this thread. A file has no row-level security, so `tenant` and `token` are ignored.

        A read-only connection is opened again each time: it does not see changes of other processes, so a revoked token
        would stay valid.
        """
        store: SqliteStore | None = getattr(self._own, "store", None)
        if store is not None and store.is_read_only:
            self.close_thread()
            store = None
        if store is None:
            store = self._own.store = SqliteStore(self._path, tables=control_schema.TABLES)
        return store

    def check_unmoved(self, *, changes: bool = False) -> None:
        """Do nothing: a single file is never moved."""

    def close_thread(self) -> None:
        store: SqliteStore | None = self._own.__dict__.pop("store", None)
        if store is not None:
            store.close()


def create_control(path: Path, clock: Clock) -> None:
    """Make the tables, in a file that may exist without them."""
    with contextlib.closing(SqliteStore(path, create=True, tables=control_schema.TABLES)) as store:
        store.prepare()
        with store.transaction():
            if store.row(sql.CONTROL) is None:
                store.execute(sql.ADD_CONTROL, (control_schema.VERSION, times.to_text(clock.now())))
                audit_chain.append_row(store, clock.now(), "endpoint.create", "")
    path.chmod(0o600)
