"""What an endpoint asks of the place where it keeps everything. Two implement it: `files`, a data folder with SQLite
files and folders of bodies, and `shared`, PostgreSQL and an object store."""

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
    """How much is kept of a tenant, told without any of its keys. `bytes` as they are kept."""

    agents: int
    bytes: int


class BucketRows(Protocol):
    """Buckets of limits that all processes share, by the clock of whoever keeps them. For many threads."""

    def take(self, key: bytes, wanted: float, rate: float, burst: float) -> tuple[float, float]:
        """Take up to `wanted` whole ones from a bucket that gets `rate` a second, `burst` at most: how many there were,
        and the level that is left. Raises VaultError, soon."""
        ...


class TenantPlace(Protocol):
    """Where everything of one tenant is kept but its keys. Belongs to one thread; close it."""

    @property
    def leaves_remains(self) -> bool:
        """Whether sealed bytes of what is deleted stay somewhere for a while (see `service.shredding`)."""
        ...

    @property
    def metadata(self) -> MetadataStore:
        """The tables of `service.schema`."""
        ...

    @property
    def blobs(self) -> BlobStore:
        """Bodies outside of vaults (`service.bodies`)."""
        ...

    def open_vault(self, agent_id: str, sealer: Sealer) -> Vault:
        """Raises VaultMissing, VaultDamaged, OtherDataKey, which names it."""
        ...

    def create_vault(self, agent_id: str, sealer: Sealer) -> Vault:
        """An empty vault, open; it appears whole or not at all. What an earlier agent of that id left is removed."""
        ...

    def has_vault(self, agent_id: str) -> bool: ...

    def vault_ids(self) -> list[str]:
        """Every agent of which there is a vault or a part of one."""
        ...

    def remains(self, agent_id: str) -> int:
        """How many files, rows or objects there are of a vault."""
        ...

    def remove_vault(self, agent_id: str, vault_id: str | None = None) -> None:
        """Destroy it, but with `vault_id` no other one, which somebody made meanwhile. What is open elsewhere finds
        nothing any more."""
        ...

    def alone(self, agent_id: str, *, seconds: float) -> AbstractContextManager[None]:
        """Nobody else cares for this agent meanwhile, on any machine. Pushes do not wait for it. Raises
        EndpointBusy."""
        ...

    def close(self) -> None: ...


Sources = Callable[[], Collection[str]]


class Engine(Protocol):
    """For many threads."""

    @property
    def shared(self) -> bool:
        """Whether processes of other machines keep their things there too. Then workers take the care
        that a server of files takes itself (see `work`)."""
        ...

    def control(self, *, tenant: str | None = None, token: str | None = None) -> MetadataStore:
        """The tables of `tenancy.schema`, for the calling thread, which keeps them open. An engine that isolates
        tenants shows the rows of `tenant`, or the one of the token whose id is `token`, and those that are nobody's."""
        ...

    def tenant(self, tenant_id: str, now: datetime) -> TenantPlace:
        """The tables are made when missing. Raises VaultDamaged, VaultNewer."""
        ...

    def key_documents(self, tenant_id: str, sources: Sources = ...) -> KeyDocumentStore:
        """`sources` are specifications of those that may protect the tenant's keys: of a document that nobody vouches
        for, no other one is asked."""
        ...

    def alone(self, what: str, *, seconds: float) -> AbstractContextManager[None]:
        """One process at a time, on any machine, does `what` (a word). Raises EndpointBusy."""
        ...

    def figures(self, tenant_id: str) -> TenantUsage:
        """Raises VaultDamaged."""
        ...

    def remove_tenant(self, tenant_id: str) -> int:
        """All that is kept of a tenant whose key document is gone; bytes that are free then."""
        ...

    def remove_nobodys(self, known: Collection[str], before: datetime) -> int:
        """What was made before a moment for tenants that are not known; how many."""
        ...

    def sweep(self, now: datetime) -> int:
        """Remove what no row names, and has not for long; how many. Nothing of what is on its way is taken."""
        ...

    def buckets(self) -> BucketRows | None:
        """None where processes of other machines keep nothing here."""
        ...

    def connections(self) -> Mapping[str, ConnectionCounts]:
        """By kind of work, for figures; empty where there are none."""
        ...

    def check_unmoved(self, *, changes: bool = False) -> None:
        """Whether anybody is served here; with `changes`, whether anything may change (tenants and vaults look for
        themselves, inside each transaction). Raises EndpointMoved, EndpointMoving."""
        ...

    def time(self) -> datetime | None:
        """What another clock than this machine's says, None where there is none."""
        ...

    def check(self) -> None:
        """Whether all of it answers. Raises VaultError."""
        ...

    def checks(self) -> Mapping[str, Callable[[], None]]:
        """The same by the names of its parts, for readiness; each raises VaultError."""
        ...

    def close_thread(self) -> None:
        """Close what the calling thread opened."""
        ...

    def close(self) -> None:
        """Close what all threads share."""
        ...
