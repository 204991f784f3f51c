"""Limit of the files and connections that a process may have open at once."""

from __future__ import annotations

import sys

_WANTED = 65_536
_FOR_FILES = 512


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open descriptors as far as the hard one allows; return the limit in force."""
    if sys.platform == "win32":
        return _WANTED  # sockets are not descriptors on Windows
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _WANTED if soft == resource.RLIM_INFINITY else soft
    for limit in (wanted, 10_240):  # macOS refuses more than OPEN_MAX whatever the hard limit says
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        except (OSError, ValueError):
            continue
        return limit
    return soft


def descriptors_for_connections(limit: int) -> int:
    """Return how many of `limit` descriptors connections may use: vaults and databases need some too."""
    return max(16, limit - _FOR_FILES if limit >= 4 * _FOR_FILES else limit // 2)
