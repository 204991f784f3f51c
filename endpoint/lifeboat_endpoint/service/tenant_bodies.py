"""Bodies outside of vaults: encrypted files with random names, each named by a row of tenant.db.

A body is written before the row. A body without a row is an orphan, and is swept after a day.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from lifeboat_alf.common import times
from lifeboat_endpoint.service import tenant_statements as sql
from lifeboat_endpoint.service.tenant_tables import TenantKeys
from lifeboat_vault import errors
from lifeboat_vault.at_rest.sealed_blobs import SealedBlobs
from lifeboat_vault.store.store_protocols import BlobStore, MetadataStore

FOLDER = "files"
_PATIENCE = timedelta(days=1)


class TenantBodies:
    """The bodies of one tenant."""

    def __init__(self, blobs: BlobStore, keys: TenantKeys) -> None:
        self._blobs = blobs
        self._keys = keys

    def put(self, agent_id: str, data: bytes) -> str:
        """Write a body durably and return its name, for a row that the caller writes next."""
        name = secrets.token_hex(16)
        SealedBlobs(self._blobs, self._keys.sealer(agent_id)).put(name, data)
        self._blobs.flush()
        return name

    def read(self, agent_id: str, name: str) -> bytes:
        """Return the bytes of a body. Raises VaultDamaged, KeyRevoked."""
        try:
            return SealedBlobs(self._blobs, self._keys.sealer(agent_id)).read(name)
        except errors.OtherDataKey as error:
            return SealedBlobs(self._blobs, self._keys.sealer_of(error.key_id, agent_id)).read(name)

    def remove(self, name: str) -> None:
        self._blobs.remove(name)


def find_orphans(metadata: MetadataStore, blobs: BlobStore) -> set[str]:
    """Return the bodies that no row names."""
    return set(blobs.names()) - {body for (body,) in metadata.rows(sql.BODIES_IN_USE)}


def sweep_orphans(metadata: MetadataStore, blobs: BlobStore, now: datetime) -> int:
    """Remove bodies that no row has named for a day; return how many.

    Newer orphans are noted. The notes of removed ones are dropped by the next sweep. Bodies are removed after the
    transaction, so that no writer waits for it.
    """
    with metadata.transaction():
        # List blobs and rows in one transaction, so that no writer names a body in between.
        loose = find_orphans(metadata, blobs)
        noted = {body: since for body, since in metadata.rows(sql.ORPHANS)}
        for body in noted.keys() - loose:
            metadata.execute(sql.DROP_ORPHAN, (body,))
        for body in sorted(loose - noted.keys()):
            metadata.execute(sql.ADD_ORPHAN, (body, times.to_text(now)))
        old = sorted(body for body in noted.keys() & loose if times.parse_time(noted[body]) <= now - _PATIENCE)
    for body in old:
        blobs.remove(body)
    return len(old)
