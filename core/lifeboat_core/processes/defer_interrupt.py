"""Defer Ctrl-C until a step is done that must not be interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class HeldInterrupt:
    """Whether Ctrl-C was pressed while it was deferred."""

    def __init__(self) -> None:
        self._is_pressed = False

    def __bool__(self) -> bool:
        return self._is_pressed

    def note(self, *_: object) -> None:
        self._is_pressed = True

    def take(self) -> bool:
        """Return the same once: the caller handles the interrupt, and it stops nothing any more."""
        found, self._is_pressed = self._is_pressed, False
        return found


@contextmanager
def defer_interrupt() -> Iterator[HeldInterrupt]:
    """Defer Ctrl-C (SIGINT) within the block. At its end the interrupt happens, unless it was taken.

    Only the main thread gets signals: in another thread this does nothing. Blocks may be nested.
    """
    pressed = HeldInterrupt()
    former = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(former):
        yield pressed
        return
    signal.signal(signal.SIGINT, pressed.note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, former)
    if pressed:
        signal.raise_signal(signal.SIGINT)
