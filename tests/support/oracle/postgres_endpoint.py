"""An endpoint in PostgreSQL as an additional remote of a round. Its bodies are small, so all are stored in tables and
no object store is used."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from pytest import MonkeyPatch

from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_kinds
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_endpoint.endpoint_config import SharedStore
from lifeboat_endpoint.engines.objects.bucket import Bucket
from lifeboat_endpoint.engines.shared import SharedEngine, SharedPlace
from lifeboat_endpoint.service.endpoint_limits import EndpointLimits
from lifeboat_endpoint.service.tenant_space import TenantSpace
from lifeboat_vault.remote.remote_contract import Remote, RemoteDescription
from support.endpoint.in_process_remote import InProcessRemote
from support.endpoint.shared_databases import SharedDatabase
from support.endpoint.spaces import PURGING, TestKeys

POSTGRES = "postgres"
_MOST_INLINE = 1 << 20


class TablesAlone(SharedEngine):
    """The tables of a database, without the row that names the endpoint."""

    def tenant(self, tenant_id: str, now: datetime) -> SharedPlace:
        return SharedPlace(self, tenant_id, now)

    @property
    def bucket(self) -> Bucket:
        """Return an empty bucket."""
        return cast(Bucket, None)


class PostgresEndpoint:
    """A new tenant in a database. `url` is its address on the machine."""

    def __init__(self, engine: SharedEngine, folder: Path, clock: Clock) -> None:
        self.url = (folder / POSTGRES).as_uri()
        self._engine = engine
        self._clock = clock
        self._tenant = str(uuid.uuid4())
        self._keys = TestKeys(self._tenant)

    def install(self, patch: MonkeyPatch) -> None:
        """Let the address be opened in this process."""
        usual = remote_kinds.find_kind

        def kind_of(url: str) -> Any:
            return self if url == self.url else usual(url)

        patch.setattr(remote_kinds, "find_kind", kind_of)

    def open(self, context: Context, config: RemoteConfig, token: str | None) -> Remote:
        place = self._engine.tenant(self._tenant, self._clock.now())
        space = TenantSpace(
            place, self._tenant, self._keys, limits=EndpointLimits(), purging=PURGING, clock=self._clock
        )
        return InProcessRemote(space, RemoteDescription(self._tenant, "in process", "0", False))


@contextlib.contextmanager
def engine_on(database: SharedDatabase, clock: Clock) -> Iterator[SharedEngine]:
    store = SharedStore(database.address, "s3://unused", inline_bytes=_MOST_INLINE, connections=4)
    engine = TablesAlone(store, "oracle", "api", files=SystemFiles(), clock=clock)
    with contextlib.closing(engine):
        yield engine
