"""The endpoint as an ASGI application, with the routes of the table at `/` and at `/v1`."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as PathRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import LifeboatError
from lifeboat_endpoint.endpoint import Endpoint, limits_of
from lifeboat_endpoint.server import openapi, route_table, server_log
from lifeboat_endpoint.server.api import Route
from lifeboat_endpoint.server.call import ServerContext
from lifeboat_endpoint.server.connections import connection_of
from lifeboat_endpoint.server.problems import MEDIA_TYPE, make_problem, make_status_problem
from lifeboat_endpoint.server.readiness import Readiness
from lifeboat_endpoint.server.request_bodies import ClientGone
from lifeboat_endpoint.server.request_handling import RequestHandler
from lifeboat_endpoint.server.response_sending import SlowReader, headers_of, send_problem
from lifeboat_endpoint.server.server_log import RequestRecord
from lifeboat_endpoint.server.server_metrics import ServerMetrics
from lifeboat_endpoint.server.server_settings import ServerSettings
from lifeboat_endpoint.server.server_upkeep import ServerUpkeep
from lifeboat_vault.at_rest import data_key_cache
from lifeboat_vault.at_rest.key_sources import key_source_registry
from lifeboat_vault.errors import EndpointBusy, KeyRevoked, KeySourceAway, KeySourceRefused, VaultBusy
from lifeboat_vault.store import timed_operations

PREFIXES = ("", "/v1")
_KEY = "lifeboat.record"
_COUNTED_EVERY = 5.0
"""Seconds between two counts of the connections to the database."""
_LET_GO_EVERY = 10.0
_KEY_FRESH = 30.0
"""Seconds for which a good answer of the key source counts for readiness: a key service may charge for each call."""


def make_app(
    folder: Path,
    settings: ServerSettings,
    *,
    routes: Iterable[Route] | None = None,
    draining: Callable[[], bool] = lambda: False,
) -> Starlette:
    """Make the application for the data folder of an endpoint, with the given routes or all routes that exist.

    It opens the folder now and closes it when the server ends. While `draining` it still serves, and reports that it is
    not ready. Raises as `Endpoint.open`.
    """
    endpoint = Endpoint.open(folder, role="api")
    # Load the key now, so that `/version` never waits for a disk. A database or key that is unavailable now may be
    # available later, and tenants with a key source of their own are served meanwhile.
    with contextlib.suppress(VaultBusy, EndpointBusy, KeySourceAway, KeyRevoked, KeySourceRefused):
        endpoint.signing_key()
    found = tuple(route_table.load_routes() if routes is None else routes)
    metrics = ServerMetrics()
    timed_operations.set_operation_listener(metrics.operations)
    server = ServerContext(
        endpoint,
        settings,
        limits_of(endpoint.settings),
        endpoint.clock,
        metrics,
        _readiness(endpoint, draining, metrics),
        version("agent-lifeboat"),
        found,
    )
    server.document = json_codec.encode_json(openapi.make_document(found, server.release))
    handler = RequestHandler(server)
    upkeep = ServerUpkeep(endpoint) if settings.maintenance and not endpoint.engine.shared else None
    paths = [PathRoute(prefix + path, app) for prefix in PREFIXES for path, app in _apps(found, handler)]
    application = Starlette(
        routes=paths,
        lifespan=partial(_lifespan, server, handler, upkeep),
        exception_handlers={HTTPException: _http_problem},
    )
    application.router.redirect_slashes = False
    application.add_middleware(_RequestRecorder, metrics=server.metrics, draining=draining)
    application.state.server, application.state.handler = server, handler
    return application


def _readiness(endpoint: Endpoint, draining: Callable[[], bool], metrics: ServerMetrics) -> Readiness:
    def tell(part: str, is_well: bool) -> None:
        metrics.ready(part, is_well=is_well)

    def key() -> None:
        source = key_source_registry.open_key_source(endpoint.key_source, outside=endpoint.folder)
        if source.unwrap(source.wrap(b"ready")) != b"ready":
            raise KeySourceRefused(
                "the key source returned a different value when it decrypted a value that it had encrypted"
            )
        endpoint.check_key()

    checks = {**endpoint.engine.checks(), "key": key}
    return Readiness(
        checks,
        fresh={"key": _KEY_FRESH},
        optional=("objects",),
        draining=draining,
        told=tell,
        thread_done=endpoint.close_thread,
    )


@asynccontextmanager
async def _lifespan(
    server: ServerContext, handler: RequestHandler, upkeep: ServerUpkeep | None, _: Starlette
) -> AsyncIterator[None]:
    if upkeep is not None:
        upkeep.start()
    tasks = [asyncio.create_task(_count_connections(server)), asyncio.create_task(_let_go_of_keys())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        if upkeep is not None:
            upkeep.stop()
        handler.close()


async def _count_connections(server: ServerContext) -> None:
    """Report the connections of this process periodically: the process that is asked for metrics adds up those of
    all."""
    while connections := server.endpoint.engine.connections():
        for kind, counted in connections.items():
            server.metrics.connected(kind, counted)
        await asyncio.sleep(_COUNTED_EVERY)


async def _let_go_of_keys() -> None:
    """Drop expired keys, even if no request needs a key any more."""
    while True:
        await asyncio.sleep(_LET_GO_EVERY)
        data_key_cache.drop_ended()


class _RequestRecorder:
    """Middleware that gives every response a request id, a line in the log and a place in the metrics."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics, draining: Callable[[], bool]) -> None:
        self._app = app
        self._metrics = metrics
        self._draining = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = scope[_KEY] = RequestRecord(secrets.token_hex(8), scope["method"], time.monotonic())
        try:
            await self._app(scope, receive, self._sending(scope, send))
        finally:
            server_log.log_request(record)
            self._metrics.request(
                _known(record.method), record.route, record.status, record.seconds, record.received, record.sent
            )

    def _sending(self, scope: Scope, send: Send) -> Send:
        """Wrap `send`, so that the connection ends with this response if the server drains by then."""
        connection = connection_of(scope)
        return send if connection is not None and connection.is_probe else _last(send, self._draining)


