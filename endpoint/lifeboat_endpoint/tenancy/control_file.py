"""control.db as a file: each thread has a connection of its own."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

from lifeboat_alf import times
from lifeboat_alf.seams.clock import Clock
from lifeboat_endpoint.tenancy import schema
from lifeboat_endpoint.tenancy import statements as sql
from lifeboat_vault.store.migrations import migrate
from lifeboat_vault.store.sqlite import SqliteStore
from lifeboat_vault.vault import audit

CONTROL = "control.db"


class ControlFile:
    """The `ControlStores` of one file, for many threads."""

    shared = False

    def __init__(self, path: Path) -> None:
        """A file that is there. Raises VaultMissing, VaultNewer, VaultDamaged."""
        self._path = path
        self._own = threading.local()
        migrate(self.control(), path, schema.STEPS, schema.VERSION, table="control")

    def control(self, *, tenant: str | None = None, token: str | None = None) -> SqliteStore:
        """The connection of this thread; a file shows everything to everybody. One that only reads is opened again each
        time: it sees nothing of what others write, so a token that is revoked would go on to count."""
        store: SqliteStore | None = getattr(self._own, "store", None)
        if store is not None and store.is_read_only:
            self.close_thread()
            store = None
        if store is None:
            store = self._own.store = SqliteStore(self._path, tables=schema.TABLES)
        return store

    def check_unmoved(self, *, changes: bool = False) -> None:
        """A file by itself is moved by nobody."""

    def close_thread(self) -> None:
        store: SqliteStore | None = self._own.__dict__.pop("store", None)
        if store is not None:
            store.close()


def create_control(path: Path, clock: Clock) -> None:
    """Make the tables, in a file that may be there without them."""
    with contextlib.closing(SqliteStore(path, create=True, tables=schema.TABLES)) as store:
        store.prepare()
        with store.transaction():
            if store.row(sql.CONTROL) is None:
                store.execute(sql.ADD_CONTROL, (schema.VERSION, times.to_text(clock.now())))
                audit.append(store, clock.now(), "endpoint.create", "")
    path.chmod(0o600)
