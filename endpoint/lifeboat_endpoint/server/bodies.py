"""Bodies of requests: never larger, slower or more at once than was said. They stay in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from starlette.types import Message, Receive, Scope

from lifeboat_endpoint.errors import RemoteBusy, RemoteTooLarge, RemoteUnreachable
from lifeboat_endpoint.server.problems import Refusal
from lifeboat_endpoint.server.settings import Pace


class ClientGone(Exception):
    """The connection ended in the middle of the body: nobody is there to answer to."""


class Budget:
    """How many bytes of bodies may lie in memory at once. For one thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken = 0

    @contextmanager
    def taking(self) -> Iterator[Taken]:
        """What is taken inside is given back at the end."""
        taken = Taken(self)
        try:
            yield taken
        finally:
            self._taken -= taken.size

    def add(self, size: int) -> None:
        if self._taken + size > self._most:
            raise RemoteBusy("the endpoint is receiving as much as it can", retry_after=5)
        self._taken += size


class Taken:
    """One request's part of the budget."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.size = 0

    def add(self, size: int) -> None:
        """Raises RemoteBusy when it is more than there is."""
        self._budget.add(size)
        self.size += size


async def read(scope: Scope, receive: Receive, limit: int, pace: Pace, taken: Taken) -> bytes:
    """The whole body. Raises RemoteTooLarge, Refusal (408), RemoteBusy, ClientGone."""
    parts = []
    async for part in stream(scope, receive, limit, pace, pace.body_seconds):
        taken.add(len(part))
        parts.append(part)
    return b"".join(parts)


async def stream(scope: Scope, receive: Receive, limit: int, pace: Pace, seconds: float) -> AsyncIterator[bytes]:
    """The body in pieces as they come, at most `limit` bytes within `seconds`."""
    if _announced(scope) > limit:
        raise _too_large(limit)
    deadline = time.monotonic() + seconds
    size = 0
    while True:
        message = await _next(receive, min(pace.pause_seconds, deadline - time.monotonic()))
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        if part:
            yield part
        if not message.get("more_body", False):
            return


async def _next(receive: Receive, seconds: float) -> Message:
    try:
        async with asyncio.timeout(max(0.0, seconds)):
            message = await receive()
    except TimeoutError:
        raise Refusal(408, RemoteUnreachable("the body did not arrive in time")) from None
    if message["type"] == "http.disconnect":
        raise ClientGone
    return message


def _announced(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0


def _too_large(limit: int) -> RemoteTooLarge:
    return RemoteTooLarge(f"a body here has at most {limit} bytes")
