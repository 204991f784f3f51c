"""A lock on a share or a stick: one file that is created only if it does not exist.

Locks of the system do not work there; exclusive creation does, on FAT, SMB and NFS. The file names its owner by a
random word. Its age is measured by the clock of its file system, never by that of a machine. An old lock was left by a
machine that is gone, and is taken over.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lifeboat_alf.seams.file_operations import FileOperations, read_all
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_vault.errors import RemoteBusy

STALE = 120.0
"""Seconds. The owner of the lock replaces one small file under it."""
PATIENCE = 20.0
"""Seconds to wait for a lock in use."""
_PAUSE = 0.05
_SETTLING = 0.2
"""Seconds after which a machine that took a lock over checks whether another one did too."""


class FolderLock:
    """The lock `path`. `sleep` waits for some seconds."""

    def __init__(
        self, path: Path, files: FileOperations, clock: Clock, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._path = path
        self._files = files
        self._clock = clock
        self._sleep = sleep
        self._word = secrets.token_hex(16).encode()
        self._since = 0.0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock. Raises RemoteBusy while others hold it, and OSError."""
        tries = int(PATIENCE / _PAUSE)
        while not self._take():
            tries -= 1
            if not tries:
                raise RemoteBusy("another machine keeps writing to the folder of the remote", retry_after=PATIENCE)
            self._sleep(_PAUSE)
        try:
            yield
        finally:
            if self._is_ours():
                with contextlib.suppress(OSError):
                    self._files.remove(self._path)

    def confirm(self) -> None:
        """Check right before the one write under the lock: a machine that slept meanwhile has lost it."""
        if self._clock.since_boot() - self._since > STALE / 2 or not self._is_ours():
            raise RemoteBusy("another machine took over the lock of the remote's folder", retry_after=1.0)

    def _take(self) -> bool:
        self._since = self._clock.since_boot()
        try:
            self._files.write_new(self._path, self._word, mode=0o600, sync=False)
        except FileExistsError:
            return self._is_stale() and self._take_over()
        except OSError:
            self._take_back()
            raise
        return True

    def _take_back(self) -> None:
        """Remove a lock that a full disk left without its word. Otherwise it would block until it is stale."""
        with contextlib.suppress(OSError):
            if self._word.startswith(read_all(self._files, self._path)):
                self._files.remove(self._path)

    def _is_stale(self) -> bool:
        """Return whether the lock is old. A new file shows the time of the file system."""
        probe = self._path.with_name(f".{secrets.token_hex(6)}.tmp")
        try:
            self._files.write_new(probe, b"", mode=0o600, sync=False)
            try:
                now = self._files.lstat(probe).st_mtime
            finally:
                self._files.remove(probe)
            return now - self._files.lstat(self._path).st_mtime > STALE
        except FileNotFoundError:
            return False

    def _take_over(self) -> bool:
        aside = self._path.with_name(f".{secrets.token_hex(6)}.tmp")
        try:
            self._files.replace(self._path, aside)
            self._files.remove(aside)
            self._files.write_new(self._path, self._word, mode=0o600, sync=False)
        except (FileNotFoundError, FileExistsError):
            return False
        except OSError:
            self._take_back()
            raise
        self._sleep(_SETTLING)
        return self._is_ours()

    def _is_ours(self) -> bool:
        try:
            return read_all(self._files, self._path) == self._word
        except OSError:
            return False
