"""The user's key: there, readable by its owner only, and how well it is kept."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_daemon.context import Context
from lifeboat_daemon.doctor import Finding, Level

TITLE = "The key that opens the credentials"


def check(context: Context) -> Iterator[Finding]:
    status = context.keys().status()
    if status.key_id is None:
        yield Finding(Level.WARNING, "key", "none yet: the first agent makes it", "lifeboat agents add FOLDER")
        return
    context.keys().user_key()
    yield Finding(Level.WARNING, f"key {status.key_id}", f"{status.note or status.state}; whoever reads it opens all")
