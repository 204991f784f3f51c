"""Hold the locks that a runtime takes before it writes a file, so that no write of the runtime is lost."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from lifeboat_adapters.contract import Adapter
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_core.restore.running_check import make_running_error

SECONDS = 10.0
"""How long to wait for a runtime that writes at this moment."""
_LOOK = 0.05
_MODE = 0o644


def find_lock(adapter: Adapter, workspace: Path, path: Path) -> Path | None:
    """Return the file on which the runtime takes a lock before it writes a file, None for none."""
    if not path.is_relative_to(workspace):
        return None
    name = adapter.lock_name(path.relative_to(workspace).as_posix())
    return None if name is None else workspace / name


@contextlib.contextmanager
def hold_runtime_locks(files: FileOperations, adapter: Adapter, locks: Iterable[Path]) -> Iterator[None]:
    """Hold these locks. One whose folder does not exist is not needed. Raises RestoreError.RUNTIME_RUNNING when another
    process keeps one."""
    with contextlib.ExitStack() as held:
        for path in sorted(set(locks)):
            descriptor = _open(files, path)
            if descriptor is not None:
                held.callback(os.close, descriptor)
                if not _lock(descriptor):
                    raise make_running_error(f"a process that holds {path}", adapter)
        yield


def _open(files: FileOperations, path: Path) -> int | None:
    try:
        return files.open_regular(path)
    except FileNotFoundError:
        with contextlib.suppress(FileNotFoundError):
            files.write_new(path, b"", mode=_MODE)
            return files.open_regular(path)
        return None


if sys.platform == "win32":

    def _lock(descriptor: int) -> bool:
        return True  # The runtime locks a range of bytes here, which keeps nobody from replacing the other file.

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        until = time.monotonic() + SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() > until:
                    return False
                time.sleep(_LOOK)
