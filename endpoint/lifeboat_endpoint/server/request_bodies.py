"""Bodies of requests, limited in size, duration and total memory."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from starlette.types import Message, Receive, Scope

from lifeboat_endpoint.server.problems import HttpRefusal
from lifeboat_endpoint.server.server_settings import ServerPace
from lifeboat_vault.errors import RemoteBusy, RemoteTooLarge, RemoteUnreachable


class ClientGone(Exception):
    """The connection ended in the middle of the body, so no response can be sent."""


class MemoryBudget:
    """How many bytes of bodies may be in memory, in all and for each tenant. For one thread."""

    def __init__(self, most: int, share: float = 0.75) -> None:
        self._most = most
        self._share = share
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taking(self) -> Iterator[MemoryShare]:
        """Return everything that is taken inside of the block at its end."""
        taken = MemoryShare(self)
        try:
            yield taken
        finally:
            self._taken[taken.owner] -= taken.size
            if not self._taken[taken.owner]:
                del self._taken[taken.owner]

    def add(self, owner: str, size: int, *, first: bool = False) -> None:
        """Count bytes of an owner. `first` allows one body larger than the whole budget, if its owner has no other."""
        if not size:
            return
        own = self._taken[owner]
        fits = own + size <= self._most * self._share and self._taken.total() + size <= self._most
        if not fits and not (first and not own):
            raise RemoteBusy("the endpoint has no memory left for more request bodies", retry_after=5)
        self._taken[owner] = own + size


class MemoryShare:
    """The part of the budget of one request. Its owner is set before anything is taken, and does not change."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self.owner = ""
        self.size = 0

    def add(self, owner: str, size: int, *, first: bool = False) -> None:
        """Take bytes. Raises RemoteBusy if there are not enough."""
        self._budget.add(owner, size, first=first)
        self.owner, self.size = owner, self.size + size


async def read_body(
    scope: Scope, receive: Receive, limit: int, pace: ServerPace, taken: MemoryShare, owner: str
) -> bytes:
    """Read the whole body, on the account of a tenant. Raises RemoteTooLarge, HttpRefusal (408), RemoteBusy,
    ClientGone."""
    parts = []
    async for part in stream_body(scope, receive, limit, pace, pace.body_seconds):
        taken.add(owner, len(part))
        parts.append(part)
    return b"".join(parts)


async def stream_body(
    scope: Scope, receive: Receive, limit: int, pace: ServerPace, seconds: float
) -> AsyncIterator[bytes]:
    """Yield the body as it arrives, at most `limit` bytes within `seconds`."""
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
        raise HttpRefusal(408, RemoteUnreachable("the body of the request did not arrive in time")) from None
    if message["type"] == "http.disconnect":
        raise ClientGone
    return message


def _announced(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0


def _too_large(limit: int) -> RemoteTooLarge:
    return RemoteTooLarge(f"the body of this request must have at most {limit} bytes")
