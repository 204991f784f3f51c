"""One connection to the server's own protocol, in one process."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from lifeboat_endpoint.server.connections import ConnectionBounds
from lifeboat_endpoint.server.http_server import HttpServer, ServingSetup
from support.patience import patience


async def _hello(_: Request) -> PlainTextResponse:
    return PlainTextResponse("hello")


def spoken(sent: bytes | Sequence[bytes], bounds: ConnectionBounds, *, tls: ssl.SSLContext | None = None) -> bytes:
    """Send bytes, and return everything until the server closes the connection; fail if it never does."""
    return asyncio.run(_spoken([sent] if isinstance(sent, bytes) else sent, bounds, tls))


async def _spoken(sent: Sequence[bytes], bounds: ConnectionBounds, tls: ssl.SSLContext | None) -> bytes:
    application: Any = Starlette(routes=[Route("/", _hello, methods=["GET", "POST"])])
    probe, other = socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as listener, probe, other:
        server = HttpServer(application, ServingSetup(listener, probe, bounds, 1.0))
        accepting = asyncio.create_task(server.accept(asyncio.get_running_loop(), tls))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        try:
            for piece in sent:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            async with asyncio.timeout(patience()):
                return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.close()
            accepting.cancel()
