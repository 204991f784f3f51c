"""Refuse recovery words everywhere except in the fields that are made for them.

A command line is in the history of the shell, and most fields are shown again or kept in plain text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lifeboat_core.errors import WordsError

_PREFIX, _PASSPHRASE = "LIFEBOAT_", "LIFEBOAT_PASSPHRASE"


def holds_recovery_words(text: str) -> bool:
    """Return whether a text holds the words of a key, in any spelling."""
    from lifeboat_keys import words_in_texts  # the daemon imports no package of the keys before it has a text

    return words_in_texts.holds_recovery_words(text)


def refuse_in_arguments(arguments: Sequence[str]) -> None:
    """Raise WordsError.WORDS_MISPLACED for a command line with the words of a key, also as arguments of one word
    each."""
    if holds_recovery_words(" ".join(arguments)):
        raise WordsError.WORDS_MISPLACED(
            (
                "the command line contains recovery words. Lifeboat stored nothing, but the "
                "history of your shell may contain the words: delete that line"
            ),
            fix="lifeboat purge AGENT --text-stdin" if "purge" in arguments else None,
        )


def refuse_in_environment(environment: Mapping[str, str]) -> None:
    """Raise WordsError.WORDS_MISPLACED for a variable of Lifeboat with the words of a key.

    Only the passphrase may be made of them: an earlier release wrapped keys with such ones, and this one opens them.
    """
    for name, value in environment.items():
        if name.startswith(_PREFIX) and name != _PASSPHRASE and holds_recovery_words(value):
            raise WordsError.WORDS_MISPLACED(
                (
                    f"the variable {name} contains recovery words. Lifeboat stored nothing, but "
                    "all your programs can read the variable: remove it from the file that sets "
                    "it"
                ),
                fix=f"unset {name}",
            )


def refuse_in_field(field: str, text: str) -> str:
    """Return the text of a field. Raises WordsError.WORDS_MISPLACED where it holds the words of a key."""
    if holds_recovery_words(text):
        raise WordsError.WORDS_MISPLACED(f"{field} contains recovery words; Lifeboat stored nothing")
    return text
