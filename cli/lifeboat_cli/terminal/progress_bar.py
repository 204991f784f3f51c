"""Show the progress of long work on a terminal: a bar with counts, pace, and time left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lifeboat_core.processes.progress import ProgressSteps, StepProgress, Tell, tell_nobody
from lifeboat_core.texts.safe_text import line_text

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def show_progress_bar(console: Console, description: str) -> Iterator[Tell]:
    """Show a bar while work runs and remove it afterwards. Without a terminal, show nothing."""
    if not console.is_terminal:
        yield tell_nobody
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    words = TextColumn("{task.description}", markup=False)
    pace = TextColumn("{task.fields[pace]}", markup=False)
    columns = (SpinnerColumn(), words, BarColumn(), TimeElapsedColumn(), pace)
    with Progress(*columns, console=console, transient=True) as rows:
        task = rows.add_task(line_text(description), total=None, pace="")

        def show(told: StepProgress) -> None:
            rows.update(
                task, description=line_text(told.text), completed=told.done, total=told.total, pace=describe_pace(told)
            )

        yield ProgressSteps(description, show)


def describe_pace(told: StepProgress) -> str:
    """Return `120 of 4.1k, 35/s, 2 min left`, as much of it as is known."""
    parts = []
    if told.done:
        parts.append(
            abbreviate_number(told.done) + (f" of {abbreviate_number(told.total)}" if told.total is not None else "")
        )
    if told.rate:
        parts.append(f"{abbreviate_number(told.rate)}/s")
    if told.seconds_left:
        left = told.seconds_left
        parts.append(f"{left} s left" if left < 120 else f"{left // 60} min left")
    return ", ".join(parts)


def abbreviate_number(number: float) -> str:
    """Abbreviate a number of files or bytes."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:.0f}"
