"""Show and ask for a key's words on a separate screen of the terminal, which is cleared when it is left.

Everything goes to standard error, which is the terminal, so redirected output never contains a word.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_keys.errors import BadWords
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.recovery import bip39_words, word_challenge

TRIES = 3
_WIDTH, _HEIGHT = 72, 14
"""The screen size that shows all words at once. On a smaller one they would scroll into the history."""


def has_terminal(output: CommandOutput) -> bool:
    """Return whether a user at a terminal can read words and answer."""
    return not output.as_json and all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def show_key_words(output: CommandOutput, key_words: Sequence[str], key_id: str) -> None:
    """Show all words until they are written down."""
    with _private_screen(output):
        output.note(f"These 24 recovery words contain your key {key_id}. Write the words on paper, with their numbers.")
        output.note(
            "Anyone who has these words has your key. If you lose both the words and this machine, the key is lost."
        )
        _lines(output, "", *_sheet(output, key_words), "")
        _pause("Press Enter when you have written down the words")


def ask_three_words(output: CommandOutput, key_words: Sequence[str]) -> bool:
    """Ask for three words and return whether all were right. Each can be answered three times."""
    with _private_screen(output):
        output.note("Now type three of the words from the paper.")
        return all(_answered(output, key_words, place) for place in word_challenge.choose_places())


def type_words(output: CommandOutput) -> UserKey:
    """Return the key of typed words, one or several per line. Only Ctrl-C ends it without a key."""
    with _private_screen(output):
        output.note("Type the 24 words in order, one word or several words at a time. Press Ctrl-C to stop.")
        found = _typed(output)
        while True:
            try:
                return UserKey.from_words(found)
            except BadWords as error:
                output.warn(f"{error.message}.")
                _lines(output, *_sheet(output, found))
                found = _corrected(output, found)


def _answered(output: CommandOutput, key_words: Sequence[str], place: int) -> bool:
    for left in reversed(range(TRIES)):
        if word_challenge.is_right(key_words, place, _ask(f"Word {place}")):
            return True
        output.warn(f"this is not word {place}." + (" Try again." if left else ""))
    return False


def _typed(output: CommandOutput) -> list[str]:
    found: list[str] = []
    while len(found) < bip39_words.WORDS:
        for word in bip39_words.split_words(_ask(f"Word {len(found) + 1}"))[: bip39_words.WORDS - len(found)]:
            if not bip39_words.is_known(word):
                output.warn(_unknown(len(found) + 1, word))
                break
            found.append(word)
    return found


def _corrected(output: CommandOutput, found: list[str]) -> list[str]:
    """Return the words with one of them replaced."""
    number, _, word = _ask("Which word is wrong? Type its number and the right word, for example 7 abandon").partition(
        " "
    )
    place, right = number.strip(".):"), bip39_words.split_words(word)
    if not (place.isdigit() and 1 <= int(place) <= len(found) and len(right) == 1):
        return found
    if not bip39_words.is_known(right[0]):
        output.warn(_unknown(int(place), right[0]))
        return found
    return [right[0] if at == int(place) else old for at, old in enumerate(found, 1)]


def _unknown(place: int, word: str) -> str:
    near = bip39_words.nearest_words(word)
    offered = f" Did you mean {', '.join(near)}?" if near else ""
    return f"word {place} is not in the list of recovery words.{offered}"


def _ask(question: str) -> str:
    return str(click.prompt(question, err=True))


def _pause(question: str) -> None:
    click.prompt(question, default="", show_default=False, err=True)


def _sheet(output: CommandOutput, key_words: Sequence[str]) -> list[str]:
    """Format the words so that a word and its number are never on different lines."""
    return bip39_words.format_word_sheet(key_words, columns=max(1, min(4, output.notes.width // bip39_words.CELL)))


def _lines(output: CommandOutput, *lines: str) -> None:
    for line in lines:
        output.notes.print(line)


@contextmanager
def _private_screen(output: CommandOutput) -> Iterator[None]:
    """Use the terminal's alternate screen, which keeps no history. Say so if the terminal has none or is too small."""
    console = output.notes
    fits = console.width >= _WIDTH and console.height >= _HEIGHT
    switched = fits and not console.is_dumb_terminal and console.set_alt_screen(True)
    try:
        if switched:
            console.clear()
        else:
            output.warn("this terminal cannot hide the recovery words again: clear the screen yourself")
        yield
    finally:
        if switched:
            console.set_alt_screen(False)
