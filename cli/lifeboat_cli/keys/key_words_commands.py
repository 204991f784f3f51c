"""`lifeboat keys prove` and `recover`: compare the words with the key, and recover the key from them."""

from __future__ import annotations

from pathlib import Path

import click

from lifeboat_cli.keys import key_status_text, kit_files, passphrase_input
from lifeboat_cli.terminal import word_screen
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.private_text_files import (
    DASH,
    IN_FILE,
    read_private_text,
)
from lifeboat_core.agents.agent import list_agents
from lifeboat_core.errors import WordsError
from lifeboat_core.home import home_key
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.recovery import bip39_words, recovery_kit, word_challenge
from lifeboat_keys.stores.store_kinds import StoreKind


@click.command(
    short_help="Check that you have the recovery words.",
    epilog=format_examples("lifeboat keys prove", "lifeboat keys prove --words-from words.txt"),
)
@click.option(
    "--words-from", type=IN_FILE, help="Compare the key with all 24 words in this file (- for standard input)."
)
@click.option(
    "--answers-stdin",
    is_flag=True,
    help="Read three or more numbered words, one per line, such as `7 abandon`, from standard input.",
)
@session_command
def prove(session: CommandSession, words_from: Path | None, answers_stdin: bool) -> None:
    """Check that you have the recovery words of your key.

    The command asks for three of the words, or compares all 24 words. If the key is not available on this machine,
    all 24 words are needed.
    """
    if words_from is not None and answers_stdin:
        raise click.UsageError("Give --words-from or --answers-stdin, not both.")
    key_id = session.context.keys().public.key_id
    if answers_stdin:
        _prove_by_answers(session)
    elif words_from is not None:
        home_key.prove_words(session.context, recovery_kit.key_in(kit_files.read_kit_file(session, words_from)))
    else:
        _prove_on_terminal(session)
    proven_at = session.context.keys().status().proven_at
    said = f"The words are correct: they belong to your key {key_id}."
    session.output.document({"key_id": key_id, "proven_at": proven_at}, lambda: session.output.line(said))


def _prove_on_terminal(session: CommandSession) -> None:
    if not word_screen.has_terminal(session.output):
        raise WordsError.NOBODY_TO_ASK(
            "the recovery words cannot be typed here, because there is no terminal",
            fix="lifeboat keys prove --words-from FILE",
        )
    key = home_key.find_user_key(passphrase_input.with_unlocked_key(session))
    if key is None:
        session.output.note("The key is not available on this machine, so type all 24 words.")
        home_key.prove_words(session.context, word_screen.type_words(session.output))
    elif word_screen.ask_three_words(session.output, key.words()):
        home_key.prove_words(session.context, key)
    else:
        raise WordsError.WORDS_NOT_PROVEN(
            "the answer for one of the words was wrong three times", fix=_after_failed_proof(session)
        )


def _prove_by_answers(session: CommandSession) -> None:
    """Ask for three words. A wrong answer is not pointed out, so that guessing word by word reveals nothing."""
    given = [_answer(line) for line in read_private_text(DASH).splitlines() if line.strip()]
    if len({place for place, _ in given}) < word_challenge.ASKED:
        raise WordsError.WORDS_NOT_PROVEN(
            f"expected {word_challenge.ASKED} different words, one per line with the number of the word, for "
            "example: 7 abandon",
            fix="lifeboat keys prove --help",
        )
    key = session.context.keys().user_key()
    if not all([word_challenge.is_right(key.words(), place, word) for place, word in given]):
        raise WordsError.WORDS_NOT_PROVEN("at least one of the words is wrong", fix=_after_failed_proof(session))
    home_key.prove_words(session.context, key)


def _answer(line: str) -> tuple[int, str]:
    """Parse a line as a number and a word. Raises WordsError.WORDS_NOT_PROVEN, which does not repeat them."""
    number, _, word = line.strip().partition(" ")
    place = number.rstrip(".):")
    if not (
        place.isascii() and place.isdigit() and len(place) < 3 and 1 <= int(place) <= bip39_words.WORDS and word.strip()
    ):
        raise WordsError.WORDS_NOT_PROVEN(
            f"each line must contain a number from 1 to {bip39_words.WORDS} and the word with this number, for "
            "example: 7 abandon",
            fix="lifeboat keys prove --help",
        )
    return int(place), word


def _after_failed_proof(session: CommandSession) -> str:
    proven_at = session.context.keys().status().proven_at
    return "lifeboat keys init" if proven_at is None else "lifeboat keys export-kit -o FILE"


@click.command(
    short_help="Recover your key from its recovery words.",
    epilog=format_examples(
        "lifeboat keys recover", "lifeboat keys recover --kit kit.txt", "lifeboat keys recover --words-from words.txt"
    ),
)
@click.option("--words-from", type=IN_FILE, help="Read the words from this file (- for standard input).")
@click.option("--kit", "page", type=IN_FILE, help="Read the words from this recovery kit (- for standard input).")
@key_status_text.STORE
@passphrase_input.STDIN
@session_command
def recover(
    session: CommandSession, words_from: Path | None, page: Path | None, store: str | None, passphrase_stdin: bool
) -> None:
    """Recover your key from its 24 recovery words, on a new machine or after the stored key was lost.

    If the home already has a different key, nothing is changed. With --passphrase-stdin, the words follow the first
    line of standard input.
    """
    session = passphrase_input.with_stdin_passphrase(session, passphrase_stdin)
    if words_from is not None and page is not None:
        raise click.UsageError("Give --words-from or --kit, not both.")
    key = _given_key(session, words_from, page)
    home_key.refuse_other_key(session.context, key)
    wanted = StoreKind(store) if store else None
    context = passphrase_input.with_new_passphrase(session, wanted or _store_in_use(session))
    was_here = home_key.recover_user_key(context, key, wanted)
    status = context.keys().status()
    document = {"key_id": key.key_id, "store": str(status.store), "was_here": was_here}

    def text() -> None:
        session.output.line(
            f"Your key {key.key_id} {'was on this machine already' if was_here else 'is recovered'}.", style="bold"
        )
        session.output.line(f"The key is stored in {key_status_text.PLACES[status.store]}.")
        session.output.line("To restore your agents from a remote:")
        session.output.verbatim("  lifeboat setup")
        session.output.line("To restore an agent from an archive:")
        session.output.verbatim("  lifeboat alf import FILE --to WORKSPACE --with-credentials")
        if list_agents(session.context):
            session.output.line("To restore an agent from the history on this machine:")
            session.output.verbatim("  lifeboat restore AGENT --with-credentials")

    session.output.document(document, text)


def _store_in_use(session: CommandSession) -> StoreKind | None:
    """Return the store of the home's key, or None. A forgotten passphrase is replaced there."""
    keys = session.context.keys()
    return None if keys.key_id is None else keys.store


def _given_key(session: CommandSession, words_from: Path | None, page: Path | None) -> UserKey:
    if words_from is not None:
        return recovery_kit.key_in(kit_files.read_kit_file(session, words_from))
    if page is not None:
        return recovery_kit.read_kit(kit_files.read_kit_file(session, page))
    if not word_screen.has_terminal(session.output):
        raise WordsError.NOBODY_TO_ASK(
            "the recovery words cannot be typed here, because there is no terminal; give a file that contains them",
            fix="lifeboat keys recover --words-from FILE",
        )
    return word_screen.type_words(session.output)
