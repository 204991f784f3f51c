"""What keeps a secret out of files that nobody meant to write."""

from __future__ import annotations

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def disable_core_dumps() -> bool:
    """Let this process leave no core dump, and on Linux no other process of the user look into its memory.

    Says whether all that the system offers was done. Python cannot wipe `bytes`, so this and short-lived processes
    are what there is; swap is the system's (encrypted swap is the user's).
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
