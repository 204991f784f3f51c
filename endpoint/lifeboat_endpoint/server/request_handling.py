"""Processing of a request: authenticate it, read its body, run the handler, send the response.

The event loop only moves bytes. Anything that reads a file or a database runs in a lane, always the same one for an
agent. Streamed bodies and responses from files keep their lane until they end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial

from starlette.datastructures import QueryParams
from starlette.types import Receive, Scope, Send

from lifeboat_alf.seams.crash_points import CrashPoint, reach_crash_point
from lifeboat_endpoint.server import presigned, request_bodies, request_parameters
from lifeboat_endpoint.server.api import OPEN, Octets, Route, RouteResponse
from lifeboat_endpoint.server.call import Call, ServerContext
from lifeboat_endpoint.server.connections import connection_of
from lifeboat_endpoint.server.lanes import Lane, Lanes
from lifeboat_endpoint.server.problems import HttpRefusal
from lifeboat_endpoint.server.rates.rate_limiting import FAILURES, TOKENS, limits_of
from lifeboat_endpoint.server.rates.token_buckets import address_key
from lifeboat_endpoint.server.request_bodies import MemoryBudget
from lifeboat_endpoint.server.response_sending import close_response, send_answer, size_of
from lifeboat_endpoint.server.routes.object_routes import SALT
from lifeboat_endpoint.server.routes.shape_conversion import MACHINE
from lifeboat_endpoint.server.server_log import RequestRecord
from lifeboat_endpoint.server.server_names import is_loopback
from lifeboat_endpoint.tenancy.callers import Caller
from lifeboat_endpoint.tenancy.token_secrets import parse_token_id
from lifeboat_vault.errors import RemoteBusy, RemoteDenied, RemoteRefused

_FORWARDED = ("forwarded", "x-forwarded-for")
_ONCE = frozenset(
    {
        "authorization",
        "host",
        "content-length",
        "content-type",
        "content-encoding",
        "transfer-encoding",
        "if-match",
        "if-none-match",
        "expect",
        MACHINE,
        SALT,
    }
)
_LARGEST_UNREAD = 64 * 1024
"""Most bytes of an unexpected body that are read and ignored."""


class RequestHandler:
    """Handles the requests of one process."""

    def __init__(self, server: ServerContext) -> None:
        pace = server.settings.pace
        self.server = server
        self.lanes = Lanes("agents", pace.lanes, pace.lane_queue)
        self.transfers = Lanes("transfers", pace.streams, pace.lane_queue)
        self.probes = Lanes("probes", 1, pace.lane_queue)
        self._bodies = MemoryBudget(pace.waiting_bytes)
        self._answers = MemoryBudget(pace.waiting_bytes)
        self._tokens = limits_of(server, TOKENS, pace.token_rate, pace.token_burst)
        self._failures = limits_of(server, FAILURES, pace.failure_rate, pace.failure_burst)

    async def handle(self, route: Route, scope: Scope, receive: Receive, send: Send, record: RequestRecord) -> None:
        """Answer a request. Raises the error for a problem document only before anything was sent."""
        call = self._call(route, scope)
        lane = self._lane(call)
        with self._bodies.taking() as taken:
            answer = await self._answered(call, lane, scope, receive, record, taken)
            call.body = None
        if route.pushes:
            reach_crash_point(CrashPoint.ENDPOINT_ANSWERED)
        with self._answers.taking() as taken:
            try:
                taken.add(record.tenant, size_of(answer), first=True)
            except RemoteBusy:
                close_response(answer)
                raise
            record.status = answer.status
            await send_answer(answer, lane, scope["method"] == "HEAD", send, record, self.server.settings.pace)

    async def _answered(
        self,
        call: Call,
        lane: Lane,
        scope: Scope,
        receive: Receive,
        record: RequestRecord,
        taken: request_bodies.MemoryShare,
    ) -> RouteResponse:
        route = call.route
        if route.quick:
            return route.handler(call)
        # Authenticate after the body was discarded, so that the connection can be reused.
        if route.body is None:
            await self._discard(scope, receive)
            return await lane.run(partial(self._work, call, record))
        # Authenticate before a body is read, so that its memory is counted for the tenant.
        if route.scopes is not OPEN:
            await lane.run(partial(self._let_in, call, record))
        if isinstance(route.body, Octets) and route.body.streamed:
            return await self._streamed(call, lane, scope, receive, record)
        limit = self._limit(route)
        data = await request_bodies.read_body(scope, receive, limit, self.server.settings.pace, taken, record.tenant)
        record.received = len(data)
        call.body = data if isinstance(route.body, Octets) else request_parameters.parse_body(data, route.body)
        return await lane.run(partial(self._work, call, record))

    def _limit(self, route: Route) -> int:
        name = route.body.limit if isinstance(route.body, Octets) else "direct_bytes"
        return int(getattr(self.server.limits, name))

    async def _discard(self, scope: Scope, receive: Receive) -> None:
        """Ignore a small unexpected body: older clients announce JSON and send nothing."""
        async for _ in request_bodies.stream_body(scope, receive, _LARGEST_UNREAD, self.server.settings.pace, 30.0):
            pass

    # Authentication ---------------------------------------------------------------------------------------------

    def _call(self, route: Route, scope: Scope) -> Call:
        headers = _headers(scope)
        path = request_parameters.check_path_parameters(scope["path_params"])
        pairs = QueryParams(scope["query_string"]).multi_items()
        found = None if route.query is None else request_parameters.parse_query(pairs, route.query)
        address = scope["client"][0] if scope.get("client") else ""
        forwarded = any(name in headers for name in _FORWARDED)
        connection = connection_of(scope)
        return Call(self.server, route, path, found, headers, address, forwarded, connection=connection)

    def _lane(self, call: Call) -> Lane:
        """Return the lane of the agent, or of the caller, before anything is read."""
        if call.route.probe:
            return self.probes.free()
        # A streamed body could block an agent's lane for an hour.
        streamed = call.route.long or (isinstance(call.route.body, Octets) and call.route.body.streamed)
        agent = (
            presigned.find_presigned_agent(call.path["transfer"])
            if "transfer" in call.path
            else call.path.get("agent_id")
        )
        key = agent or parse_token_id(_bearer(call)) or ""
        return self.transfers.free() if streamed else self.lanes.of(key)

    def _let_in(self, call: Call, record: RequestRecord) -> None:
        """Authenticate the caller and check the scope. Raises RemoteDenied, HttpRefusal (429)."""
        if call.route.scopes is OPEN or call.known is not None or (call.route.near and is_local_call(call)):
            return
        try:
            caller = self.server.endpoint.control.authenticate(_bearer(call))
            if call.route.scopes:
                caller.need(*call.route.scopes)
        except RemoteDenied as error:
            self._denied(call, error)
            raise
        self._check_rate(caller)
        call.let_in(caller)
        record.tenant = caller.tenant_id

    def _check_rate(self, caller: Caller) -> None:
        after = self._tokens.take(caller.token_id, time.monotonic())
        if after:
            self.server.metrics.refused("token")
            raise HttpRefusal(429, RemoteBusy("this token sends too many requests", retry_after=after))

    def _denied(self, call: Call, error: RemoteDenied) -> None:
        """Note the failure in the audit. A client that fails too often is refused before it fills the audit."""
        after = self._failures.take(address_key(call.address), time.monotonic())
        if after:
            self.server.metrics.refused("address")
            raise HttpRefusal(429, RemoteBusy("too many requests arrive without a valid token", retry_after=after))
        details = {"route": call.route.path, "scope": error.scope, "address": call.address}
        self.server.endpoint.control.note(None, "denied", parse_token_id(_bearer(call)) or "", details)

    # Work -------------------------------------------------------------------------------------------------------

    def _work(self, call: Call, record: RequestRecord) -> RouteResponse:
        """Run the handler, in the thread of the lane."""
        self._let_in(call, record)
        try:
            answer = call.route.handler(call)
        finally:
            if call.known is not None:
                record.tenant = call.known.tenant_id
        if call.route.audit and call.known is not None:
            subject = call.subject or call.path.get("agent_id", "")
            self.server.endpoint.control.note(call.known, call.route.audit, subject, call.noted)
        return answer

    async def _streamed(
        self, call: Call, lane: Lane, scope: Scope, receive: Receive, record: RequestRecord
    ) -> RouteResponse:
        """Run the handler while the body arrives, in a separate kind of lane, so that a slow sender does not block an
        agent."""
        pace = self.server.settings.pace
        source = request_bodies.stream_body(scope, receive, self._limit(call.route), pace, pace.transfer_seconds)
        call.body = _pulled(source, asyncio.get_running_loop(), record)
        return await lane.run(partial(self._work, call, record))

    def close(self) -> None:
        """Finish running work, and write audit rows that are still in memory."""
        for lanes in (self.probes, self.transfers, self.lanes):
            lanes.close(self.server.endpoint.close_thread)
        self.server.readiness.close()
        self.server.metrics.close()
        self.server.endpoint.close()


def _pulled(source: AsyncIterator[bytes], loop: asyncio.AbstractEventLoop, record: RequestRecord) -> Iterator[bytes]:
    """Yield in a thread what the event loop receives."""

    async def following() -> bytes | None:
        return await anext(source, None)

    while (part := asyncio.run_coroutine_threadsafe(following(), loop).result()) is not None:
        record.received += len(part)
        yield part


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by name. Raises HttpRefusal (400) for a repeated header that a proxy could read
    differently."""
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name = raw_name.decode("latin-1").lower()
        if name in found and name in _ONCE:
            raise HttpRefusal(400, RemoteRefused(f"the header {name} must be given at most once"))
        found[name] = raw_value.decode("latin-1")
    return found


def _bearer(call: Call) -> str:
    scheme, _, secret = call.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def is_local_call(call: Call) -> bool:
    """Whether a program of this machine asks, without a proxy in between."""
    return is_loopback(call.address) and not call.forwarded
