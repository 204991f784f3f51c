"""A process with a lease on a file: opening the file blocks, or fails with a request to retry."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_HOLDER = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
descriptor = os.open(sys.argv[1], os.O_RDWR)
try:
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    print("held", flush=True)
except OSError:
    print("refused", flush=True)
sys.stdin.read()
"""

needs_leases = pytest.mark.skipif(sys.platform != "linux", reason="leases on files are those of Linux")


@contextlib.contextmanager
def leased(path: Path) -> Iterator[None]:
    """Let another process of this user hold a write lease on a file and never release it on request."""
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        try:
            assert holder.stdout is not None
            if holder.stdout.readline().strip() != "held":
                pytest.skip("this file system has no leases")
            yield
        finally:
            holder.kill()
