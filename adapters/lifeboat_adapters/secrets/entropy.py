"""Decide whether a value looks random, as keys and good passwords do, or written by a person.

Words, dates, versions and identifiers are written. The rest of a value without them has to be long and varied. A UUID
identifies things and does not count as a secret.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

LEAST = 8
"""Characters left after words are removed. Fewer do not allow a decision."""
LEAST_BITS = 2.5
"""Bits per remaining character: `00000000` has none, random letters and digits have more than three."""

LEAST_PRINTED = 16
"""Characters. Shorter values can be found by trying all of them."""
LEAST_GUESSES = 64
"""Bits: more guesses than an attacker can try."""
BITS_OF_WORD, BITS_OF_LETTER, BITS_OF_REPEATED = 11, 2, 3
"""Bits that a word adds to the guesses for a value: the minimum per word, and per letter; and bits per character that
occurred before."""

SHORTEST_PLAIN, LONGEST_PLAIN = 4, 20
"""Letters of one plain word. Longer values are several words without a space, as in a passphrase."""
LEAST_USUAL = 0.9
"""The share of usual pairs of letters in a plain word. Of 16 random letters, 1 row in 1,000 reaches it."""
# fmt: off
_USUAL_AFTER = {
    "a": "bcdgiklmnprstuvy", "b": "aeilorsuy", "c": "acehiklortuy", "d": "adegiorsuvy",
    "e": "abcdefgilmnoprstuvwxy", "f": "aefiltoru", "g": "aeghilnorsuy", "h": "aeiortuy",
    "i": "abcdefglmnoprstvz", "j": "aou", "k": "aeilnsy", "l": "adefiklostuvy", "m": "abeimnopsuy",
    "n": "acdefgiknostuvy", "o": "abcdefgiklmnoprstuvwy", "p": "aehilmoprstuy", "q": "u",
    "r": "acdegiklmnoprstuvy", "s": "acehiklmnopstuwy", "t": "acehilmorstuwy", "u": "abcdegilmnprst",
    "v": "aeio", "w": "aehilnors", "x": "aceipt", "y": "delmnopst", "z": "aeiz",
}
# fmt: on
"""For each letter, the letters that often follow it in words."""

_WORD = re.compile(r"[A-Za-z]?(?=[a-z]*[aeiou])[a-z]{2,}|(?=[A-Z]*[AEIOU])[A-Z]{4,}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_OTHER = re.compile(r"[^A-Za-z0-9]+")


def entropy_bits(text: str) -> float:
    """Return Shannon's entropy in bits per character, 0 for an empty text."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)


def is_guessable(value: str) -> bool:
    """Return whether a program could find the value by guessing: a PIN, a short password, a few words, one repeated
    letter. A digest of such a value must not be stored beside the key of the digest."""
    if len(value) < LEAST_PRINTED:
        return True
    rest = _WORD.sub("", value)
    found: float = sum(max(BITS_OF_WORD, BITS_OF_LETTER * len(word)) for word in _WORD.findall(value))
    found += sum(map(_bits_of, set(rest)))
    found += BITS_OF_REPEATED * (len(rest) - len(set(rest)))
    return min(found, entropy_bits(value) * len(value)) < LEAST_GUESSES


def _bits_of(character: str) -> float:
    return 3.3 if character.isdigit() else 5.2 if character.isalpha() else 1.0


def is_plain_word(value: str) -> bool:
    """Return whether a value is one written word: ASCII letters in the order of words, in lower case, in capitals or
    capitalised."""
    is_one = value.isascii() and value.isalpha() and (value[1:].islower() or value.isupper())
    if not is_one or not SHORTEST_PLAIN <= len(value) <= LONGEST_PLAIN:
        return False
    usual = sum(after in _USUAL_AFTER[letter] for letter, after in pairwise(value.lower()))
    return usual >= LEAST_USUAL * (len(value) - 1)


def is_random(value: str) -> bool:
    """Return whether letters and digits stand in an order that no person would write."""
    if _UUID.search(value) or not re.search("[0-9]", value) or not re.search("[A-Za-z]", value):
        return False
    rest = _OTHER.sub("", _WORD.sub("", value))
    return len(rest) >= LEAST and entropy_bits(rest) >= LEAST_BITS
