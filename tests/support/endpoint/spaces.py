"""Tenants of an endpoint for tests: real folders, real encryption, a manual clock."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_endpoint.engines.files_engine import FolderPlace
from lifeboat_endpoint.service.endpoint_limits import EndpointLimits
from lifeboat_endpoint.service.purge.purge_policy import PurgePolicy
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_keys.pairs.endpoint_key import EndpointKey
from lifeboat_vault.at_rest.keyed_sealer import KeyedSealer
from lifeboat_vault.at_rest.sealer import Sealer
from lifeboat_vault.remote.checks.remote_trial import RemoteTrial
from lifeboat_vault.remote.remote_contract import RemoteDescription
from support.endpoint.in_process_remote import InProcessRemote
from support.vault.vaults import ManualClock

TENANT = "tenant"
SIGNING_KEY = EndpointKey.generate()
PURGING = PurgePolicy("test", lambda: SIGNING_KEY)


class TestKeys:
    """Data keys without a source; `rotate` makes another one current."""

    __test__ = False

    def __init__(self, tenant: str = TENANT) -> None:
        self._current = 1
        self._tenant = tenant

    def rotate(self) -> None:
        self._current += 1

    def sealer(self, agent_id: str | None = None) -> Sealer:
        return self.sealer_of(f"{self._current:012x}", agent_id)

    def sealer_of(self, key_id: str, agent_id: str | None = None) -> Sealer:
        key = hashlib.sha256(f"{key_id} {agent_id}".encode()).digest()
        return KeyedSealer.of(key, key_id=key_id, tenant=self._tenant, agent=agent_id or "")

    def is_own(self, agent_id: str) -> bool:
        return False

    def renew(self, agent_id: str) -> str:
        self.rotate()
        return f"{self._current:012x}"

    def destroy_older(self, agent_id: str, than: str) -> list[str]:
        return []

    def destroy_agent(self, agent_id: str) -> list[str]:
        return []


def space_in(folder: Path, keys: TestKeys | None = None, **options: Any) -> TenantSpace:
    """Open the tenant in `folder`, as another thread or process would."""
    clock = options.pop("clock", None) or ManualClock()
    limits = options.pop("limits", None) or EndpointLimits(**options.pop("limited", {}))
    files = options.pop("files", None) or SystemFiles()
    given = {"limits": limits, "purging": options.pop("purging", PURGING), "clock": clock}
    place = FolderPlace(folder, TENANT, files=files, clock=clock)
    return TenantSpace(place, TENANT, keys or TestKeys(), **given, **options)


def folder_of(space: TenantSpace) -> Path:
    """Return the folder of a space."""
    assert isinstance(space.place, FolderPlace)
    return space.place.folder


def remote_in(folder: Path, keys: TestKeys | None = None) -> InProcessRemote:
    return InProcessRemote(space_in(folder, keys), RemoteDescription("endpoint", "in process", "test", False))


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def keys() -> TestKeys:
    return TestKeys()


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[RemoteTrial]:
    opened: list[InProcessRemote] = []

    def fresh() -> InProcessRemote:
        opened.append(remote_in(tmp_path / "tenant"))
        return opened[-1]

    yield RemoteTrial(fresh, tmp_path)
    for remote in opened:
        remote.close()
