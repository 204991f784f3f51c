"""Storage of an endpoint in PostgreSQL and an object store, for any number of processes on any number of machines.

The rows decide what exists. A large body is an object with a random name, which a row lists before it is written. The
wrapped data keys are objects too: a deleted object is gone, while a deleted row survives for a while.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from lifeboat_alf.common import times
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_endpoint.endpoint_config import SharedStore
from lifeboat_endpoint.engines import shared_statements as sql
from lifeboat_endpoint.engines.contract import BucketRows, Sources, TenantUsage
from lifeboat_endpoint.engines.objects import store_address
from lifeboat_endpoint.engines.objects.blobs import ObjectBlobs
from lifeboat_endpoint.engines.objects.bucket import Bucket
from lifeboat_endpoint.engines.objects.bucket_sweep import named_by, sweep_bucket, tenant_of
from lifeboat_endpoint.engines.objects.place_owner import check_claim
from lifeboat_endpoint.engines.postgres import postgres_schema
from lifeboat_endpoint.engines.postgres.connection_pools import Database, Pools, check_database_address
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_endpoint.engines.postgres.rate_rows import PostgresBuckets
from lifeboat_endpoint.engines.shared_keys import KEYS, ObjectKeyDocuments, is_of, nothing_known
from lifeboat_endpoint.service.tenant_tables import check_tenant
from lifeboat_vault import errors
from lifeboat_vault.at_rest.sealer import Sealer
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore
from lifeboat_vault.store.timed_operations import ConnectionCounts
from lifeboat_vault.vault import Vault
from lifeboat_vault.vault.vault_creation import create_tables

if TYPE_CHECKING:
    from lifeboat_endpoint.engines.engine_choice import Role

UNFINISHED = "unfinished:"
"""Prefix of the id in the database while an endpoint is being moved into it (see `migration`)."""
BODIES = "bodies"
"""Folder of the object store with one folder per tenant."""
_MOST_DOCUMENTS = 1000
_REPLACED = timedelta(days=2)
"""How long a replaced key document may stay that a crash left behind."""


class SharedEngine:
    """An `Engine` on a `SharedStore`. It connects on first use."""

    shared = True

    def __init__(
        self,
        store: SharedStore,
        endpoint_id: str,
        role: Role,
        *,
        files: FileOperations,
        clock: Clock,
        begun: bool = False,
    ) -> None:
        """`begun`: the caller is moving an endpoint there. Raises EndpointSettings for unsafe addresses,
        ServerMissing."""
        self.store = store
        self._endpoint_id = endpoint_id
        self.files = files
        self.clock = clock
        self._begun = begun
        name = store.api_role if role == "api" else store.worker_role
        self.pools = Pools(Database(check_database_address(store.database), name), connections=store.connections)
        self._objects = store_address.check_store_address(store.objects, store.object_options)
        self._bucket: Bucket | None = None
        self._own = threading.local()
        self._checked = False
        self._documents: dict[str, bytes] = {}

    # Database -----------------------------------------------------------------------------------------------------

    def control(self, *, tenant: str | None = None, token: str | None = None) -> MetadataStore:
        self._check_tables()
        if tenant is not None or token is not None:
            return PostgresStore(self.pools.control, "control", tenant=tenant, token=token)
        store: PostgresStore | None = getattr(self._own, "control", None)
        if store is None:
            store = self._own.control = PostgresStore(self.pools.control, "control", tenant=None)
        return store

    def tenant(self, tenant_id: str, now: datetime) -> SharedPlace:
        self._check_tables()
        return SharedPlace(self, tenant_id, now)

    def key_documents(self, tenant_id: str, sources: Sources = nothing_known) -> ObjectKeyDocuments:
        self._check_tables()
        return ObjectKeyDocuments(self, tenant_id, sources)

    def vault_rows(self, tenant_id: str, agent_id: str) -> PostgresStore:
        return PostgresStore(self.pools.vault, "vault", tenant=tenant_id, agent=agent_id)

    def tenant_rows(self, tenant_id: str) -> PostgresStore:
        return PostgresStore(self.pools.tenant, "tenant", tenant=tenant_id)

    def body_rows(self, tenant_id: str) -> PostgresStore:
        return PostgresStore(self.pools.bodies, "bodies", tenant=tenant_id)

    # Object store -------------------------------------------------------------------------------------------------

    @property
    def bucket(self) -> Bucket:
        """The object store. Raises EndpointSettings if the place belongs to another endpoint.

        Two threads may open it at the same time, so that no thread waits for the answer to another.
        """
        if self._bucket is None:
            bucket = store_address.open_store(self._objects)
            check_claim(bucket, self._endpoint_id)
            self._bucket = bucket
        return self._bucket

    def blobs(self, tenant_id: str, scope: str) -> ObjectBlobs:
        """Return the bodies of a vault (`scope`: the agent's id), or of a tenant ("")."""
        return ObjectBlobs(
            self.bucket,
            self.body_rows(tenant_id),
            tenant=tenant_id,
            scope=scope,
            prefix=f"{BODIES}/{tenant_id}",
            inline=self.store.inline_bytes,
            clock=self.clock,
        )

    def document(self, key: str) -> bytes | None:
        """Return a key document, or None if it does not exist. Documents never change, so they are cached.

        Raises VaultDamaged if the content does not match the digest in the name.
        """
        found = self._documents.get(key)
        if found is None:
            try:
                found = self.bucket.get(key)
            except errors.VaultDamaged:
                return None
            if not is_of(key, found):
                raise errors.VaultDamaged(f"the content of the object {key} was changed")
            if len(self._documents) >= _MOST_DOCUMENTS:
                self._documents.clear()
            self._documents[key] = found
        return found

    # Locks --------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def alone(self, what: str, *, seconds: float) -> Iterator[None]:
        """Take an advisory lock on a separate connection: it ends with the process or the connection."""
        deadline = time.monotonic() + seconds
        with self.pools.lone() as connection:
            while connection.execute(sql.TRY_LOCK, (_lock_number(what),)).fetchone() != (True,):
                if time.monotonic() >= deadline:
                    raise errors.EndpointBusy(f"another process is working on this part of the endpoint ({what})")
                time.sleep(min(0.1, max(0.0, deadline - time.monotonic())))
            yield

    # Tenants ------------------------------------------------------------------------------------------------------

    def figures(self, tenant_id: str) -> TenantUsage:
        place = self.tenant(tenant_id, self.clock.now())
        agents = _number(place.metadata, sql.AGENTS)
        size = place.metadata.size() + _number(self.body_rows(tenant_id), sql.BYTES_OF_BLOBS)
        return TenantUsage(agents, size + sum(self.vault_rows(tenant_id, each).size() for each in place.vault_ids()))

    def remove_tenant(self, tenant_id: str) -> int:
        """Remove a tenant. Objects go first, because their rows are the only list of them."""
        freed = self.figures(tenant_id).bytes
        place = self.tenant(tenant_id, self.clock.now())
        for agent_id in place.vault_ids():
            place.remove_vault(agent_id)
        _remove_all(place.blobs)
        with place.metadata.transaction():
            for statement in sql.DROP_TENANT_ROWS:
                place.metadata.execute(statement)
        return freed

    def remove_nobodys(self, known: Collection[str], before: datetime) -> int:
        """Remove tenants that have a key document and no row. All their other data is found by the tenant's id."""
        self._check_held()
        rows = list(self.control().rows(sql.OLD_DOCUMENTS, (times.to_text(before),)))
        loose = [tenant_id for (tenant_id,) in rows if tenant_id not in known]
        for tenant_id in loose:
            self.remove_tenant(tenant_id)
            self.key_documents(tenant_id).remove()
        return len(loose)

    # Checks and sweeps --------------------------------------------------------------------------------------------

    def check_unmoved(self, *, changes: bool = False) -> None:
        """Do nothing: a shared endpoint is not moved while it is served."""

    def time(self) -> datetime:
        row = self.control().row(sql.TIME)
        assert row is not None
        return times.from_nanoseconds(int(row[0]) * 1000)

    def sweep(self, now: datetime) -> int:
        """Remove objects that were left when a database was restored to an earlier time, or by a process that ended."""
        self._check_held()
        before = now - timedelta(days=self.store.loose_days)
        bodies = sweep_bucket(self.bucket, self._needed_bodies, prefix=BODIES, before=before)
        # A replaced document may hold keys that were destroyed since, so it goes sooner.
        keys = sweep_bucket(self.bucket, self._needed_documents, prefix=KEYS, before=now - _REPLACED)
        return bodies.removed + keys.removed

    def _needed_bodies(self, keys: Sequence[str]) -> Collection[str]:
        """Return the keys that rows name, and those of unknown tenants: the database may yet be restored to a time that
        has them."""
        known = self._documents_named()
        mine, needed = named_by(self.body_rows), {key for key in keys if tenant_of(key) not in known}
        return needed.union(mine([key for key in keys if key not in needed]))

    def _needed_documents(self, keys: Sequence[str]) -> Collection[str]:
        """Return the key documents that rows name.

        All documents of a tenant are needed if the database does not know it, or if the document that its row names is
        missing: without them its data could not be read after the database is restored.
        """
        known, needed = self._documents_named(), set[str]()
        for tenant_id in {tenant_of(key) for key in keys}:
            own = {key for key in keys if tenant_of(key) == tenant_id}
            named = known.get(tenant_id)
            needed |= {named} if named is not None and (own == {named} or self._is_there(named)) else own
        return needed

    def _documents_named(self) -> dict[str, str]:
        return {str(tenant_id): str(key) for tenant_id, key in self.control().rows(sql.DOCUMENTS)}

    def _is_there(self, key: str) -> bool:
        try:
            self.bucket.get(key)
        except errors.VaultDamaged:
            return False
        return True

    def buckets(self) -> BucketRows:
        return PostgresBuckets(self.pools.work)

    def connections(self) -> Mapping[str, ConnectionCounts]:
        return self.pools.counted()

    def checks(self) -> Mapping[str, Callable[[], None]]:
        return {
            "database": self.pools.check,
            "schema": self._check_held,
            "objects": lambda: self.bucket.check(),
        }

    def _check_tables(self) -> None:
        """Check the tables once, before the first use."""
        if not self._checked:
            self._check_held()
            self._checked = True

    def _check_held(self) -> None:
        """Check that the tables are of this version and this endpoint; another one may have been moved there since.

        Raises EndpointSettings, EndpointNewer.
        """
        postgres_schema.check_schema(self.pools)
        row = PostgresStore(self.pools.control, "control", tenant=None).row(sql.ENDPOINT)
        if row is None:
            raise errors.NoEndpoint("the database contains no endpoint", fix=errors.PREPARE)
        if row[0] == UNFINISHED + self._endpoint_id and not self._begun:
            raise errors.EndpointSettings(
                "an endpoint is being moved into this database, and the move is not complete",
                fix="lifeboat endpoint migrate --data OLD --to DIR",
            )
        if row[0] != (UNFINISHED + self._endpoint_id if self._begun else self._endpoint_id):
            raise errors.EndpointSettings(
                f"the database contains the endpoint {row[0]}, but endpoint.json belongs to another endpoint"
            )

    def close_thread(self) -> None:
        """Drop the stores of this thread; connections belong to the pools."""
        self._own.__dict__.clear()

    def close(self) -> None:
        self.pools.close()


class SharedPlace:
    """A `TenantPlace` of a shared engine."""

    leaves_remains = True

    def __init__(self, engine: SharedEngine, tenant_id: str, now: datetime) -> None:
        self._engine = engine
        self._tenant = tenant_id
        self.metadata: MetadataStore = engine.tenant_rows(tenant_id)
        self.blobs: BlobStore = engine.blobs(tenant_id, "")
        check_tenant(self.metadata, tenant_id, times.to_text(now))

    def open_vault(self, agent_id: str, sealer: Sealer) -> Vault:
        """Open a vault without sweeping remains of interrupted commits: most pushes open it, and workers sweep."""
        engine = self._engine
        rows, blobs = engine.vault_rows(self._tenant, agent_id), engine.blobs(self._tenant, agent_id)
        if rows.row(sql.HAS_VAULT) is None:
            raise errors.VaultMissing(f"the agent {agent_id} has no vault at this endpoint")
        return Vault(rows, blobs, files=engine.files, clock=engine.clock, sealer=sealer)

    def create_vault(self, agent_id: str, sealer: Sealer) -> Vault:
        """Create a vault.

        Raises VaultBusy if the agent is listed with a vault: this process lost its lock, and another one made the
        vault.
        """
        self._remove_vault(agent_id, lambda rows: rows.row(sql.LISTED, (agent_id,)) is None)
        if self.has_vault(agent_id):
            raise errors.VaultBusy(f"another process has just created the agent {agent_id}")
        create_tables(self._engine.vault_rows(self._tenant, agent_id), agent_id, self._engine.clock, sealer=sealer)
        return self.open_vault(agent_id, sealer)

    def has_vault(self, agent_id: str) -> bool:
        return self._engine.vault_rows(self._tenant, agent_id).row(sql.HAS_VAULT) is not None

    def vault_ids(self) -> list[str]:
        places = PostgresStore(self._engine.pools.vault, "vault", tenant=self._tenant).rows(sql.PLACES)
        scopes = self._engine.body_rows(self._tenant).rows(sql.SCOPES)
        return sorted({agent_id for (agent_id,) in places} | {agent_id for (agent_id,) in scopes})

    def remains(self, agent_id: str) -> int:
        rows = self._engine.vault_rows(self._tenant, agent_id)
        return _number(rows, sql.VAULT_ROWS) + len(list(self._engine.blobs(self._tenant, agent_id).names()))

    def remove_vault(self, agent_id: str, vault_id: str | None = None) -> None:
        self._remove_vault(agent_id, lambda rows: vault_id is None or rows.row(sql.VAULT_ID) in (None, (vault_id,)))

    def _remove_vault(self, agent_id: str, is_meant: Callable[[MetadataStore], bool]) -> None:
        """Remove rows and bodies of a vault if `is_meant` accepts it.

        Bodies are written under the lock of the vault. Those listed under the lock belong to this vault, and not to one
        that is made as soon as the lock is free.
        """
        rows, blobs = self._engine.vault_rows(self._tenant, agent_id), self._engine.blobs(self._tenant, agent_id)
        with rows.transaction():
            if not is_meant(rows):
                return
            names = list(blobs.names())
            for statement in sql.DROP_VAULT_ROWS:
                rows.execute(statement)
        for name in names:
            blobs.remove(name)

    def alone(self, agent_id: str, *, seconds: float) -> AbstractContextManager[None]:
        return self._engine.alone(f"care of {self._tenant} {agent_id}", seconds=seconds)

    def close(self) -> None:
        """Do nothing: it holds no resources."""


def _remove_all(blobs: BlobStore) -> None:
    for name in list(blobs.names()):
        blobs.remove(name)


def _number(rows: MetadataStore, statement: str) -> int:
    row = rows.row(statement)
    return 0 if row is None else int(row[0])


def _lock_number(what: str) -> int:
    """Return the 64-bit number of an advisory lock."""
    digest = hashlib.blake2b(what.encode(), digest_size=8, person=b"lifeboat lock").digest()
    return int.from_bytes(digest, signed=True)
