"""Keep secrets out of core dumps and of other processes."""

from __future__ import annotations

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def disable_core_dumps() -> bool:
    """Disable core dumps of this process and, on Linux, memory access by other processes of the user.

    Returns whether everything that the system offers was done. Python cannot wipe `bytes`, so this and short-lived
    processes are all that is possible. Swap is up to the system (encrypted swap is up to the user).
    """
    return _limit_core_size() and _not_dumpable()


def _limit_core_size() -> bool:
    try:
        import resource
    except ImportError:  # Windows writes no core files
        return True
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (OSError, ValueError):
        return False
    return True


def _not_dumpable() -> bool:
    if sys.platform != "linux":
        return True
    library = ctypes.CDLL(None, use_errno=True)
    return bool(library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
