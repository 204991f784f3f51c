"""The service managers: systemd on Linux, launchd on macOS, the task scheduler on Windows.

Templates are in this package. The daemon imports only `systemd_notify` from it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context
    from lifeboat_daemon.units.service_unit import ServiceManager, UnitState


def find_manager(context: Context, platform: str = sys.platform) -> ServiceManager:
    """Return the service manager of this system."""
    if platform == "darwin":
        from lifeboat_daemon.units.launchd import Launchd

        return Launchd(context)
    if platform == "win32":
        from lifeboat_daemon.units.task_scheduler import TaskScheduler

        return TaskScheduler(context)
    from lifeboat_daemon.units.systemd import Systemd

    return Systemd(context)


def inspect_unit(context: Context) -> UnitState:
    """Return the state of the service. Never raises."""
    return find_manager(context).state()
