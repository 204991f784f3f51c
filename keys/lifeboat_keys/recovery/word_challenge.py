"""Whether somebody has a key's 24 words: some of them, at places that nobody can foresee, are asked for."""

from __future__ import annotations

import random
from collections.abc import Sequence

from lifeboat_keys.recovery import bip39_words

ASKED = 3
_RANDOM = random.SystemRandom()


def choose_places(count: int = ASKED, chance: random.Random = _RANDOM) -> list[int]:
    """Numbers of words to ask for, from 1, all different, in order."""
    return sorted(chance.sample(range(1, bip39_words.WORDS + 1), count))


def is_right(key_words: Sequence[str], place: int, typed: str) -> bool:
    """Whether what was typed is the word at a place: in any case, with its number before it or without."""
    return bip39_words.split_words(typed) == [key_words[place - 1]]
