"""`lifeboat keys`: the key that opens the credentials, and its 24 words.

No option takes a word or a passphrase as its value, and no result contains one. They are typed on a terminal or read
from a file or the environment.
"""

from __future__ import annotations

from pathlib import Path

import click

from lifeboat_cli.keys import key_status_text, passphrase_input
from lifeboat_cli.terminal import word_screen
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.lazy_group import DefaultCommandGroup
from lifeboat_cli.terminal.option_types import DURATION
from lifeboat_cli.terminal.output import end_question_line
from lifeboat_cli.terminal.private_text_files import DASH, OUT_FILE, open_destination, refuse_mixture
from lifeboat_core.errors import WordsError
from lifeboat_core.home import home_key
from lifeboat_core.remotes import arrange_credentials
from lifeboat_core.texts.human_text import time_text
from lifeboat_daemon.control.poke_daemon import wake_daemon
from lifeboat_keys.errors import KeysError
from lifeboat_keys.home.home_keys import HomeKeys, KeyStatus
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores.store_kinds import StoreKind

ELSEWHERE = {
    "prove": "lifeboat_cli.keys.key_words_commands:prove",
    "recover": "lifeboat_cli.keys.key_words_commands:recover",
    "export-kit": "lifeboat_cli.keys.key_kit_command:export_kit",
    "rotate": "lifeboat_cli.keys.key_rotate_command:rotate",
    "rename-machine": "lifeboat_cli.keys.key_rotate_command:rename_machine",
}
"""Commands of this group that have a module of their own."""


@click.group(cls=DefaultCommandGroup, lazy=ELSEWHERE, default="status")
def keys() -> None:
    """Manage your key, which decrypts the credentials, and its 24 recovery words."""


# The key and its words ------------------------------------------------------------------------------------------


@keys.command(
    short_help="Create the key and show its 24 words.",
    epilog=format_examples(
        "lifeboat keys init",
        "lifeboat keys init --store passphrase",
        "lifeboat keys init --words-to /media/stick/words --no-prove",
    ),
)
@key_status_text.STORE
@passphrase_input.STDIN
@click.option("--words-to", type=OUT_FILE, help="Write the recovery words to this new file (- for standard output).")
@click.option("--no-prove", is_flag=True, help="Do not ask for three of the recovery words.")
@session_command
def init(
    session: CommandSession, store: str | None, words_to: Path | None, no_prove: bool, passphrase_stdin: bool
) -> None:
    """Create the key if there is none, show its 24 words, and ask for three of them.

    An existing key is never replaced. Its words are shown if they are not proven yet, and --store moves it.
    """
    session = passphrase_input.with_stdin_passphrase(session, passphrase_stdin)
    before = session.context.keys().status()
    wanted = StoreKind(store) if store else None
    shown = _is_to_be_shown(session, before, wanted, words_to)
    context = session.context
    if shown or wanted is not None:
        context = (
            passphrase_input.with_unlocked_key(session)
            if _is_wrapped(before)
            else passphrase_input.with_new_passphrase(session, wanted)
        )
    with open_destination(session, words_to) as write:
        made = _made(session, context.keys(), wanted)
        key = context.keys().user_key() if shown else None
        if key is not None and write is not None:
            write(" ".join(key.words()))
    if key is not None and word_screen.has_terminal(session.output):
        _show_and_prove(session, key, show=write is None, ask=not no_prove)
    _say_key(session, context.keys().status(), made=made, words_to=words_to)


def _is_to_be_shown(
    session: CommandSession, before: KeyStatus, wanted: StoreKind | None, words_to: Path | None
) -> bool:
    """Return whether the words are shown now. Raises, before a key is created, if they would not reach the user."""
    refuse_mixture(session, words_to)
    if before.proven_at is not None and words_to is not None:
        message = (
            f"you already proved on {time_text(before.proven_at)} that you have the recovery words of key "
            f"{before.key_id}, so they are not written again"
        )
        raise KeysError.EXISTS(message, fix="lifeboat keys export-kit -o FILE")
    arrives = words_to is not None or word_screen.has_terminal(session.output)
    is_move = before.key_id is not None and wanted is not None
    if before.proven_at is None and not arrives and not is_move:
        raise WordsError.NOBODY_TO_ASK(
            "the 24 recovery words cannot be shown here, because there is no terminal; give a file for the words",
            fix="lifeboat keys init --words-to FILE",
        )
    return before.proven_at is None and arrives


def _is_wrapped(before: KeyStatus) -> bool:
    return before.key_id is not None and before.store is StoreKind.PASSPHRASE


