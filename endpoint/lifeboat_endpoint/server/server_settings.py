"""What a running server was told, as plain data that travels to its worker processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServerPace:
    """How much of what is taken at once, and for how long. Bytes and seconds; what one body may have is said by the
    endpoint's `Limits`."""

    waiting_bytes: int = 512_000_000
    """All bodies that are being received at once, and apart from them all answers that are being sent."""
    pause_seconds: float = 30.0
    """The longest silence in the middle of a body, or while a piece of an answer is taken."""
    body_seconds: float = 110.0
    """A direct body, from its first byte to its last."""
    transfer_seconds: float = 3600.0
    """A body over a signed address: those are large."""
    token_rate: float = 1000.0
    """Requests a second that one token may make on average,"""
    token_burst: float = 2000.0
    """and at once."""
    failure_rate: float = 0.2
    """Failed authentications a second that one address may make on average,"""
    failure_burst: float = 20.0
    """and at once."""
    permission_seconds: int = 900
    """How long a signed address is good for."""
    lanes: int = 4
    """Threads that work for agents; one agent always has the same."""
    streams: int = 16
    """Threads that take bodies over signed addresses while they come; one tenant has at most half of them."""
    lane_queue: int = 256
    """How many requests may wait for one of them."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """`public_url` is how clients reach the server, without a slash at its end: addresses that are handed out begin
    with it, whatever a request says its host is. `ca_pem` and `pin` belong to the endpoint's own authority, empty where
    there is none."""

    public_url: str
    ca_pem: bytes = b""
    pin: str = ""
    pace: ServerPace = field(default_factory=ServerPace)
    maintenance: bool = True
    """Whether one of the processes looks after the data, too."""
    limits: Path | None = None
    """The folder through which processes of this machine share their limits, None for one process."""
