"""Settings of a running server, as plain data for its processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServerPace:
    """How much a server handles at once and for how long, in bytes and seconds. `EndpointLimits` bounds single
    bodies."""

    waiting_bytes: int = 512_000_000
    """All bodies that are being received, and separately all responses that are being sent."""
    pause_seconds: float = 30.0
    """The longest silence in the middle of a body, or while a part of a response is read."""
    body_seconds: float = 110.0
    """A direct body, from its first byte to its last."""
    transfer_seconds: float = 3600.0
    """A body over a signed address, which may be large."""
    token_rate: float = 1000.0
    """Requests a second that one token may make on average."""
    token_burst: float = 2000.0
    """Requests that one token may make at once."""
    failure_rate: float = 0.2
    """Failed authentications a second that one address may make on average."""
    failure_burst: float = 20.0
    """Failed authentications that one address may make at once."""
    permission_seconds: int = 900
    """How long a signed address is valid."""
    lanes: int = 4
    """Threads that work for agents; an agent always uses the same one."""
    streams: int = 16
    """Threads for bodies that arrive over signed addresses; one tenant uses at most half of them."""
    lane_queue: int = 256
    """How many requests may wait for a thread."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How the server is reached.

    `public_url` has no slash at its end. Addresses that are handed out begin with it, regardless of the host that a
    request names. `ca_pem` and `pin` are those of the endpoint's own authority, empty if there is none.
    """

    public_url: str
    ca_pem: bytes = b""
    pin: str = ""
    pace: ServerPace = field(default_factory=ServerPace)
    maintenance: bool = True
    """Whether one of the processes also maintains the data."""
    limits: Path | None = None
    """The folder through which processes of this machine share their rate limits, None for a single process."""
