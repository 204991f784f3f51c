"""Core dumps are disabled. Run in a separate process, because it cannot be undone."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROBE = """
import ctypes, resource
from lifeboat_keys.hardening import disable_core_dumps
print(disable_core_dumps(), resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux only")
def test_a_process_leaves_no_core_dump_and_is_not_dumpable() -> None:
    done = subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True (0, 0) 0"
