"""What every command needs: the home it works on, and its output."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli import INTERRUPTED
from lifeboat_cli.terminal.command_again import write_command_again
from lifeboat_cli.terminal.output import CommandOutput, wrap_question
from lifeboat_core.agents.locks import LockPatience
from lifeboat_core.errors import HomeError, RestoreError
from lifeboat_core.home import crash_recovery
from lifeboat_core.home.context import Context
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_core.texts.safe_text import name_text

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class CommandSession:
    context: Context
    output: CommandOutput


def session_command(
    function: Callable[Concatenate[CommandSession, Parameters], Result],
) -> Callable[..., Result]:
    """Give a command `--json` and a CommandSession as its first argument.

    Opening the session first finishes an interrupted restore.
    """
    return _with_session(function, open_session)


def examining_command(
    function: Callable[Concatenate[CommandSession, Parameters], Result],
) -> Callable[..., Result]:
    """Like `session_command`, for commands that examine a home. It does not create a home: for a mistyped path, a new
    home would be examined."""
    return _with_session(function, _open_existing)


def _with_session(
    function: Callable[Concatenate[CommandSession, Parameters], Result], opened: Callable[..., CommandSession]
) -> Callable[..., Result]:
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
    @functools.wraps(function)
    def run(*arguments: Any, as_json: bool = False, **options: Any) -> Result:
        try:
            return function(opened(as_json=as_json or is_json_wanted()), *arguments, **options)
        except LifeboatError as error:
            error.fix = write_command_again(*error.again) if error.again else _with_names(error.fix, options)
            raise

    return run


def _open_existing(*, as_json: bool) -> CommandSession:
    home = Home.locate(os.environ)
    if home.is_absent():
        raise HomeError.ABSENT(f"{home.folder} contains no home of Lifeboat, and a new one could not be created")
    return open_session(as_json=as_json)


def is_json_wanted() -> bool:
    """Return whether `--json` was given before the command."""
    return bool(click.get_current_context().find_root().params.get("as_json"))


def _with_names(fix: str | None, options: JsonObject) -> str | None:
    """Return a fix with the agent, file or remote that this command was given."""
    remote = "remote" if "remote" in options else "name"  # `remote add` and `remote remove` call it NAME
    for option, word in (("agent", "AGENT"), ("file", "FILE"), (remote, "NAME")):
        given = options.get(option)
        if fix is not None and given is not None:
            fix = fix.replace(word, quote_argument(str(given)))
    # A command without an agent cannot name one: list those that there are.
    return "lifeboat agents list" if fix is not None and "AGENT" in fix.split() else fix


def can_ask(session: CommandSession) -> bool:
    """Return whether a user can answer a question."""
    return not session.output.as_json and sys.stdin is not None and sys.stdin.isatty()


def ask_confirmation(session: CommandSession, question: str, *, otherwise: str) -> None:
    """Ask before an action that is hard to undo; a no ends the command. Raises RestoreError.CONSENT_NEEDED, with
    `otherwise` as its message, if no user can be asked."""
    if not can_ask(session):
        raise RestoreError.CONSENT_NEEDED(otherwise).with_again("--yes")
    click.confirm(wrap_question(question), abort=True, err=True)


def ask_typed_word(output: CommandOutput, word: str, question: str = "", *, ignores_case: bool = False) -> None:
    """Let the user type a word that is not typed by accident. After another word, say which one is expected and ask
    again, at most twice. An empty answer ends the command. Raises click.Abort.

    The typed text is not repeated: it may be the secret that the user wants to purge.
    """
    expected = name_text(word)
    prompt = f"Type '{expected}' to continue (Enter stops)"
    if question:
        output.note(question)
    for tries_left in (2, 1, 0):
        typed = click.prompt(wrap_question(prompt), default="", show_default=False, err=True).strip()
        if typed == word or (ignores_case and typed.casefold() == word.casefold()):
            return
        if typed:
            output.note(f"That is not '{expected}'. Nothing was changed.{' Try again.' if tries_left else ''}")
        if not typed or not tries_left:
            raise click.Abort


@contextmanager
def explain_interruption(session: CommandSession, sentence: str) -> Iterator[None]:
    """Print a sentence if Ctrl-C interrupts work of several steps that another command continues."""
    try:
        yield
    except KeyboardInterrupt:
        session.output.warn(sentence)
        raise click.exceptions.Exit(INTERRUPTED) from None


def open_session(*, as_json: bool) -> CommandSession:
    """Find the home, and finish what a crash interrupted without waiting for a lock. If a rotation cannot be finished
    now, print that and continue."""
    context = Context.open()
    output = CommandOutput(as_json=as_json)
    for sentence in crash_recovery.rebuild_lost(context):
        output.warn(sentence)
    for sentence in crash_recovery.finish_restores(context):
        output.warn(sentence)
    for sentence in crash_recovery.finish_purges(context):
        output.warn(sentence)
    try:
        for sentence in crash_recovery.finish_rotation(context):
            output.warn(sentence)
    except LifeboatError as error:
        output.warn(f"the replacement of your key is not complete: {error.message}")
    return CommandSession(replace(context, patience=LockPatience(output.note)), output)