def _last(send: Send, draining: Callable[[], bool]) -> Send:
    """End the connection with this response while draining: the client's next connection reaches another process."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and draining():
            message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
        await send(message)

    return sending


class _PathApp:
    """The routes of one path, by method."""

    def __init__(self, path: str, routes: dict[str, Route], handler: RequestHandler) -> None:
        self._path = path
        self._routes = routes
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        record: RequestRecord = scope[_KEY]
        record.route = self._path
        method = scope["method"]
        route = self._routes.get("GET" if method == "HEAD" else method)
        if route is None:
            allowed = ", ".join(sorted({*self._routes, *(("HEAD",) if "GET" in self._routes else ())}))
            await send_problem(make_status_problem(405, record.id, {"Allow": allowed}), False, send, record)
            return
        await self._answer(route, scope, receive, send, record)
        if route.pushes:
            self._handler.server.metrics.push(record.status)

    async def _answer(self, route: Route, scope: Scope, receive: Receive, send: Send, record: RequestRecord) -> None:
        begun = False

        async def sending(message: dict[str, object]) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._handler.handle(route, scope, receive, sending, record)  # type: ignore[arg-type]
        except ClientGone:
            if not begun:  # a client that sent invalid HTTP may still be there to read the response
                with contextlib.suppress(Exception):
                    await send_problem(make_status_problem(400, record.id), False, send, record)
            record.status = 499
        except SlowReader:
            record.status = 499  # the response is incomplete, so the connection ends
        except Exception as error:
            found = make_problem(error, record.id)
            if found.status >= 500 and found.status != 507 and not _is_expected(error):
                server_log.log_failure(record, error)
            if begun:
                return  # the connection ends, so the client notices that the response is incomplete
            if route.words is not None:
                found = replace(found, document=route.words(found.document))
            await send_problem(found, scope["method"] == "HEAD", send, record)


def _is_expected(error: Exception) -> bool:
    """Whether the error only asks the client to wait, which is not logged as a failure."""
    return isinstance(error, LifeboatError) and error.code == "remote_busy"


def _apps(routes: Iterable[Route], handler: RequestHandler) -> list[tuple[str, _PathApp]]:
    """Return the applications by path, those without parameters first: `/deltas/upload` is not `/deltas/{sequence}`."""
    paths: dict[str, dict[str, Route]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method] = route
    ordered = sorted(paths.items(), key=lambda item: (item[0].count("/"), "{" in item[0].rpartition("/")[2]))
    return [(path, _PathApp(path, methods, handler)) for path, methods in ordered]


async def _http_problem(request: Request, error: Exception) -> Response:
    """Return the problem document for what Starlette refuses: an unknown path, or a malformed request."""
    assert isinstance(error, HTTPException)
    record: RequestRecord = request.scope[_KEY]
    record.status = error.status_code
    document = make_status_problem(error.status_code, record.id).document
    return Response(json_codec.encode_json(document), error.status_code, headers_of(record), MEDIA_TYPE)


def _known(method: str) -> str:
    return method if method in ("GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH") else "other"
