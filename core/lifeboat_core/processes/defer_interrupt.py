"""Ctrl-C waits until a step is through that must not be cut off in the middle."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class HeldInterrupt:
    """Whether Ctrl-C was pressed while it was held back."""

    def __init__(self) -> None:
        self._is_pressed = False

    def __bool__(self) -> bool:
        return self._is_pressed

    def note(self, *_: object) -> None:
        self._is_pressed = True

    def take(self) -> bool:
        """The same, once: whoever asks answers it, and nobody is stopped by it any more."""
        found, self._is_pressed = self._is_pressed, False
        return found


@contextmanager
def defer_interrupt() -> Iterator[HeldInterrupt]:
    """Hold Ctrl-C (SIGINT) back within the block. At its end it does what it would have done, unless it was taken.

    Only the main thread hears signals: in another one this does nothing. Blocks may lie within each other.
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
