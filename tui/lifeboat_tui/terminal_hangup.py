"""Detection of a terminal that was closed. Without it the dashboard would read the end of input forever.

Usually the system sends a signal. Some terminals do not cause one (the cut-off console of a container, a terminal that
is not the controlling terminal of the process). For these, a thread waits for the terminal to report the hang-up.
"""

from __future__ import annotations

import select
import sys
import threading
from collections.abc import Callable


def call_on_hangup(then: Callable[[], object]) -> None:
    """Call `then` once, in its own thread, when standard input hangs up. Does nothing on systems that cannot report
    it."""
    if sys.platform == "win32" or sys.platform == "darwin" or sys.__stdin__ is None:
        return  # macOS cannot poll terminals; only the signal remains there
    poller = select.poll()
    poller.register(sys.__stdin__.fileno(), 0)  # no events requested: POLLHUP and POLLERR are always reported

    def watch() -> None:
        poller.poll()
        then()

    threading.Thread(target=watch, name="terminal", daemon=True).start()
