"""The output of a command: the result to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
from rich.console import Console
from rich.text import Text

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.terminal.pager import is_pager_wanted, show_in_pager
from lifeboat_cli.terminal.progress_bar import show_progress_bar
from lifeboat_cli.terminal.text_table import TableFit, format_table, wrap_sentence
from lifeboat_core.errors import ReaderGone
from lifeboat_core.processes.progress import ProgressSteps, StepProgress, Tell, ThrottledProgress
from lifeboat_core.texts import readable_json
from lifeboat_core.texts.safe_text import block_text, cell_text, json_text, line_text

listener: Callable[[StepProgress], None] | None = None
"""Receives the progress of this process's command instead of a terminal; set by a command server."""
_BETWEEN_FIGURES = 0.2
"""Seconds."""
_ANSWERS = len(" [Y/n]: ")


class _PatientConsole(Console):
    """A console that raises ReaderGone for a broken pipe. Rich would end the process with 1, but a closed reader is not
    an error."""

    def on_broken_pipe(self) -> None:
        raise ReaderGone


class CommandOutput:
    """The output of one command. `as_json`: one document on standard output, no text for people."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.console = _PatientConsole(file=sys.stdout, highlight=False, markup=False, soft_wrap=True, emoji=False)
        self.notes = _PatientConsole(file=sys.stderr, highlight=False, markup=False, soft_wrap=True, emoji=False)

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads the result, so that no file or log stores it."""
        return self.console.is_terminal

    def document(self, value: JsonObject | msgspec.Struct, text: Callable[[], None]) -> None:
        """Print the result: `value` as JSON, or what `text` prints."""
        if self.as_json:
            _write(readable_json.encode_pretty_json(value))
        else:
            text()

    def json_line(self, value: JsonObject) -> None:
        """Print one of several documents on its own line and flush: an event while it happens."""
        _write(readable_json.encode_json(value), at_once=True)

    def line(self, text: object = "", *, style: str = "") -> None:
        """Print a sentence, wrapped between words on a terminal. Line breaks in it are escaped."""
        _say(self.console, line_text(text), style)

    def item(self, label: str, text: object, *, style: str = "") -> None:
        """Print a label and a sentence. On a terminal, the further lines of the sentence begin below its first word."""
        width = _width(self.console)
        lines = wrap_sentence(line_text(text), None if width is None else width - len(label) - 1)
        for number, line in enumerate(lines):
            self.console.print(Text(f"{'' if number else label:<{len(label)}} {line}", style=style))

    def verbatim(self, text: object) -> None:
        """Print a line for copying, such as a command. Only the terminal wraps it."""
        self.console.print(Text(line_text(text)))

    def block(self, text: object) -> None:
        """Print a text of several lines unchanged: a file, a difference, a memory. It must not contain text of Lifeboat
        itself, or names other than results of `name_text`."""
        self.console.print(Text(block_text(text)))

    def table(self, columns: Sequence[str], rows: Iterable[Iterable[object]], fit: TableFit | None = None) -> None:
        """Print columns without borders. On a terminal, cells are shortened so that each row is one line; `fit` says
        which. Without a terminal, the table has its natural width."""
        cells = [[cell_text(cell) for cell in row] for row in rows]
        header, *lines = format_table(columns, cells, _width(self.console), fit)
        self.console.print(Text(header, style="bold"))
        for line in lines:
            self.console.print(Text(line))

    @contextmanager
    def pager(self) -> Iterator[None]:
        """Show a long result in the user's pager: on a terminal only, and never as JSON. What was printed before an
        error is shown, too."""
        if not self.is_terminal or self.as_json or not is_pager_wanted():
            yield
            return
        captured = self.console.capture()
        try:
            with captured:
                yield
        finally:
            show_in_pager(captured.get(), self.console)

    def note(self, text: object) -> None:
        """Print a remark for people on standard error, in every mode."""
        _say(self.notes, line_text(text), "dim")

    def warn(self, text: object) -> None:
        _say(self.notes, f"warning: {line_text(text)}", "yellow")

    @contextmanager
    def progress(self, description: str) -> Iterator[Tell]:
        """Show the progress of long work: a bar on standard error, or figures for the listener. `description` is used
        while the yielded function receives no words."""
        if listener is not None:
            seldom = ThrottledProgress(listener, _BETWEEN_FIGURES)
            steps = ProgressSteps(description, seldom)
            steps("", 0, None)
            yield steps
            seldom.finish()
            return
        with show_progress_bar(self.notes, description) as tell:
            yield tell

    def error(self, error: LifeboatError) -> None:
        """Print the title, cause and fix of an error."""
        if self.as_json:
            document = {
                "code": error.code,
                "title": error.title,
                "message": error.message,
                "fix": error.fix,
                "retryable": error.retryable,
            }
            _write(readable_json.encode_pretty_json({"error": document}))
            return
        _say(self.notes, f"{line_text(error.title)}.", "bold red")
        _say(self.notes, line_text(error.message))
        if error.fix:
            self.notes.print(Text(f"To fix it: {line_text(error.fix)}"))


def _write(document: bytes, *, at_once: bool = False) -> None:
    """Write to standard output. Raises ReaderGone."""
    try:
        sys.stdout.write(json_text(document.decode()) + "\n")
        if at_once:
            sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGone from None


def end_question_line(error: BaseException) -> None:
    """End the line of a question that Ctrl-C or Ctrl-D interrupted, once. click ends the line of an interrupted
    command, but not that of a question."""
    if error.__cause__ is None and isinstance(error.__context__, (KeyboardInterrupt, EOFError)):
        sys.stderr.write("\n")
        error.__cause__ = error.__context__


def wrap_question(text: str) -> str:
    """Return a question, escaped, and on a terminal wrapped between words, with room for the answers that click adds.
    click would leave the wrapping to the terminal, which breaks words."""
    width = _width(_PatientConsole(file=sys.stderr))
    return "\n".join(wrap_sentence(line_text(text), None if width is None else width - _ANSWERS))


def _width(console: Console) -> int | None:
    return console.width if console.is_terminal else None


def _say(console: Console, text: str, style: str = "") -> None:
    for line in wrap_sentence(text, _width(console)):
        console.print(Text(line, style=style))
