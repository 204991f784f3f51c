"""The home: made, private, readable, with settings that are understood."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_daemon.context import Context
from lifeboat_daemon.doctor import Finding, Level

TITLE = "The home and its settings"


def check(context: Context) -> Iterator[Finding]:
    """`Context.open` has refused an unsafe home already; what is left is its content."""
    yield Finding(Level.OK, str(context.home.folder), "private, and of this release's layout")
    problem = context.config().problem
    if problem:
        result = f"{problem}; the last good settings are in force"
        yield Finding(Level.ERROR, "config.toml", result, f"edit {context.home.config_file}")
    else:
        yield Finding(Level.OK, "config.toml", "understood")
