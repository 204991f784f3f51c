"""The service in the hands of the system: systemd on Linux, launchd on macOS, the task scheduler on Windows.

Templates lie in this folder. `notify` is what a running service tells systemd; the daemon imports nothing else of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context
    from lifeboat_daemon.units.service_unit import ServiceManager, UnitState


def find_manager(context: Context, platform: str = sys.platform) -> ServiceManager:
    """The service manager of this system."""
    if platform == "darwin":
        from lifeboat_daemon.units.launchd import Launchd

        return Launchd(context)
    if platform == "win32":
        from lifeboat_daemon.units.task_scheduler import TaskScheduler

        return TaskScheduler(context)
    from lifeboat_daemon.units.systemd import Systemd

    return Systemd(context)


def install_unit(context: Context, *, start: bool = True) -> list[str]:
    """Have the service started at every login, and now; what was done. Raises UnitError."""
    return find_manager(context).install(start=start)


def uninstall_unit(context: Context) -> list[str]:
    """Undo that; what was done. Raises UnitError."""
    return find_manager(context).uninstall()


def inspect_unit(context: Context) -> UnitState:
    """How the service stands with the system. Never raises."""
    return find_manager(context).state()
