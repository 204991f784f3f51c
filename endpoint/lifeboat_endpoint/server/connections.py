"""The open connections of one process, limited in all and per address before descriptors run out.

A connection is proven once a request on it came with a valid token or a signed address. When a limit is reached, the
oldest connection that is not proven makes room for the new one, so idle connections cannot keep a token holder out.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lifeboat_endpoint.server.rates.token_buckets import address_key
from lifeboat_vault.errors import CannotServe

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

SCOPE_KEY = "lifeboat.connection"
"""Key of the `OpenConnection` of a request in its ASGI scope."""
DEFAULT_TOTAL, DEFAULT_PER_ADDRESS = 1000, 100


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """How many connections a process accepts.

    `total` is the limit of all, `per_address` that of one address, which does not apply to `proxies`. An IPv6 address
    counts as its /64 network. Times in seconds: `handshake` for TLS, `head` from the first byte of a request to the end
    of its headers, `idle` between two requests, `closing` for a client that does not read the last bytes.
    """

    total: int = DEFAULT_TOTAL
    per_address: int = DEFAULT_PER_ADDRESS
    proxies: tuple[Network, ...] = ()
    handshake: float = 10.0
    head: float = 10.0
    idle: float = 30.0
    closing: float = 5.0

    def is_proxy(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return False
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        return any((mapped or found) in network for network in self.proxies)


def parse_proxies(texts: tuple[str, ...]) -> tuple[Network, ...]:
    """Parse addresses and networks as a user writes them (`192.0.2.7`, `10.0.0.0/8`). Raises CannotServe."""
    found: list[Network] = []
    for text in texts:
        try:
            found.append(ipaddress.ip_network(text))
        except ValueError:
            fix = "lifeboat endpoint serve --proxy 192.0.2.7 --proxy 10.0.0.0/8 --data DIR"
            raise CannotServe(f"{text!r} is neither an IP address nor a network", fix=fix) from None
    return tuple(found)


@dataclass(eq=False, slots=True)
class OpenConnection:
    """One accepted connection.

    `key` is the address it counts for, "" for a proxy. `close` ends it immediately; `is_closing` is True while it only
    waits for its last bytes to be read. Handlers in any thread set `is_proven`. The first process probes over an
    `is_probe`, which no limit counts and a drain does not end.
    """

    key: str
    close: Callable[[], None]
    is_closing: Callable[[], bool] = lambda: False
    is_proven: bool = False
    is_probe: bool = False
    closing_since: float | None = None


@dataclass(slots=True)
class OpenConnections:
    """All connections, oldest first. For one thread."""

    bounds: ConnectionBounds
    evicted: int = 0
    refused: int = 0
    _unproven: dict[OpenConnection, None] = field(default_factory=dict)
    _proven: dict[OpenConnection, None] = field(default_factory=dict)
    _per_address: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self._unproven) + len(self._proven)

    def __iter__(self) -> Iterator[OpenConnection]:
        return iter([*self._unproven, *self._proven])

    def admit(self, address: str, close: Callable[[], None]) -> OpenConnection | None:
        """Count a new connection, or return None if it has to be refused.

        At a limit, the oldest unproven connection is closed; at the limit per address, the oldest one of this address.
        If all of them are proven, the new one is refused.
        """
        key = "" if self.bounds.is_proxy(address) else address_key(address)
        # The limit per address does not apply to proxies, whose key is "".
        full = key and self._per_address[key] >= self.bounds.per_address
        if (full and not self._evict(key)) or (len(self) >= self.bounds.total and not self._evict("")):
            self.refused += 1
            return None
        connection = OpenConnection(key, close)
        self._unproven[connection] = None
        self._per_address[key] += 1
        return connection

    def remove(self, connection: OpenConnection) -> None:
        """Stop counting a connection. Repeating it has no effect."""
        if connection not in self._unproven and connection not in self._proven:
            return
        self._unproven.pop(connection, None)
        self._proven.pop(connection, None)
        self._per_address[connection.key] -= 1
        if not self._per_address[connection.key]:
            del self._per_address[connection.key]

    def shed(self, count: int) -> int:
        """Close up to `count` of the oldest unproven connections, because descriptors ran out; return how many."""
        done = 0
        while done < count and self._evict(""):
            done += 1
        return done

    def close_stuck(self, now: float) -> None:
        """Close connections whose client has not read the last bytes in time."""
        for connection in self:
            if not connection.is_closing():
                continue
            if connection.closing_since is None:
                connection.closing_since = now
            elif now - connection.closing_since >= self.bounds.closing:
                connection.close()

    def _evict(self, key: str) -> bool:
        """Close the oldest unproven connection, of the address `key` unless it is ""."""
        for connection in list(self._unproven):
            if connection.is_proven:  # a handler proved it since it was accepted
                del self._unproven[connection]
                self._proven[connection] = None
            elif not key or connection.key == key:
                self.remove(connection)
                self.evicted += 1
                connection.close()
                return True
        return False


def connection_of(scope: Any) -> OpenConnection | None:
    """Return the connection of a request, None if a test calls the application without a server."""
    found = scope.get(SCOPE_KEY)
    return found if isinstance(found, OpenConnection) else None
