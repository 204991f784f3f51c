"""A terminal that went away: without it the dashboard would read the same end of input again and again, for ever.

Mostly the system says so with a signal. Where nobody does (a container's console that was cut off, a terminal that is
not the process's own), the terminal itself is asked, by a thread that sleeps until then.
"""

from __future__ import annotations

import select
import sys
import threading
from collections.abc import Callable


def call_on_hangup(then: Callable[[], object]) -> None:
    """Call `then` once, in a thread of its own, when standard input hangs up. Where the system cannot tell, never."""
    if sys.platform == "win32" or sys.platform == "darwin" or sys.__stdin__ is None:
        return  # macOS cannot poll terminals; there the signal has to do
    poller = select.poll()
    poller.register(sys.__stdin__.fileno(), 0)  # of nothing but an end

    def watch() -> None:
        poller.poll()
        then()

    threading.Thread(target=watch, name="terminal", daemon=True).start()
