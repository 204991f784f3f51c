"""What the server imports before it is asked for anything, so that no command has to.

Modules only: nothing of the home is opened, no thread begins, and no connection is made.
"""

from __future__ import annotations

import contextlib
import pkgutil
from collections.abc import Iterator
from importlib import import_module

_PACKAGES = ("lifeboat_core", "lifeboat_daemon", "lifeboat_cli")
_NOT_FOR_COMMANDS = frozenset({"command_server", "demo", "migrations", "service", "testing", "watch", "work"})
"""Parts of the daemon that a command seldom needs, or only in a process of its own."""
_BESIDE = ("httpx", "nacl.bindings", "pyrage")


def load_modules() -> None:
    """Import the command line, what it works with, and the adapters. What fails here fails again when it is needed,
    and is said then."""
    for name in (*_modules(), *_BESIDE):
        with contextlib.suppress(Exception):
            import_module(name)
    with contextlib.suppress(Exception):
        _load_adapters()


def _modules() -> Iterator[str]:
    """All of these packages, but for what starts when it is imported."""
    for package in _PACKAGES:
        for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            parts = found.name.split(".")
            if parts[1] not in _NOT_FOR_COMMANDS and parts[-1] != "__main__":
                yield found.name


def _load_adapters() -> None:
    from lifeboat_adapters import adapter_registry
    from lifeboat_core.processes.installed_release import read_release

    read_release()
    for runtime in adapter_registry.list_runtimes():
        with contextlib.suppress(Exception):
            adapter_registry.load_adapter(runtime)
