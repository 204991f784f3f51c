"""Who cares for an agent or a tenant does it alone. Pushes do not wait for these locks: what writes to a vault waits
for its transactions, and each of the care's is as short as its work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import filelock

from lifeboat_endpoint import errors

FILE = "care.lock"
PATIENCE = 30.0
"""Seconds that a command waits for whoever looks after the same thing."""


@contextlib.contextmanager
def alone(folder: Path, *, seconds: float) -> Iterator[None]:
    """Raises EndpointBusy when another process cares for this folder for so long."""
    lock = filelock.FileLock(folder / FILE, mode=0o600, timeout=seconds)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise errors.EndpointBusy(f"another process looks after {folder.name}") from None
    except OSError as error:
        raise errors.VaultUnusable(f"{folder / FILE}: {error.strerror or error}") from None
    try:
        yield
    finally:
        lock.release()
