"""Listen to watchdog's log: the observers of some platforms report lost events only there.

None of its lines reaches standard error. They are passed on to the handlers of the root logger, so they are in the
daemon's log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

_LOGGER = logging.getLogger("watchdog")
_SIGNS = ("overflow", "lost")


class OverflowLog(logging.Handler):
    """Calls `lost`, in the thread that logs, for every line that reports lost events. `remove` ends it."""

    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._lost = lost
        if not any(isinstance(handler, logging.NullHandler) for handler in _LOGGER.handlers):
            _LOGGER.addHandler(logging.NullHandler())  # Without any handler, Python writes to standard error.
        _LOGGER.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().lower()
        if any(sign in text for sign in _SIGNS):
            self._lost()

    def remove(self) -> None:
        """Stop listening."""
        _LOGGER.removeHandler(self)
