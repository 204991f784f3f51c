"""Who cares for an agent or a tenant does it alone. Pushes do not wait for these locks: what writes to a vault waits
for its transactions, and each of the care's is as short as its work."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from lifeboat_endpoint import errors
from lifeboat_endpoint.store.lock_file import locked

FILE = "care.lock"
PATIENCE = 30.0
"""Seconds that a command waits for whoever looks after the same thing."""


def alone(folder: Path, *, seconds: float) -> AbstractContextManager[None]:
    """Raises EndpointBusy when another process cares for this folder for so long."""
    busy = errors.EndpointBusy(f"another process looks after {folder.name}")
    return locked(folder / FILE, seconds=seconds, busy=busy)
