"""Check that a user has the 24 words by asking for some of them at unpredictable places."""

from __future__ import annotations

import random
from collections.abc import Sequence

from lifeboat_keys.recovery import bip39_words

ASKED = 3
_RANDOM = random.SystemRandom()


def choose_places(count: int = ASKED, chance: random.Random = _RANDOM) -> list[int]:
    """Return the numbers (from 1) of the words to ask for, distinct and in order."""
    return sorted(chance.sample(range(1, bip39_words.WORDS + 1), count))


def is_right(key_words: Sequence[str], place: int, typed: str) -> bool:
    """Return whether the typed word is the one at a place, in any case, with or without its number."""
    return bip39_words.split_words(typed) == [key_words[place - 1]]
