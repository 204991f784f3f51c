"""Sealers, data keys and key sources for tests, with a real key file beside the data."""

from __future__ import annotations

import os
from pathlib import Path

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_vault.at_rest.data_keys import DataKeys
from lifeboat_vault.at_rest.key_document_store import FolderKeyDocumentStore
from lifeboat_vault.at_rest.key_sources import key_source_registry
from lifeboat_vault.at_rest.keyed_sealer import KeyedSealer, new_key_id
from support.vault.vaults import ManualClock

TENANT = "0190f0a0-0000-7000-8000-00000000000a"
OTHER_TENANT = "0190f0a0-0000-7000-8000-00000000000b"
AGENT = "0190f0a0-0000-7000-8000-0000000000a1"
OTHER_AGENT = "0190f0a0-0000-7000-8000-0000000000a2"


class MovingClock(ManualClock):
    """`advance` moves the monotonic time too."""

    def __init__(self) -> None:
        super().__init__()
        self.start = self.moment

    def monotonic(self) -> float:
        return (self.moment - self.start).total_seconds()


def new_sealer(tenant: str = TENANT, agent: str = AGENT) -> KeyedSealer:
    return KeyedSealer.of(os.urandom(32), key_id=new_key_id(), tenant=tenant, agent=agent)


def key_file(folder: Path, name: str = "endpoint.key") -> str:
    """Return the specification of a new key file beside the data."""
    spec = f"file:{folder / name}"
    key_source_registry.make_key(spec, outside=folder / "data")
    return spec


make_source = key_file
"""What protects the data keys of a test that names nothing, by the test's folder."""


def data_keys(
    folder: Path, tenant: str = TENANT, *, source: str = "", scope: str = "tenant", clock: ManualClock | None = None
) -> DataKeys:
    """Create data keys in the tenant's place below `folder/data`."""
    chosen = source or make_source(folder)
    documents = key_documents(folder, tenant)
    return DataKeys.create(
        documents, tenant, source=chosen, scope=scope, clock=clock or ManualClock(), outside=folder / "data"
    )


def opened_keys(folder: Path, tenant: str = TENANT, clock: ManualClock | None = None) -> DataKeys:
    """Open the same keys as another process would."""
    documents = key_documents(folder, tenant)
    return DataKeys.open(documents, tenant, clock=clock or ManualClock(), outside=folder / "data")


def key_documents(folder: Path, tenant: str = TENANT) -> FolderKeyDocumentStore:
    return FolderKeyDocumentStore(folder / "data" / "tenants" / tenant, SystemFiles())
