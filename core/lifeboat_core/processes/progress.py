"""How far long work is: the one way in which functions tell it, and what follows from that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

Tell = Callable[[str, int, int | None], None]
"""Called as often as one likes: words for people without names of files, units done, and of how many where that is
known. A new step has new words, and counts from 0."""


def tell_nobody(text: str, done: int, total: int | None) -> None:
    """Tell nobody."""


def count_units(tell: Tell, text: str, total: int) -> Callable[[], None]:
    """A function to be called after each of `total` units of a step, which begins now."""
    done = 0
    tell(text, 0, total)

    def one_more() -> None:
        nonlocal done
        done += 1
        tell(text, done, total)

    return one_more


def ignore_units() -> None:
    """Where units are not counted."""


_TELLING = 0.05
"""Seconds. What was done in less says nothing about a pace."""


@dataclass(frozen=True, slots=True)
class StepProgress:
    """What can be said of a step: `rate` in units a second, None before anything is done."""

    text: str
    done: int
    total: int | None
    rate: float | None
    seconds_left: int | None


def compute_progress(text: str, done: int, total: int | None, seconds: float) -> StepProgress:
    """Of a step that began `seconds` ago; what is left is known once it counts towards a total."""
    rate = done / seconds if seconds >= _TELLING and done else None
    left = None if rate is None or total is None else max(0.0, (total - done) / rate)
    return StepProgress(
        text, done, total, None if rate is None else round(rate, 1), None if left is None else round(left)
    )


Hear = Callable[[StepProgress], None]


class ProgressSteps:
    """A `Tell` that times the steps it hears of and passes their figures on. `description` stands where a step has no
    words of its own."""

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
    """Passes figures on at most every `pause` seconds: the first at once, the last one by `finish`."""

    def __init__(self, hear: Hear, pause: float, clock: Callable[[], float] = monotonic) -> None:
        self._hear, self._pause, self._clock = hear, pause, clock
        self._held: StepProgress | None = None
        self._next = clock()

    def __call__(self, told: StepProgress) -> None:
        self._held = told
        if self._clock() >= self._next:
            self.finish()

    def finish(self) -> None:
        """Pass on what is still held back."""
        if self._held is not None:
            told, self._held = self._held, None
            self._next = self._clock() + self._pause
            self._hear(told)
