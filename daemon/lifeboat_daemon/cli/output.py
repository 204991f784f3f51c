"""What a command says, and where: the result to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from lifeboat_alf import codec
from lifeboat_alf.errors import LifeboatError

JsonObject = dict[str, Any]
_CONTROL = {code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F, *range(0x80, 0xA0)) if chr(code) not in "\n\t"}


def plain(text: object) -> str:
    """Text that is safe on a terminal: what an agent wrote may hold escape sequences."""
    return str(text).translate(_CONTROL)


class _Console(Console):
    """Rich ends the process with 1 when the reader (head, less) has gone; that is no failure here."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Output:
    """One command's voice. `as_json`: one document on standard output, no people's text."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.console = _Console(file=sys.stdout, highlight=False, markup=False, soft_wrap=True, emoji=False)
        self.notes = _Console(file=sys.stderr, highlight=False, markup=False, soft_wrap=True, emoji=False)

    def document(self, value: JsonObject, text: Callable[[], None]) -> None:
        """The result: `value` as JSON, or whatever `text` prints."""
        if self.as_json:
            sys.stdout.write(codec.encode_pretty(value).decode() + "\n")
        else:
            text()

    def line(self, text: object = "", *, style: str = "") -> None:
        self.console.print(Text(plain(text), style=style))

    def table(self, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
        """A borderless table; figures are text already."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(Text(plain(cell)) for cell in row))
        self.console.print(table)

    def note(self, text: object) -> None:
        """A remark for people, on standard error, in every mode."""
        self.notes.print(Text(plain(text), style="dim"))

    def warn(self, text: object) -> None:
        self.notes.print(Text(f"warning: {plain(text)}", style="yellow"))

    @contextmanager
    def progress(self, description: str) -> Iterator[Callable[[int, int], None]]:
        """A bar on standard error while long work runs; the yielded function takes (done, total)."""
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self.notes, transient=True, disable=not self.notes.is_terminal) as bar:
            task = bar.add_task(description, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)

    def error(self, error: LifeboatError) -> None:
        """What failed, why, and the command that helps."""
        if self.as_json:
            document = {
                "code": error.code,
                "title": error.title,
                "message": error.message,
                "fix": error.fix,
                "retryable": error.retryable,
            }
            sys.stdout.write(codec.encode_pretty({"error": document}).decode() + "\n")
            return
        self.notes.print(Text(f"{error.title}.", style="bold red"))
        self.notes.print(Text(plain(error.message)))
        if error.fix:
            self.notes.print(Text(f"What helps: {plain(error.fix)}"))
