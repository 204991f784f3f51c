"""Detect recovery words in a text where they do not belong."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from urllib.parse import unquote

MISPLACED = 12
"""Consecutive words of the list that are no accident: half of a key, or the whole seed of a wallet."""
_LETTERS = re.compile(r"[^\W\d_]+")
_SHORTEST, _LONGEST = 3, 8
"""Shortest and longest word of the list, in letters."""


def holds_recovery_words(text: str) -> bool:
    """Return whether a text holds 12 words of the list in a row, also numbered, in a path or in an address.

    The first four letters identify a word of the list. Words are also found where all of them are joined
    (`abandonAbilityAble`). Partly joined ones are not searched for: `lifeboat` is made of two words.
    """
    pieces = _LETTERS.findall(unicodedata.normalize("NFKD", unquote(text)).lower())
    long = [piece for piece in pieces if len(piece) >= MISPLACED * _SHORTEST]
    if not long and not _has_row(pieces, lambda piece: _SHORTEST <= len(piece) <= _LONGEST):
        return False
    return _has_row(pieces, _stands_for_word) or any(map(_is_joined, long))


def _has_row(pieces: Iterable[str], fits: Callable[[str], bool]) -> bool:
    row = 0
    for piece in pieces:
        row = row + 1 if fits(piece) else 0
        if row == MISPLACED:
            return True
    return False


def _stands_for_word(letters: str) -> bool:
    from lifeboat_keys.recovery.bip39_words import (  # load here: reading settings must not load the list
        is_beginning,
        is_known,
    )

    return is_known(letters) or is_beginning(letters)


def _is_joined(letters: str) -> bool:
    rows = [0] * _SHORTEST  # longest run of words that ends at each letter
    for end in range(_SHORTEST, len(letters) + 1):
        parts = ((start, letters[start:end]) for start in range(max(0, end - _LONGEST), end - _SHORTEST + 1))
        rows.append(max((rows[start] + 1 for start, part in parts if _stands_for_word(part)), default=0))
        if rows[-1] == MISPLACED:
            return True
    return False
