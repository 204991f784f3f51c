"""How far long work is, on a terminal: a bar with what was done, its pace, and what is left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lifeboat_core.processes.progress import Figures, Steps, Tell, quietly
from lifeboat_core.texts.safe_text import line_text

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def bar(console: Console, description: str) -> Iterator[Tell]:
    """A bar while work runs; gone when it is through. Nothing where there is no terminal."""
    if not console.is_terminal:
        yield quietly
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    words = TextColumn("{task.description}", markup=False)
    pace = TextColumn("{task.fields[pace]}", markup=False)
    columns = (SpinnerColumn(), words, BarColumn(), TimeElapsedColumn(), pace)
    with Progress(*columns, console=console, transient=True) as rows:
        task = rows.add_task(line_text(description), total=None, pace="")

        def show(told: Figures) -> None:
            rows.update(
                task, description=line_text(told.text), completed=told.done, total=told.total, pace=pace_text(told)
            )

        yield Steps(description, show)


def pace_text(told: Figures) -> str:
    """`120 of 4.1k, 35/s, 2 min left`: as much of it as is known."""
    parts = []
    if told.done:
        parts.append(short(told.done) + (f" of {short(told.total)}" if told.total is not None else ""))
    if told.rate:
        parts.append(f"{short(told.rate)}/s")
    if told.seconds_left:
        left = told.seconds_left
        parts.append(f"{left} s left" if left < 120 else f"{left // 60} min left")
    return ", ".join(parts)


def short(number: float) -> str:
    """A number of files or of bytes, in few letters."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:.0f}"
