"""Whether a value looks drawn at random, as keys and good passwords are, and not written by a person.

Words, dates, versions and identifiers are written; what is left of a value without them has to be long and varied. A
UUID names things and is no secret by its look.
"""

from __future__ import annotations

import math
import re
from collections import Counter

LEAST = 8
"""Characters that are left without words. Fewer say nothing about chance."""
LEAST_BITS = 2.5
"""Bits a character of what is left: `00000000` has none, random letters and digits have more than three."""

_WORD = re.compile(r"[A-Za-z]?(?=[a-z]*[aeiou])[a-z]{2,}|(?=[A-Z]*[AEIOU])[A-Z]{4,}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_OTHER = re.compile(r"[^A-Za-z0-9]+")


def bits(text: str) -> float:
    """Shannon's entropy in bits a character, 0 of nothing."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)


def is_random(value: str) -> bool:
    """Letters and digits that no person would write in this order."""
    if _UUID.search(value) or not re.search("[0-9]", value) or not re.search("[A-Za-z]", value):
        return False
    rest = _OTHER.sub("", _WORD.sub("", value))
    return len(rest) >= LEAST and bits(rest) >= LEAST_BITS
