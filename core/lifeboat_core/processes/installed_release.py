"""Which release this process runs."""

from __future__ import annotations

from functools import cache


@cache
def read_release() -> str:
    """The installed release, as it was when first asked: an upgrade under a running process is not its own."""
    from importlib.metadata import version

    return version("agent-lifeboat")
