"""The progress of long work: how functions report it, and what follows from that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

Tell = Callable[[str, int, int | None], None]
"""Called as often as wanted: words for people without names of files, units done, and the total if known. A new step
has new words, and counts from 0."""


def tell_nobody(text: str, done: int, total: int | None) -> None:
    """Report progress to no one."""


def count_units(tell: Tell, text: str, total: int) -> Callable[[], None]:
    """Begin a step, and return a function to be called after each of `total` units of it."""
    done = 0
    tell(text, 0, total)

    def one_more() -> None:
        nonlocal done
        done += 1
        tell(text, done, total)

    return one_more


def ignore_units() -> None:
    """Do nothing, where units are not counted."""


_TELLING = 0.05
"""Seconds. A shorter time says nothing about a rate."""


@dataclass(frozen=True, slots=True)
class StepProgress:
    """The progress of a step: `rate` in units a second, None before anything is done."""

    text: str
    done: int
    total: int | None
    rate: float | None
    seconds_left: int | None


def compute_progress(text: str, done: int, total: int | None, seconds: float) -> StepProgress:
    """Compute the progress of a step that began `seconds` ago; the remaining time needs a total."""
    rate = done / seconds if seconds >= _TELLING and done else None
    left = None if rate is None or total is None else max(0.0, (total - done) / rate)
    return StepProgress(
        text, done, total, None if rate is None else round(rate, 1), None if left is None else round(left)
    )


Hear = Callable[[StepProgress], None]


class ProgressSteps:
    """A `Tell` that times steps and passes their progress on. `description` is for a step without words."""

    def __init__(self, description: str, hear: Hear, clock: Callable[[], float] = monotonic) -> None:
        self._description, self._hear, self._clock = description, hear, clock
        self._text, self._done, self._began = description, 0, clock()

    def __call__(self, text: str, done: int, total: int | None) -> None:
        text = text or self._description
        if text != self._text or done < self._done:
            self._text, self._began = text, self._clock()
        self._done = done
        self._hear(compute_progress(text, done, total, self._clock() - self._began))


class ThrottledProgress:
    """Passes progress on at most every `pause` seconds: the first one at once, the last one by `finish`."""

    def __init__(self, hear: Hear, pause: float, clock: Callable[[], float] = monotonic) -> None:
        self._hear, self._pause, self._clock = hear, pause, clock
        self._held: StepProgress | None = None
        self._next = clock()

    def __call__(self, told: StepProgress) -> None:
        self._held = told
        if self._clock() >= self._next:
            self.finish()

    def finish(self) -> None:
        """Pass on what is held back."""
        if self._held is not None:
            told, self._held = self._held, None
            self._next = self._clock() + self._pause
            self._hear(told)
