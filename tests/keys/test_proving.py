"""Three words at unpredictable places, and suggestions for mistyped words."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from lifeboat_keys.recovery import bip39_words, word_challenge

WORDS = bip39_words.to_words(bytes(range(32)))


@given(st.integers())
def test_places_are_different_in_order_and_within_the_words(seed: int) -> None:
    found = word_challenge.choose_places(chance=random.Random(seed))
    assert len(found) == word_challenge.ASKED
    assert found == sorted(set(found)) and found[0] >= 1 and found[-1] <= bip39_words.WORDS


def test_every_place_is_asked_for_sooner_or_later() -> None:
    chance = random.Random(1)
    assert {place for _ in range(300) for place in word_challenge.choose_places(chance=chance)} == set(range(1, 25))


def test_a_word_is_right_in_any_case_and_with_its_number() -> None:
    for typed in (WORDS[4], f" {WORDS[4].upper()} ", f"5. {WORDS[4]}"):
        assert word_challenge.is_right(WORDS, 5, typed)
    for typed in ("", WORDS[5], f"{WORDS[4]} {WORDS[5]}", "5"):
        assert not word_challenge.is_right(WORDS, 5, typed)


def test_a_misspelt_word_brings_the_one_that_was_meant_first() -> None:
    for typed, meant in (("abandn", "abandon"), ("aband", "abandon"), ("recieve", "receive"), ("zooo", "zoo")):
        assert bip39_words.nearest_words(typed)[0] == meant
    assert bip39_words.nearest_words("xxxx") == []


@given(st.binary(min_size=32, max_size=32))
def test_a_sheet_is_read_back_in_order(secret: bytes) -> None:
    lines = bip39_words.format_word_sheet(bip39_words.to_words(secret))
    assert len(lines) == 6 and bip39_words.from_words("\n".join(lines)) == secret
