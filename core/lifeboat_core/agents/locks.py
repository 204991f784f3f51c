"""One lock per agent, held by capture, restore, purge and thinning; entering it again in the same thread is free.

A command waits for a lock in use and says so: long enough for what the daemon does by itself, and some seconds for
another command.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from filelock import FileLock, Timeout

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import read_all
from lifeboat_core.errors import Busy
from lifeboat_core.system_refusals import convert_system_error

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context

UNASKED = frozenset({"capture", "verify", "thin", "drop versions"})
"""Purposes of what the daemon does by itself."""
SECONDS = 30.0
COMMAND_SECONDS = 10.0
"""Seconds that a command waits for another command. Commands that only show something end within them. A restore or a
purge may take longer: its user should decide whether to wait."""
SAID_AFTER = 2.0
FILE_SECONDS = 10.0
"""Seconds that a command waits for another one that writes the same file."""
REFUSALS = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT})
"""Errors of a folder in which nothing can be created."""
_LOOK = 0.3
"""Seconds between two looks. A process that took the lock a moment ago may not have written its note yet."""


@dataclass(frozen=True, slots=True)
class LockPatience:
    """How long a command waits: `seconds` for what the daemon does by itself, `command_seconds` for another command.
    After `said_after` seconds it calls `tell` with a sentence that names the holder."""

    tell: Callable[[str], None]
    seconds: float = SECONDS
    command_seconds: float = COMMAND_SECONDS
    said_after: float = SAID_AFTER


@contextlib.contextmanager
def agent_lock(
    context: Context, agent_id: str, purpose: str, *, timeout: float | None = None, only_reads: bool = False
) -> Iterator[None]:
    """Hold an agent's lock.

    `purpose` (a word: capture, restore) is shown to other commands. `timeout` is in seconds; None waits as long as the
    context is patient, otherwise not at all. `only_reads`: the work writes nothing into the home, so it continues where
    `locks/` cannot be written.

    Raises Busy, naming the holder, when it is not free in time.
    """
    with _held(context, context.home.lock_file(agent_id), purpose, timeout, only_reads=only_reads):
        yield


@contextlib.contextmanager
def home_lock(context: Context, purpose: str, *, timeout: float = 10.0) -> Iterator[None]:
    """Hold the short lock of the whole home, under which agents are added, moved and removed."""
    with _held(context, context.home.locks_folder / "home", purpose, timeout):
        yield


@contextlib.contextmanager
def file_lock(context: Context, target: Path, purpose: str) -> Iterator[None]:
    """Write a file that a user named, alone among the commands of this home. The lock is in the home: no file stays
    beside the target. Raises Busy."""
    with _held(context, context.home.locks_folder / make_lock_name(target), purpose, FILE_SECONDS):
        yield


def make_lock_name(target: Path) -> str:
    """Return the name of the lock of a file."""
    return f"file-{hashlib.blake2b(os.fsencode(target.absolute()), digest_size=16).hexdigest()}"


@contextlib.contextmanager
def _held(
    context: Context, path: Path, purpose: str, timeout: float | None, *, only_reads: bool = False
) -> Iterator[None]:
    note = path.with_name(f"{path.name}.json")
    lock = FileLock(f"{path}.lock", mode=0o600, is_singleton=True)
    try:
        if timeout is None and context.patience is not None:
            _acquire(context, lock, note, context.patience)
        else:
            lock.acquire(timeout=timeout or 0.0)
    except Timeout:
        raise Busy(f"{_holder_text(context, note)} holds the lock that this command needs") from None
    except OSError as error:
        is_read_only = context.home.is_read_only
        if error.errno not in REFUSALS or not (only_reads or is_read_only):
            raise convert_system_error(error) from error
        # No process can change a read-only home, so there is nothing to hold.
        with contextlib.nullcontext() if is_read_only else _held_as_it_is(context, Path(lock.lock_file), note):
            yield
        return
    try:
        if lock.lock_counter == 1:
            write_holder_note(context, note, json_codec.encode_json({"pid": os.getpid(), "purpose": purpose}))
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _held_as_it_is(context: Context, path: Path, note: Path) -> Iterator[None]:
    """Hold a lock file that cannot be opened for writing, against a process that opened it before. If there is none, no
    process can create one, so nothing has to be held. Raises Busy."""
    if sys.platform == "win32":  # filelock holds a lock of another kind there
        yield
        return
    import fcntl

    try:
        file = os.fdopen(context.files.open_regular(path), "rb")
    except OSError:
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Busy(f"{_holder_text(context, note)} holds the lock that this command needs") from error
        yield


def _acquire(context: Context, lock: FileLock, note: Path, patience: LockPatience) -> None:
    """Acquire the lock. Raises Timeout when it was not released in time."""
    began, is_said = time.monotonic(), False
    while True:
        try:
            lock.acquire(timeout=_LOOK)
            return
        except Timeout:
            waited = time.monotonic() - began
            is_unasked = _holder(context, note).get("purpose") in UNASKED
            if waited >= (patience.seconds if is_unasked else patience.command_seconds):
                raise
            if waited >= patience.said_after and not is_said:
                is_said = True
                patience.tell(f"Waiting for {_holder_text(context, note)} to finish...")


def write_holder_note(context: Context, note: Path, body: bytes) -> None:
    """Note who holds a lock, for processes that wait. Not synced: the note is meaningless after a power cut.

    The lock is held, so no other process writes the temporary file; a leftover one is of a process that ended. On a
    full disk there is no note, and the lock works all the same: a restore onto another disk must not need one.
    """
    temporary = note.with_name(f"{note.name}.tmp")
    with contextlib.suppress(OSError):
        context.files.remove(temporary)
    with contextlib.suppress(OSError):
        context.files.write_new(temporary, body, mode=0o600, sync=False)
        context.files.replace(temporary, note)


def _holder_text(context: Context, note: Path) -> str:
    holder = _holder(context, note)
    if holder.keys() >= {"pid", "purpose"}:
        return f"process {holder['pid']} ({holder['purpose']})"
    return "another process"


def _holder(context: Context, note: Path) -> JsonObject:
    """Return what the note says; nothing if it cannot be read."""
    try:
        holder = json_codec.decode_json(read_all(context.files, note))
    except (OSError, msgspec.DecodeError):
        return {}
    return holder if isinstance(holder, dict) else {}
