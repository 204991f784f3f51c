"""Notifications of the desktop, through `desktop-notifier` (extra `notify`).

Without a desktop session there is no user to notify. That is not an error.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from lifeboat_core.errors import NetworkUnreachable
from lifeboat_core.home.context import Context
from lifeboat_daemon.notices.notice_rules import UserNotice

SETTING = "notify.desktop"
SECONDS = 5.0
"""Seconds to wait until the desktop accepts a notification."""
_BUS = "DBUS_SESSION_BUS_ADDRESS"
NO_PACKAGE = "the package desktop-notifier is not installed; the extra `notify` installs it"
NO_SESSION = "your user has no desktop session on this machine"


class DesktopNotifier:
    """Notifies through the desktop; see the module."""

    def is_wanted(self, context: Context) -> bool:
        return bool(context.setting(SETTING))

    def problem(self, context: Context) -> str | None:
        if find_spec("desktop_notifier") is None:
            return NO_PACKAGE
        return None if sys.platform != "linux" or _session_bus(context) else NO_SESSION

    def tell(self, context: Context, notice: UserNotice) -> None:
        """Send the notice. Raises Unreachable if the desktop did not accept it."""
        bus = _session_bus(context)
        if bus is not None:
            os.environ.setdefault(_BUS, bus)  # The package looks for the bus in this variable only.
        try:
            is_shown = asyncio.run(asyncio.wait_for(_show(notice), SECONDS))
        except TimeoutError:
            raise NetworkUnreachable(f"the desktop did not show the notification within {SECONDS:g} seconds") from None
        except Exception as error:  # Its backends raise any exception of their platform.
            raise NetworkUnreachable(f"the desktop did not show the notification ({type(error).__name__})") from None
        if not is_shown:
            raise NetworkUnreachable("the desktop did not show the notification")


def _session_bus(context: Context) -> str | None:
    """Return the address of the session bus: from the environment, or the usual one of systemd."""
    named = context.environment.get(_BUS)
    folder = context.environment.get("XDG_RUNTIME_DIR")
    if named or folder is None:
        return named
    path = Path(folder) / "bus"
    return f"unix:path={path}" if os.path.exists(path) else None


async def _show(notice: UserNotice) -> bool:
    """Return whether the desktop accepted it. The package does not raise on failure, but calls back on success."""
    from desktop_notifier import DesktopNotifier, Urgency

    # The package would write the failure to standard error.
    logging.getLogger("desktop_notifier").setLevel(logging.CRITICAL + 1)
    taken: list[bool] = []
    urgency = Urgency.Critical if notice.is_urgent else Urgency.Normal
    text = notice.text if notice.fix is None else f"{notice.text}\n{notice.fix}"
    notifier = DesktopNotifier(app_name="Lifeboat", app_icon=None)
    await notifier.send(notice.title, text, urgency=urgency, on_dispatched=lambda: taken.append(True))
    return bool(taken)


NOTIFIER = DesktopNotifier()
