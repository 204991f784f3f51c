"""What the server imports before it is asked for anything, so that no command has to."""

from __future__ import annotations

import contextlib
from importlib import import_module


def load() -> None:
    """Import the command line. What fails here fails again when it is needed, and is said then."""
    from lifeboat_daemon.cli import program

    for place in program.COMMANDS.values():
        with contextlib.suppress(Exception):
            import_module(place.partition(":")[0])
