"""The conformance tests of stores, on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_vault.at_rest.sealer import Sealer
from lifeboat_vault.store.disk_blobs import DiskBlobs
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore
from lifeboat_vault.testing.store_conformance import StoreConformance
from support.endpoint.sealed import new_sealer
from support.endpoint.shared_databases import TENANT, SharedDatabase, database, shared_database

__all__ = ["database"]


class TestPostgresAndDisk(StoreConformance):
    leaves_remains = True

    @pytest.fixture(autouse=True)
    def _connected(self, database: SharedDatabase) -> Iterator[None]:
        self.database = database
        with database.pools() as self.pools:
            yield

    def open_stores(self, folder: Path) -> tuple[MetadataStore, BlobStore]:
        rows = PostgresStore(self.pools.vault, "vault", tenant=TENANT, agent=f"{type(self).__name__} {folder}")
        return rows, DiskBlobs(folder / "bodies", SystemFiles())

    def files(self, folder: Path) -> list[Path]:
        """The files of the server after a flush, because data in memory only would be overlooked."""
        self.database.execute("checkpoint")
        return [folder, self.database.server.folder]


class TestSealedPostgresAndDisk(TestPostgresAndDisk):
    key = new_sealer()

    @pytest.fixture(autouse=True)
    def _connected(self, database: SharedDatabase, request: pytest.FixtureRequest) -> Iterator[None]:
        """Use a database of its own: the files of a server contain in clear what other tests wrote to it."""
        is_alone = "purged" in request.node.name
        with shared_database() if is_alone else nullcontext(database) as made, made.pools() as self.pools:
            self.database = made
            yield

    def sealer(self) -> Sealer:
        return self.key
