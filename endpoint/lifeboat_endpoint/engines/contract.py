"""The interface of an endpoint's storage.

`files_engine` implements it with SQLite files and folders of bodies, `shared` with PostgreSQL and an object store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple, Protocol

from lifeboat_vault.at_rest.key_document_store import KeyDocumentStore
from lifeboat_vault.at_rest.sealer import Sealer
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore
from lifeboat_vault.store.timed_operations import ConnectionCounts
from lifeboat_vault.vault import Vault


class TenantUsage(NamedTuple):
    """How much a tenant keeps, measured without its keys. `bytes` counts encrypted bytes."""

    agents: int
    bytes: int


class BucketRows(Protocol):
    """Token buckets that all processes share, filled by the clock of the store. For many threads."""

    def take(self, key: bytes, wanted: float, rate: float, burst: float) -> tuple[float, float]:
        """Take up to `wanted` tokens from a bucket that gets `rate` tokens a second and holds `burst` at most.

        Return how many whole tokens were taken and the level that is left. Raises VaultError after a short time at
        most.
        """


class TenantPlace(Protocol):
    """Everything of one tenant except its keys. Belongs to one thread; close it."""

    @property
    def leaves_remains(self) -> bool:
        """Whether sealed bytes of deleted rows survive for a while, in logs or backups (see
        `service.purge.crypto_shredding`)."""

    @property
    def metadata(self) -> MetadataStore:
        """The tables of `service.tenant_schema`."""

    @property
    def blobs(self) -> BlobStore:
        """Bodies outside of vaults (`service.tenant_bodies`)."""

    def open_vault(self, agent_id: str, sealer: Sealer) -> Vault:
        """Open the vault of an agent. Raises VaultMissing, VaultDamaged, OtherDataKey, which names the key."""

    def create_vault(self, agent_id: str, sealer: Sealer) -> Vault:
        """Create an empty vault and return it open. It appears completely or not at all.

        Remains of an earlier agent with this id are removed.
        """

    def has_vault(self, agent_id: str) -> bool: ...

    def vault_ids(self) -> list[str]:
        """Return every agent that has a vault or a part of one."""

    def remains(self, agent_id: str) -> int:
        """Count the files, rows or objects that exist of a vault."""

    def remove_vault(self, agent_id: str, vault_id: str | None = None) -> None:
        """Destroy the vault of an agent. Handles that other threads or processes have open find nothing afterwards.

        With `vault_id`, leave a vault with another id alone: another process made it meanwhile.
        """

    def alone(self, agent_id: str, *, seconds: float) -> AbstractContextManager[None]:
        """Keep other processes on all machines from maintaining this agent. Pushes do not wait for it. Raises
        EndpointBusy."""

    def close(self) -> None: ...


Sources = Callable[[], Collection[str]]


class Engine(Protocol):
    """Storage of one endpoint, usable by many threads."""

    @property
    def shared(self) -> bool:
        """Whether processes on other machines use this storage too.

        Workers then do the maintenance that a server does itself on an endpoint of files (see `work`).
        """

    def control(self, *, tenant: str | None = None, token: str | None = None) -> MetadataStore:
        """Return the tables of `tenancy.control_schema` for the calling thread, which keeps them open.

        An engine that isolates tenants shows the rows of `tenant`, or the row of the token with the id `token` and that
        of its tenant, and in both cases the rows that belong to no tenant.
        """

    def tenant(self, tenant_id: str, now: datetime) -> TenantPlace:
        """Return the storage of a tenant. Missing tables are made. Raises VaultDamaged, VaultNewer."""

    def key_documents(self, tenant_id: str, sources: Sources = ...) -> KeyDocumentStore:
        """Return the wrapped data keys of a tenant.

        `sources` returns the key sources that may protect them. A document that the database does not vouch for may
        name no other source.
        """

    def alone(self, what: str, *, seconds: float) -> AbstractContextManager[None]:
        """Let one process at a time, on any machine, do `what` (a word). Raises EndpointBusy."""

    def figures(self, tenant_id: str) -> TenantUsage:
        """Measure how much a tenant keeps. Raises VaultDamaged."""

    def remove_tenant(self, tenant_id: str) -> int:
        """Remove all data of a tenant whose key document is gone; return the bytes that were freed."""

    def remove_nobodys(self, known: Collection[str], before: datetime) -> int:
        """Remove the data of tenants that are not in `known` and that is older than `before`; return how many
        tenants."""

    def sweep(self, now: datetime) -> int:
        """Remove objects that no row has named for a long time; return how many. Objects that are being written
        stay."""

    def buckets(self) -> BucketRows | None:
        """Return the token buckets that all machines share, or None on an endpoint of files."""

    def connections(self) -> Mapping[str, ConnectionCounts]:
        """Return the connections by kind of table, for metrics; empty if there are none."""

    def check_unmoved(self, *, changes: bool = False) -> None:
        """Check that this endpoint still serves requests, and with `changes` that it accepts changes.

        Tenants and vaults check this themselves inside of each transaction. Raises EndpointMoved, EndpointMoving.
        """

    def time(self) -> datetime | None:
        """Return the time of another clock than this machine's, or None if there is none."""

    def checks(self) -> Mapping[str, Callable[[], None]]:
        """Return the checks of the parts by name, for readiness. Each raises VaultError."""

    def close_thread(self) -> None:
        """Close what the calling thread opened."""

    def close(self) -> None:
        """Close what all threads share."""
