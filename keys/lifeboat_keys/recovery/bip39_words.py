"""Encode a key as 24 words (BIP-39, English). The words ARE the 32 bytes: without passphrase or stretching."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from lifeboat_keys.errors import BadWords

if TYPE_CHECKING:
    from mnemonic import Mnemonic

SECRET_BYTES = 32
WORDS = 24
CELL = 16
"""Characters of a numbered word in a sheet. The longest words have 8 letters."""


@cache
def _language() -> Mnemonic:
    # Load on first use: the daemon imports this package but never needs the words.
    from mnemonic import Mnemonic

    return Mnemonic("english")


def to_words(secret: bytes) -> list[str]:
    """Return the 24 words of 32 bytes."""
    if len(secret) != SECRET_BYTES:
        raise ValueError(f"a key must have {SECRET_BYTES} bytes")
    return str(_language().to_mnemonic(secret)).split()


def from_words(words: str | Iterable[str]) -> bytes:
    """Return the 32 bytes of 24 words, in any case, with any white space, also as a numbered list (`1. abandon`).

    Raises BadWords, which says where but never repeats a word: the input may be most of a key.
    """
    found = split_words(words)
    if len(found) != WORDS:
        raise BadWords(f"a key has {WORDS} words, but the number of words that were given is {len(found)}")
    unknown = [str(place) for place, word in enumerate(found, 1) if not is_known(word)]
    if unknown:
        raise BadWords(f"these words are not in the word list (positions): {', '.join(unknown)}")
    try:
        return bytes(_language().to_entropy(found))
    except ValueError:
        raise BadWords(
            "every word is in the word list, but the checksum does not match: a word is wrong, or two words are swapped"
        ) from None


def split_words(words: str | Iterable[str]) -> list[str]:
    """Return the typed words in lower case, without numbers and commas, whether they are known or not."""
    text = words if isinstance(words, str) else " ".join(words)
    pieces = unicodedata.normalize("NFKD", text).lower().replace(",", " ").split()
    return [piece for piece in pieces if not piece.rstrip(".):").isdigit()]


def is_known(word: str) -> bool:
    """Return whether a word, as `split_words` returns it, is one of the 2,048."""
    return word in _known()


def is_beginning(letters: str) -> bool:
    """Return whether letters are the first four of a word of the list, or all of a word with three."""
    return letters in _beginnings()


def is_phrase(text: str) -> bool:
    """Return whether words are a key or a wallet's seed: all in the list, with a valid checksum (BIP-39)."""
    found = text.split()
    return all(map(is_known, found)) and bool(_language().check(" ".join(found)))


def nearest_words(word: str, count: int = 3) -> list[str]:
    """Return the words of the list that the user may have meant, the nearest first. They are as secret as the input."""
    import difflib  # load here: only corrections need it, and every command loads this module

    return difflib.get_close_matches(word, _language().wordlist, n=count, cutoff=0.5)


def format_word_sheet(words: Sequence[str], columns: int = 4) -> list[str]:
    """Return lines of numbered words, to be read across in the order that `from_words` takes."""
    cells = [f"{place:>2}. {word}".ljust(CELL) for place, word in enumerate(words, 1)]
    return ["".join(cells[start : start + columns]).rstrip() for start in range(0, len(cells), columns)]


@cache
def _known() -> frozenset[str]:
    return frozenset(_language().wordlist)


@cache
def _beginnings() -> frozenset[str]:
    return frozenset(word[:4] for word in _known())
