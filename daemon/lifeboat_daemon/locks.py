"""One lock per agent, held by capture, restore, purge and thinning; entering it again in the same thread is free."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from filelock import FileLock, Timeout

from lifeboat_alf import codec
from lifeboat_alf.seams.files import read_all
from lifeboat_daemon.errors import Busy, of_system

if TYPE_CHECKING:
    from lifeboat_daemon.context import Context


@contextlib.contextmanager
def agent_lock(context: Context, agent_id: str, purpose: str, *, timeout: float = 0.0) -> Iterator[None]:
    """Hold an agent's lock. `purpose` (a word: capture, restore) is what others are told; `timeout` in seconds.

    Raises Busy, naming the holder, when it is not free in time.
    """
    with _held(context, context.home.lock_file(agent_id), purpose, timeout):
        yield


@contextlib.contextmanager
def home_lock(context: Context, purpose: str, *, timeout: float = 10.0) -> Iterator[None]:
    """Hold the short lock of the whole home: agents are added, moved and removed under it."""
    with _held(context, context.home.locks_folder / "home", purpose, timeout):
        yield


@contextlib.contextmanager
def _held(context: Context, path: Path, purpose: str, timeout: float) -> Iterator[None]:
    note = path.with_name(f"{path.name}.json")
    lock = FileLock(f"{path}.lock", mode=0o600, is_singleton=True)
    try:
        lock.acquire(timeout=timeout)
    except Timeout:
        raise Busy(_holder_text(context, note)) from None
    except OSError as error:
        raise of_system(error) from error
    try:
        if lock.lock_counter == 1:
            _write_note(context, note, purpose)
        yield
    finally:
        lock.release()


def _write_note(context: Context, note: Path, purpose: str) -> None:
    """Say who holds a lock; whoever waits reads it. Not synced: it means nothing after a power cut.

    The lock is held, so nobody else writes the temporary file; what is left of one was of a process that ended. On a
    full disk there is no note: a restore onto another disk must not need one.
    """
    body = codec.encode({"pid": os.getpid(), "purpose": purpose})
    temporary = note.with_name(f"{note.name}.tmp")
    with contextlib.suppress(OSError):
        context.files.remove(temporary)
    with contextlib.suppress(OSError):
        context.files.write_new(temporary, body, mode=0o600, sync=False)
        context.files.replace(temporary, note)


def _holder_text(context: Context, note: Path) -> str:
    try:
        holder = codec.decode(read_all(context.files, note))
        return f"process {holder['pid']} holds it ({holder['purpose']})"
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return "another process holds it"
