"""`lifeboat keys rotate` and `rename-machine`: replace the key in force, and name the machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.keys import passphrase_input
from lifeboat_cli.terminal import word_screen
from lifeboat_cli.terminal.command_session import CommandSession, ask_confirmation, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.output import end_question_line
from lifeboat_cli.terminal.private_text_files import DASH, IN_FILE, OUT_FILE, open_destination, read_private_text
from lifeboat_core.errors import WordsError
from lifeboat_core.exchange.new_file import refuse_existing
from lifeboat_core.home import user_key_rotation
from lifeboat_core.home.context import Context
from lifeboat_core.home.user_key_rotation import RotationReport
from lifeboat_core.texts.human_text import count_text, quote_argument
from lifeboat_keys.errors import KeysError
from lifeboat_keys.home import device_registry
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.recovery import recovery_kit

_SAFE = (
    "The old recovery words cannot decrypt data that is encrypted from now on. The new words decrypt old and new data."
)
_STOLEN = (
    "All credentials are encrypted again for the new key, but anyone who has the old key can still decrypt old copies."
)


@click.command(
    short_help="Replace your key.",
    epilog=format_examples(
        "lifeboat keys rotate",
        "lifeboat keys rotate --compromised",
        "lifeboat keys rotate --lost laptop",
        "lifeboat keys rotate --words-to /media/stick/words --no-prove --yes",
        "lifeboat keys rotate --words-from /media/stick/words",
    ),
)
@click.option(
    "--compromised",
    is_flag=True,
    help="Other people may have the old key: encrypt all credentials again for the new key, and refuse data that "
    "the old key signs.",
)
@click.option(
    "--lost",
    metavar="MACHINE",
    help="MACHINE was lost together with the key: do the same as --compromised, and also refuse data "
    "that MACHINE signs.",
)
@click.option("--words-to", type=OUT_FILE, help="Write the new recovery words to this new file.")
@click.option(
    "--words-from",
    type=IN_FILE,
    help="Use the new key that another of your machines uses already: read its 24 recovery words from this file.",
)
@click.option("--no-prove", is_flag=True, help="Do not ask for three of the recovery words.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@passphrase_input.STDIN
@session_command
def rotate(
    session: CommandSession,
    compromised: bool,
    lost: str | None,
    words_to: Path | None,
    words_from: Path | None,
    no_prove: bool,
    yes: bool,
    passphrase_stdin: bool,
) -> int:
    """Replace your key with a new key, show its 24 recovery words, and ask for three of them.

    The history is not rewritten, and the new words decrypt everything that the old key decrypted. The new key is
    used after you proved that you have its words, or after the words were written to a file. On your other
    machines, run this command with --words-from and the new words. With --passphrase-stdin, the words follow the
    first line of standard input.
    """
    _check_usage(words_to, words_from)
    session = passphrase_input.with_stdin_passphrase(session, passphrase_stdin)
    session = replace(session, context=_with_passphrase(session))
    old = user_key_rotation.load_key_in_force(session.context)
    machine = None if lost is None else user_key_rotation.find_lost_machine(session.context, lost)
    _check_arrival(session, words_to, words_from)
    if not yes:
        session.output.note(_STOLEN if compromised or machine else _SAFE)
        ask_confirmation(session, f"Replace the key {old.key_id}?", otherwise=f"this replaces the key {old.key_id}")
    if words_from is not None:
        new, proven = recovery_kit.key_in(read_private_text(words_from)), True
    else:
        new = UserKey.generate()
        with _void_unless_in_force(session, new):
            proven = _hand_over(session, new, words_to, ask=not no_prove)
    with _void_unless_in_force(session, new), session.output.progress("Replacing the key"):
        report = user_key_rotation.rotate_user_key(session.context, old, new, compromised=compromised, lost=machine)
    keys = session.context.keys()
    if proven:
        keys.note_proven(session.context.now())
    if keys.lock():
        session.output.note(
            "The new key is locked, although the old key was unlocked. To unlock it: lifeboat keys unlock"
        )
    document = {**report.to_json(), "words_to": None if words_to is None else str(words_to)}
    session.output.document(document, lambda: _say(session, report))
    return 1 if report.settled.unfinished else 0


def _check_usage(words_to: Path | None, words_from: Path | None) -> None:
    if words_to is not None and words_from is not None:
        raise click.UsageError("Give --words-to or --words-from, not both.")
    if words_to == DASH:
        raise click.UsageError(
            "Give a file for the new words: on standard output they could be lost before you save them."
        )


def _check_arrival(session: CommandSession, words_to: Path | None, words_from: Path | None) -> None:
    """Refuse, before any question, new words that would not reach the user."""
    if words_to is not None:
        refuse_existing(words_to)
    elif words_from is None and not word_screen.has_terminal(session.output):
        raise WordsError.NOBODY_TO_ASK(
            "the new recovery words cannot be shown here, because there is no terminal; give a file for the words",
            fix="add --words-to FILE",
        )


def _with_passphrase(session: CommandSession) -> Context:
    """Return the session for wrapping with a passphrase: the present key is opened with its passphrase and the new one
    wrapped. A key that is only unlocked is not enough."""
    context = passphrase_input.with_unlocked_key(session)
    keys = context.keys()
    problem = keys.store_problem(keys.store)
    if problem is not None and problem.code == KeysError.NO_PASSPHRASE.code:
        return passphrase_input.with_new_passphrase(session, keys.store)
    return context


def _hand_over(session: CommandSession, new: UserKey, words_to: Path | None, *, ask: bool) -> bool:
    """Give the words to the user. Return whether three of them were proven."""
    with open_destination(session, words_to) as write:
        if write is not None:
            write(" ".join(new.words()))
    shown = words_to is not None
    while word_screen.has_terminal(session.output):
        if not shown:
            word_screen.show_key_words(session.output, new.words(), new.key_id)
        if not ask:
            return False
        if word_screen.ask_three_words(session.output, new.words()):
            return True
        shown = False
    return False


@contextmanager
def _void_unless_in_force(session: CommandSession, new: UserKey) -> Iterator[None]:
    """If the command is interrupted, say whether the words, which may be on paper, open anything."""
    try:
        yield
    except (LifeboatError, click.Abort, KeyboardInterrupt) as error:
        end_question_line(error)
        session.output.warn(_what_the_words_are(session, new))
        raise


def _what_the_words_are(session: CommandSession, new: UserKey) -> str:
    try:
        is_in_force = session.context.keys().public == new.public
    except KeysError:  # The keys are written as far as the disk allowed.
        return (
            f"keep the recovery words of both keys. To see whether {new.key_id} is your key now: lifeboat keys status"
        )
    if is_in_force:
        return f"your key was replaced, so use the recovery words of key {new.key_id} from now on"
    return f"your key was not replaced, so the recovery words of key {new.key_id} are useless"


def _say(session: CommandSession, report: RotationReport) -> None:
    output = session.output
    output.line(f"Your key is now {report.key_id}. It replaced {report.former}.", style="bold")
    output.line("New archives contain the old key, encrypted for the new key.")
    if report.compromised:
        signed = sum(one["countersigned"] for one in report.settled.vaults)
        if signed:
            output.line(f"{count_text(signed, 'sequence')} of the history signed again with the new key.")
        output.line("Other data with a signature of the old key, or of an earlier one, is refused from now on.")
    if report.revoked is not None:
        output.line(f"Data from the machine {report.revoked.name} ({report.revoked.id}) is refused from now on.")
        for remote in report.remotes:
            output.line(f"The token of the machine {report.revoked.name} for the remote {remote['name']} was revoked.")
        if not report.remotes:
            output.line("No remote is configured, so there is no token to revoke.")
    if report.reissue:
        output.line(
            "Anyone who has the old key can decrypt these credentials in old copies. Ask the services to "
            "issue new credentials:"
        )
        columns = ("agent", "service", "type", "credential")
        fields = ("agent", "service", "credential_type", "label")
        output.table(columns, [[one[name] or "" for name in fields] for one in report.reissue])
    for one in report.settled.refused:
        output.warn(
            f"{one['agent']}, sequence {one['sequence']}: the signature is not valid, so the sequence was "
            "not signed again"
        )
    for text in report.settled.warnings:
        output.warn(text)
    for text in report.settled.unfinished:
        output.warn(f"a step is not finished, and the next command continues it: {text}")
    output.line("The recovery words and kits of the old key can only restore copies that were made before this change.")
    output.verbatim("To write a new recovery kit: lifeboat keys export-kit -o FILE")


@click.command(
    "rename-machine",
    short_help="Rename a machine.",
    epilog=format_examples("lifeboat keys rename-machine laptop old-laptop"),
)
@click.argument("machine")
@click.argument("name")
@session_command
def rename_machine(session: CommandSession, machine: str, name: str) -> None:
    """Rename a machine. To list the machines: `lifeboat keys status`."""
    machines = session.context.keys().machines
    found = device_registry.find_machine(machines.all(), machine)
    machines.rename(found, name)
    said = f"The machine {found.id} now has the name {quote_argument(name)}."
    session.output.document({"id": found.id, "name": name}, lambda: session.output.line(said))
