"""The argument of a handler: a request that was authenticated, read and checked."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.server import presigned
from lifeboat_endpoint.server.connections import OpenConnection
from lifeboat_endpoint.server.presigned import Permission
from lifeboat_endpoint.server.server_settings import ServerSettings
from lifeboat_endpoint.service.endpoint_limits import EndpointLimits
from lifeboat_endpoint.tenancy.callers import Caller
from lifeboat_vault.errors import RemoteBusy

if TYPE_CHECKING:
    from lifeboat_endpoint.server.api import Route
    from lifeboat_endpoint.server.readiness import Readiness
    from lifeboat_endpoint.server.server_metrics import ServerMetrics
    from lifeboat_endpoint.service.tenant_space import TenantSpace


@dataclass(slots=True)
class ServerContext:
    """What one process serves with."""

    endpoint: Endpoint
    settings: ServerSettings
    limits: EndpointLimits
    clock: Clock
    metrics: ServerMetrics
    readiness: Readiness
    release: str
    routes: tuple[Route, ...] = ()
    document: bytes = b""
    streams: Counter[str] = field(default_factory=Counter)
    """How many bodies are arriving over signed addresses, by tenant."""
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _key: bytes = b""

    @contextlib.contextmanager
    def streaming(self, tenant_id: str) -> Iterator[None]:
        """Count a body that arrives over a signed address: slow senders of one tenant leave room for others. Raises
        RemoteBusy."""
        with self._guard:
            if self.streams[tenant_id] >= max(1, self.settings.pace.streams // 2):
                raise RemoteBusy(
                    "this tenant already sends as many request bodies as the endpoint accepts at the same time",
                    retry_after=30,
                )
            self.streams[tenant_id] += 1
        try:
            yield
        finally:
            with self._guard:
                self.streams[tenant_id] -= 1
                if not self.streams[tenant_id]:
                    del self.streams[tenant_id]

    def transfer_key(self) -> bytes:
        """Return the key that signs addresses, the same in all processes. Raises KeyRevoked, KeySourceRefused.

        It is loaded on first use, since the key source may be unreachable when the server starts.
        """
        from lifeboat_endpoint.server.transfer_key import load_transfer_key

        if not self._key:
            self._key = load_transfer_key(self.endpoint)
        return self._key


@dataclass(slots=True)
class Call:
    """One request.

    `path` and `query` are checked; `body` is a Struct, bytes, an iterator of bytes or None. Names of `headers` are in
    lower case. `address` is the address of the peer; `forwarded`: there is a proxy in between.
    """

    server: ServerContext
    route: Route
    path: dict[str, str]
    query: Any
    headers: dict[str, str]
    address: str
    forwarded: bool
    known: Caller | None = None
    body: Any = None
    noted: JsonObject = field(default_factory=dict)
    subject: str = ""
    connection: OpenConnection | None = None

    def let_in(self, caller: Caller) -> None:
        """Set the authenticated caller. The connection is no longer closed to make room for others."""
        self.known = caller
        if self.connection is not None:
            self.connection.is_proven = True

    @property
    def caller(self) -> Caller:
        """The caller, on a route that needs a token."""
        assert self.known is not None
        return self.known

    @property
    def agent_id(self) -> str:
        return self.path["agent_id"]

    @property
    def space(self) -> TenantSpace:
        """The caller's tenant, in this thread."""
        return self.server.endpoint.space(self.caller.tenant_id)

    @property
    def now(self) -> datetime:
        return self.server.clock.now()

    def note(self, **details: Any) -> None:
        """Add details to the audit row: ids and counts, never content."""
        self.noted.update(details)

    def signed_url(self, method: str, what: str, *, limit: int) -> str:
        """Return an absolute address that permits one transfer for some minutes."""
        caller, expires = self.caller, self.now + timedelta(seconds=self.server.settings.pace.permission_seconds)
        permission = Permission(
            method, what, limit, caller.tenant_id, self.agent_id, int(expires.timestamp()), token=caller.token_id
        )
        token = presigned.sign_permission(self.server.transfer_key(), permission)
        return f"{self.server.settings.public_url}/transfers/{token}"
