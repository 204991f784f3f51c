from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_vault.at_rest.sealer import Sealer
from lifeboat_vault.store.disk_blobs import DiskBlobs
from lifeboat_vault.store.sqlite_store import SqliteStore
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore
from lifeboat_vault.testing.store_conformance import StoreConformance
from support.endpoint.sealed import new_sealer


class TestSqliteAndDisk(StoreConformance):
    def open_stores(self, folder: Path) -> tuple[MetadataStore, BlobStore]:
        return SqliteStore(folder / "rows.db", create=True), DiskBlobs(folder / "bodies", SystemFiles())


class TestSealedSqliteAndDisk(TestSqliteAndDisk):
    key = new_sealer()

    def sealer(self) -> Sealer:
        return self.key


def test_the_file_is_set_up_as_promised(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "rows.db", create=True)
    store.prepare()
    pragmas = {"auto_vacuum": 2, "journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1}
    assert {name: store.row(f"pragma {name}") for name in pragmas} == {name: (is_,) for name, is_ in pragmas.items()}
    assert store.row("pragma busy_timeout") == (10_000,)


def test_a_thread_that_opens_a_database_takes_no_lock_from_another(tmp_path: Path) -> None:
    """Otherwise a process that closes it removes the log under a process that has it open."""
    path = tmp_path / "tenant.db"
    first = SqliteStore(path, create=True)
    first.prepare()
    second = SqliteStore(path, create=True)
    look = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('select * from sqlite_master'); c.close()"
    subprocess.run([sys.executable, "-c", look, str(path)], check=True)
    assert path.with_name("tenant.db-wal").exists()
    assert path.stat().st_mode & 0o077 == 0
    first.close()
    second.close()
    assert [file.name for file in tmp_path.iterdir()] == ["tenant.db"]
