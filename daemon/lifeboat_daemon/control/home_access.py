"""Access to the user's home for a long-running program: its daemon, and the last known status."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_core.state import last_status
from lifeboat_daemon.control.async_daemon_client import AsyncDaemonClient


class HomeAccess:
    """Access to one home. Creating it finds and checks the home; no file stays open. Raises HomeError, Busy."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._context = Context.open(environment)

    async def connect(self, app: str) -> AsyncDaemonClient:
        """Connect to the daemon. Raises NotRunning, ServiceError.DOES_NOT_ANSWER, OtherRelease, NotAllowed,
        ServiceError."""
        return await AsyncDaemonClient.connect(self._context.home, self._context.files, app=app)

    def now(self) -> datetime:
        """Return the time by the clock of the home."""
        return self._context.clock.now()

    def remembered(self) -> JsonObject | None:
        """Return the status that was last passed to `remember`, or None if there is none or it cannot be read."""
        return last_status.load_status(self._context.home, self._context.files)

    def remember(self, document: JsonObject) -> None:
        """Save a status for the next start of a program. It is a cache, so errors are ignored."""
        last_status.save_status(self._context.home, self._context.files, document)