def _made(session: CommandSession, found: HomeKeys, store: StoreKind | None) -> bool:
    """Create the key if there is none, otherwise move it to the requested store. Return whether it was created."""
    _refuse_away(found, store)
    made = found.ensure(store)
    if store is not None and not made:
        for name in found.move(store):
            session.output.note(f"the unencrypted key file {name} was deleted, because the key is now in another store")
        for sentence in arrange_credentials.arrange_quietly(session.context):
            session.output.note(sentence)
    return made


def _refuse_away(found: HomeKeys, store: StoreKind | None) -> None:
    """Raise for a keyring that cannot take a key. The fix differs from that for a key that is in the keyring
    already."""
    problem = found.store_problem(store) if store is StoreKind.KEYRING else None
    if problem is not None and found.store is not store:
        problem.fix = (
            "unlock the keyring of your desktop and run the command again, or use another store: lifeboat keys init "
            "--store passphrase"
        )
        raise problem


def _show_and_prove(session: CommandSession, key: UserKey, *, show: bool, ask: bool) -> None:
    """Show the words on the terminal until they are written down, and ask for three of them until they are right."""
    try:
        while True:
            if show:
                word_screen.show_key_words(session.output, key.words(), key.key_id)
            if not ask:
                return
            if word_screen.ask_three_words(session.output, key.words()):
                break
            show = True
    except (click.Abort, KeyboardInterrupt) as error:
        end_question_line(error)
        session.output.warn(
            f"key {key.key_id} was created, but you have not proved yet that you have its recovery words; to "
            "continue: lifeboat keys init"
        )
        raise
    session.context.keys().note_proven(session.context.now())


def _say_key(session: CommandSession, status: KeyStatus, *, made: bool, words_to: Path | None) -> None:
    document = {
        "key_id": status.key_id,
        "store": str(status.store),
        "made": made,
        "proven_at": status.proven_at,
        "words_to": None if words_to is None else str(words_to),
    }
    say = session.output.note if words_to == DASH else session.output.line

    def text() -> None:
        say(f"Your key {status.key_id} is stored in {key_status_text.PLACES[status.store]}.")
        if status.proven_at is None:
            say("You have not proved yet that you have the recovery words of this key. To do so: lifeboat keys prove")
        else:
            say(
                f"You proved on {time_text(status.proven_at)} that you have the recovery words of this key. To check "
                "again: lifeboat keys prove"
            )
        say("To write a recovery kit (a page with the words and the remotes): lifeboat keys export-kit -o FILE")

    session.output.document(document, text)


# Storage --------------------------------------------------------------------------------------------------------


@keys.command(
    short_help="Show your key, its store, the machines and the agents that use it.",
    epilog=format_examples("lifeboat keys status"),
)
@session_command
def status(session: CommandSession) -> None:
    """Show your key, where it is stored, whether it can be used now, and which machines and agents use it."""
    document = home_key.describe_user_key(session.context)
    session.output.document(document, lambda: key_status_text.print_status(session.output, document))


@keys.command(
    short_help="Unlock your key, for a limited time if you want.",
    epilog=format_examples("lifeboat keys unlock", "lifeboat keys unlock --for 8h"),
)
@click.option(
    "--for",
    "seconds",
    type=DURATION,
    help="Lock the key again after this time, for example 8h (default: at logout or restart).",
)
@passphrase_input.STDIN
@session_command
def unlock(session: CommandSession, seconds: int | None, passphrase_stdin: bool) -> None:
    """Unlock a key that is encrypted with a passphrase, or ask the desktop to unlock the keyring that contains the
    key.
    """
    session = passphrase_input.with_stdin_passphrase(session, passphrase_stdin)
    found = session.context.keys()
    held = found.unlock(passphrase_input.ask_passphrase(session, found.store), seconds)
    if held is None:
        session.output.note(
            f"The key needs no unlocking, because it is stored in {key_status_text.PLACES[found.store]}."
        )
    wake_daemon(session.context)
    _say_state(session, found.status())


@keys.command(
    short_help="Lock the key, so that it needs the passphrase again.", epilog=format_examples("lifeboat keys lock")
)
@session_command
def lock(session: CommandSession) -> None:
    """Lock the key. Commands that use the key need the passphrase again."""
    found = session.context.keys()
    if not found.lock():
        session.output.note("The key was already locked.")
    wake_daemon(session.context)
    _say_state(session, found.status())


def _say_state(session: CommandSession, status: KeyStatus) -> None:
    document = {"key_id": status.key_id, "store": str(status.store), "state": str(status.state), "note": status.note}
    said = status.note or f"key: {status.state}"
    session.output.document(document, lambda: session.output.line(said))
