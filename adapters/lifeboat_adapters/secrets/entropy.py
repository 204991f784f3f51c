"""Whether a value looks drawn at random, as keys and good passwords are, and not written by a person.

Words, dates, versions and identifiers are written; what is left of a value without them has to be long and varied. A
UUID names things and is no secret by its look.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

LEAST = 8
"""Characters that are left without words. Fewer say nothing about chance."""
LEAST_BITS = 2.5
"""Bits a character of what is left: `00000000` has none, random letters and digits have more than three."""

LEAST_PRINTED = 16
"""Characters. Shorter values can be tried one by one."""
LEAST_GUESSES = 64
"""Bits: more guesses than anybody tries."""
BITS_OF_WORD, BITS_OF_LETTER, BITS_OF_REPEATED = 11, 2, 3
"""What a word adds to the guesses that a value takes, at least and for each of its letters, and what a character adds
that stands in the value already."""

SHORTEST_PLAIN, LONGEST_PLAIN = 4, 20
"""Letters. More are several words without a space, as in a passphrase."""
LEAST_USUAL = 0.9
"""The share of usual pairs of letters in a plain word. Of 16 letters drawn at random, 1 row in 1,000 has so many."""
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
"""By letter: those that often follow it in words."""

_WORD = re.compile(r"[A-Za-z]?(?=[a-z]*[aeiou])[a-z]{2,}|(?=[A-Z]*[AEIOU])[A-Z]{4,}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_OTHER = re.compile(r"[^A-Za-z0-9]+")


def entropy_bits(text: str) -> float:
    """Shannon's entropy in bits a character, 0 of nothing."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)


def is_guessable(value: str) -> bool:
    """Whether a program that tries values would find this one: a PIN, a short password, a few words, one letter many
    times. Such a value must not be kept as a print beside the key of the print."""
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
    """Return whether a value is one written word: letters of ASCII in the order of words, in small letters, in capitals
    or with the first one large."""
    is_one = value.isascii() and value.isalpha() and (value[1:].islower() or value.isupper())
    if not is_one or not SHORTEST_PLAIN <= len(value) <= LONGEST_PLAIN:
        return False
    usual = sum(after in _USUAL_AFTER[letter] for letter, after in pairwise(value.lower()))
    return usual >= LEAST_USUAL * (len(value) - 1)


def is_random(value: str) -> bool:
    """Letters and digits that no person would write in this order."""
    if _UUID.search(value) or not re.search("[0-9]", value) or not re.search("[A-Za-z]", value):
        return False
    rest = _OTHER.sub("", _WORD.sub("", value))
    return len(rest) >= LEAST and entropy_bits(rest) >= LEAST_BITS
