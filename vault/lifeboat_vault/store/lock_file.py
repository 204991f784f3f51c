"""Lock files held by one process at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import filelock

from lifeboat_alf.errors import LifeboatError
from lifeboat_vault import errors


@contextlib.contextmanager
def hold_lock_file(file: Path, *, seconds: float, busy: LifeboatError) -> Iterator[None]:
    """Hold a lock file. Raises `busy` when another process holds it for too long, VaultUnusable when it cannot be
    made."""
    lock = filelock.FileLock(file, mode=0o600, timeout=seconds)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise busy from None
    except OSError as error:
        raise errors.VaultUnusable(f"{file}: {error.strerror or error}") from None
    try:
        yield
    finally:
        lock.release()
