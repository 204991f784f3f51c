"""The 24 words encode the key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_keys.errors import BadWords
from lifeboat_keys.recovery import bip39_words

# Published vectors of BIP-39 for 256 bits of entropy.
VECTORS = {
    bytes(32): "abandon " * 23 + "art",
    b"\x7f" * 32: "legal winner thank year wave sausage worth useful " * 2
    + "legal winner thank year wave sausage worth title",
    b"\xff" * 32: "zoo " * 23 + "vote",
}


@pytest.mark.parametrize(("secret", "text"), VECTORS.items())
def test_the_words_are_those_that_every_other_program_writes(secret: bytes, text: str) -> None:
    assert bip39_words.to_words(secret) == text.split()
    assert bip39_words.from_words(text) == secret


@given(st.binary(min_size=32, max_size=32))
def test_every_key_comes_back_from_its_words(secret: bytes) -> None:
    assert bip39_words.from_words(bip39_words.to_words(secret)) == secret


def test_words_may_be_numbered_shouted_and_spread_over_lines() -> None:
    secret = bytes(range(32))
    found = bip39_words.to_words(secret)
    sheet = "\n".join(f"{place}. {word.upper()}  " for place, word in enumerate(found, 1))
    assert bip39_words.from_words(sheet) == secret
    assert bip39_words.from_words(", ".join(found)) == secret


def test_a_wrong_number_of_words_is_said() -> None:
    with pytest.raises(BadWords, match="a key has 24 words, but the number of words that were given is 23"):
        bip39_words.from_words(["abandon"] * 23)


def test_an_unknown_word_is_named_by_its_place_and_never_repeated() -> None:
    found = bip39_words.to_words(bytes(32))
    found[6] = "hunter2x"
    with pytest.raises(BadWords, match=r"\(positions\): 7") as caught:
        bip39_words.from_words(found)
    assert "hunter2x" not in str(caught.value)


def test_two_words_that_changed_places_are_noticed() -> None:
    found = bip39_words.to_words(bytes(range(32)))
    found[0], found[1] = found[1], found[0]
    with pytest.raises(BadWords, match="swapped"):
        bip39_words.from_words(found)


def test_only_32_bytes_have_words() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        bip39_words.to_words(bytes(16))
