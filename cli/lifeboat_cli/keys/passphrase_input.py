"""Read passphrases: typed without echo, from standard input or the environment, never from an option.

A typed passphrase is in the returned context and nowhere else.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import click

from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_cli.terminal.private_text_files import read_first_line
from lifeboat_cli.terminal.word_screen import has_terminal
from lifeboat_core.errors import WordsError
from lifeboat_core.home.context import Context
from lifeboat_keys.errors import KeyLocked, KeysError
from lifeboat_keys.stores.key_environment import PASSPHRASE, PASSPHRASE_FILE
from lifeboat_keys.stores.passphrase_wrapping import PASSPHRASE_LENGTH
from lifeboat_keys.stores.store_kinds import StoreKind
from lifeboat_keys.words_in_texts import holds_recovery_words

STDIN = click.option(
    "--passphrase-stdin", is_flag=True, help="Read the passphrase from the first line of standard input."
)


def with_stdin_passphrase(session: CommandSession, wanted: bool) -> CommandSession:
    """Return the session with the passphrase from standard input, if that is wanted. Raises KeysError.NO_PASSPHRASE."""
    if not wanted:
        return session
    passphrase = _typed() if sys.stdin is not None and sys.stdin.isatty() else read_first_line()
    if not passphrase:
        raise KeysError.NO_PASSPHRASE(
            "the first line of standard input is empty, but must contain the passphrase",
            fix="put the passphrase on the first line of standard input",
        )
    return replace(session, context=_with(session.context, passphrase))


def with_new_passphrase(session: CommandSession, store: StoreKind | None) -> Context:
    """Return the context for storing a key. A new passphrase is typed twice."""
    if store is not StoreKind.PASSPHRASE or not _may_be_typed(session):
        return session.context
    return _with(session.context, _new())


def with_unlocked_session(session: CommandSession) -> CommandSession:
    """Return the session with a usable key; see `with_unlocked_key`."""
    return replace(session, context=with_unlocked_key(session))


def with_unlocked_key(session: CommandSession) -> Context:
    """Return the context with a usable key. If the key is locked, the passphrase is typed."""
    if _may_be_typed(session):
        try:
            session.context.keys().user_key()
        except KeyLocked:
            return _with(session.context, _typed())
        except KeysError:
            pass
    return session.context


def ask_passphrase(session: CommandSession, store: StoreKind) -> str | None:
    """Return the typed passphrase, or None if the environment has it or none is needed. Raises
    WordsError.NOBODY_TO_ASK."""
    if store is not StoreKind.PASSPHRASE or _is_given(session):
        return None
    if not has_terminal(session.output):
        raise WordsError.NOBODY_TO_ASK(
            "the passphrase cannot be typed here, because there is no terminal",
            fix="set LIFEBOAT_PASSPHRASE_FILE to a file that contains the passphrase",
        )
    return _typed()


def _new() -> str:
    """Ask for a new passphrase, twice and long enough."""
    question = f"New passphrase (at least {PASSPHRASE_LENGTH} characters)"
    return str(click.prompt(question, hide_input=True, confirmation_prompt=True, value_proc=_long_enough, err=True))


def _long_enough(passphrase: str) -> str:
    if len(passphrase) < PASSPHRASE_LENGTH:
        raise click.UsageError("the passphrase is too short")  # click asks again after this error.
    if holds_recovery_words(passphrase):
        raise click.UsageError("the passphrase consists of recovery words; choose a different passphrase")
    return passphrase


def _typed() -> str:
    return str(click.prompt("Passphrase", hide_input=True, err=True))


def _may_be_typed(session: CommandSession) -> bool:
    return not _is_given(session) and has_terminal(session.output)


def _is_given(session: CommandSession) -> bool:
    return any(session.context.environment.get(name) for name in (PASSPHRASE, PASSPHRASE_FILE))


def _with(context: Context, passphrase: str) -> Context:
    return replace(context, environment={**context.environment, PASSPHRASE: passphrase})
