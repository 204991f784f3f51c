"""Listen to watchdog's log: some platforms' observers only log that events were lost.

None of its lines reaches standard error. They go on to the handlers of the root logger: the daemon's log has them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

_LOGGER = logging.getLogger("watchdog")
_SIGNS = ("overflow", "lost")


class OverflowLog(logging.Handler):
    """Calls `lost`, in the thread that logs, for every line that says so. `remove` ends it."""

    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._lost = lost
        if not any(isinstance(handler, logging.NullHandler) for handler in _LOGGER.handlers):
            _LOGGER.addHandler(logging.NullHandler())  # without any, Python writes to standard error
        _LOGGER.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().lower()
        if any(sign in text for sign in _SIGNS):
            self._lost()

    def remove(self) -> None:
        """Hear nothing more."""
        _LOGGER.removeHandler(self)
