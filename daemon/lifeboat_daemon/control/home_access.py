"""The door of this user's home for a program that stays: its daemon, and what was last known of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_core.state import last_status
from lifeboat_daemon.control.async_daemon_client import AsyncDaemonClient


class HomeAccess:
    """Opening it finds and checks the home; nothing is kept open. Raises HomeError, Busy."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._context = Context.open(environment)

    async def connect(self, app: str) -> AsyncDaemonClient:
        """A connection to the daemon. Raises NotRunning, ServiceError.DOES_NOT_ANSWER, OtherRelease, NotAllowed,
        ServiceError."""
        return await AsyncDaemonClient.connect(self._context.home, self._context.files, app=app)

    def now(self) -> datetime:
        """The time, by the clock of the home."""
        return self._context.clock.now()

    def remembered(self) -> JsonObject | None:
        """The status that `remember` was given last, None where there is none or it cannot be read."""
        return last_status.load_status(self._context.home, self._context.files)

    def remember(self, document: JsonObject) -> None:
        """Keep a status for the next one who opens the door. It is a cache: what fails is no failure."""
        last_status.save_status(self._context.home, self._context.files, document)
