"""Refuse recovery words everywhere but in the fields that are made for them.

A command line stands in the history of the shell, and most fields are shown again or kept in clear.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from urllib.parse import unquote

from lifeboat_daemon.errors import WordsMisplaced

MISPLACED = 12
"""So many words of the list in a row are no accident: half of a key, or the whole seed of a wallet."""
_LETTERS = re.compile(r"[^\W\d_]+")
_PREFIX, _PASSPHRASE = "LIFEBOAT_", "LIFEBOAT_PASSPHRASE"


def holds_recovery_words(text: str) -> bool:
    """Return whether a text holds 12 words of the list in a row, numbered, in a path or in an address as well."""
    pieces = _LETTERS.findall(unicodedata.normalize("NFKD", unquote(text)).lower())
    if not _has_row(pieces, _is_word_long):
        return False
    from lifeboat_keys.words import is_known  # what only reads settings loads no package of the keys

    return _has_row(pieces, is_known)


def _has_row(pieces: Iterable[str], fits: Callable[[str], bool]) -> bool:
    row = 0
    for piece in pieces:
        row = row + 1 if fits(piece) else 0
        if row == MISPLACED:
            return True
    return False


def _is_word_long(piece: str) -> bool:
    return 3 <= len(piece) <= 8


def refuse_in_arguments(arguments: Sequence[str]) -> None:
    """Raise WordsMisplaced for a command line with the words of a key, also as arguments of one word each."""
    if holds_recovery_words(" ".join(arguments)):
        raise WordsMisplaced(
            "the command line holds words of a recovery phrase; nothing was kept, but the history of your shell may "
            "have them: delete the line there",
            fix="lifeboat purge AGENT --text-stdin" if "purge" in arguments else None,
        )


def refuse_in_environment(environment: Mapping[str, str]) -> None:
    """Raise WordsMisplaced for a variable of Lifeboat with the words of a key. A passphrase may be made of them."""
    for name, value in environment.items():
        if name.startswith(_PREFIX) and name != _PASSPHRASE and holds_recovery_words(value):
            raise WordsMisplaced(
                f"the variable {name} holds words of a recovery phrase; nothing was kept, but every program of yours "
                "can read it: take it out of the file that sets it",
                fix=f"unset {name}",
            )


def refuse_in_field(field: str, text: str) -> str:
    """Return the text of a field. Raises WordsMisplaced where it holds the words of a key."""
    if holds_recovery_words(text):
        raise WordsMisplaced(f"{field} holds words of a recovery phrase; nothing was kept")
    return text
