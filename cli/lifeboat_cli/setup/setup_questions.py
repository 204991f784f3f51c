"""Questions of `lifeboat setup`, and the single commands that it runs. Each is shown as it would be typed."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_cli.terminal.output import wrap_question
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_keys.words_in_texts import holds_recovery_words

# Commands ---------------------------------------------------------------------------------------------------------


def attempt_command(session: CommandSession, *words: str, secret: str | None = None) -> LifeboatError | None:
    """Run `lifeboat WORDS` here, with its output. `secret` is a line for its standard input, which is not displayed.

    Return the error that it ended with, which was printed; a general error if it ended with another status.
    """
    session.output.verbatim(f"$ {shlex.join(('lifeboat', *words))}")
    try:
        with _stdin(secret):
            status = _run(words)
    except LifeboatError as error:
        session.output.error(error)
        return error
    return None if not status else LifeboatError("the command failed; the reason is printed above")


def retry_until_done(run: Callable[[], LifeboatError | None]) -> bool:
    """Run something until it succeeds or the user stops. Return whether it succeeded. The user decides after each
    failure."""
    while run() is not None:
        if not ask_yes_no("Try again?", default=False):
            return False
    return True


def read_json_answer(*words: str) -> JsonObject:
    """Return the document of `lifeboat WORDS --json`. Raises what the command raises."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        _run((*words, "--json"))
    document: JsonObject = json.loads(said.getvalue())
    return document


def _run(words: Sequence[str]) -> int:
    from lifeboat_cli.program import program

    try:
        with convert_system_errors():
            status = program.main(list(words), prog_name="lifeboat", standalone_mode=False)
    except click.UsageError as error:
        raise LifeboatError(error.format_message(), fix="lifeboat --help") from error
    return status if isinstance(status, int) else 0


@contextlib.contextmanager
def _stdin(line: str | None) -> Iterator[None]:
    if line is None:
        yield
        return
    before = sys.stdin
    sys.stdin = io.StringIO(f"{line}\n")
    try:
        yield
    finally:
        sys.stdin = before


# Questions --------------------------------------------------------------------------------------------------------


def print_heading(session: CommandSession, text: str) -> None:
    """Print the heading of a step."""
    session.output.line()
    session.output.line(text, style="bold")


def ask_yes_no(question: str, *, default: bool = True) -> bool:
    """Ask a yes-or-no question. An empty answer is the default."""
    return click.confirm(wrap_question(question), default=default, err=True)


def ask_choice(session: CommandSession, question: str, answers: Sequence[str], *, default: str = "1") -> int | None:
    """Ask for one of some answers and return its index, or None for an empty answer if `default` is ""."""
    for number, said in enumerate(answers, 1):
        session.output.line(f"  {number}  {said}")
    numbers = [str(number) for number in range(1, len(answers) + 1)]
    allowed = "1" if len(answers) == 1 else f"1 to {len(answers)}"
    given = ask_text(f"{question} ({allowed}{'' if default else ', Enter skips'})", default, numbers)
    return int(given) - 1 if given else None


def ask_text(question: str, default: str = "", allowed: Sequence[str] = ()) -> str:
    """Ask for a line. With `allowed`, it must be one of these or the default."""
    while True:
        given = str(
            click.prompt(wrap_question(question), default=default, show_default=bool(default), err=True)
        ).strip()
        if _is_misplaced(given):
            continue
        if not allowed or given in allowed or given == default:
            return given


def ask_secret(question: str) -> str:
    """Ask for a line without echo. Return "" for an empty one."""
    while True:
        given = str(
            click.prompt(wrap_question(question), default="", show_default=False, hide_input=True, err=True)
        ).strip()
        if not _is_misplaced(given):
            return given


def _is_misplaced(given: str) -> bool:
    """Return whether an answer contains recovery words, and say so. The question is repeated and the answer
    discarded."""
    if not holds_recovery_words(given):
        return False
    click.echo("You typed recovery words, which are not expected here. The input was discarded.", err=True)
    return True
