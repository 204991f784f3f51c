"""Import, in advance, the modules that commands need.

Only modules are loaded: nothing in the home is opened, no thread starts, and no connection is made.
"""

from __future__ import annotations

import contextlib
import pkgutil
from collections.abc import Iterator
from importlib import import_module

_PACKAGES = ("lifeboat_core", "lifeboat_daemon", "lifeboat_cli")
_NOT_FOR_COMMANDS = frozenset({"command_server", "demo", "migrations", "service", "testing", "watch", "work"})
"""Modules of the daemon that commands rarely need, or only in another process."""
_BESIDE = ("httpx", "nacl.bindings", "pyrage")


def load_modules() -> None:
    """Import the command line, its libraries and the adapters. An import error is ignored here, because it is raised
    again when the module is needed."""
    for name in (*_modules(), *_BESIDE):
        with contextlib.suppress(Exception):
            import_module(name)
    with contextlib.suppress(Exception):
        _load_adapters()


def _modules() -> Iterator[str]:
    """Yield all modules of these packages, except those that do something when imported."""
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
