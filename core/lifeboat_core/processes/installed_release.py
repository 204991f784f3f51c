"""The release that this process runs."""

from __future__ import annotations

from functools import cache


@cache
def read_release() -> str:
    """Return the installed release as it was when first asked: an upgrade does not change a running process."""
    from importlib.metadata import version

    return version("agent-lifeboat")
