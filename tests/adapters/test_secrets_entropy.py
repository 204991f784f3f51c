"""Decide whether a value looks random."""

from __future__ import annotations

import string
from random import Random

import pytest

from lifeboat_adapters.secrets import entropy

_ALPHABETS = {
    "letters and digits": string.ascii_letters + string.digits,
    "hexadecimal": "0123456789abcdef",
    "with signs": string.ascii_letters + string.digits + "+/-_",
}


@pytest.mark.parametrize("alphabet", _ALPHABETS.values(), ids=_ALPHABETS)
def test_nearly_every_key_of_32_characters_looks_random(alphabet: str) -> None:
    random = Random(5)
    keys = ["".join(random.choices(alphabet, k=32)) for _ in range(500)]
    assert sum(map(entropy.is_random, keys)) >= 490


@pytest.mark.parametrize(
    "value",
    [
        "",
        "hunter2",
        "correct-horse-battery-2024",
        "123e4567-e89b-12d3-a456-426614174000",
        "2026-11-20T22:00:00Z",
        "claude-opus-4-5",
        "en_US.UTF-8",
        "v1.2.3-rc.1",
        "00000000000000000000a",
        "12345678901234567890",
        "X25519PublicKey",
        "memory/2026-02-10-harbour.md",
    ],
)
def test_what_a_person_writes_does_not(value: str) -> None:
    assert not entropy.is_random(value)


@pytest.mark.parametrize(("value", "is_random"), [("x7Q2k9Z", False), ("x7Q2k9Z4", True), ("x7Q2-harbour-k9Z4", True)])
def test_eight_characters_without_words_are_enough_to_tell(value: str, is_random: bool) -> None:
    assert entropy.is_random(value) is is_random


def test_bits_are_those_of_shannon() -> None:
    assert entropy.entropy_bits("") == 0
    assert entropy.entropy_bits("aaaa") == 0
    assert entropy.entropy_bits("abab") == 1
    assert entropy.entropy_bits("abcd") == 2


@pytest.mark.parametrize(
    "value",
    ["", "492817", "hunter2hunter2!", "0" * 40, "abababababababababab", "correct horse battery", "4111111111111111"],
)
def test_what_can_be_guessed(value: str) -> None:
    assert entropy.is_guessable(value)


@pytest.mark.parametrize(
    "value",
    [
        "9f8e7d6c5b4a39281706f5e4d3c2b1a0",
        "ghp_0aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dE3fG",
        "sk-ant-oat01-Zx81kdPq7",
        "acorn birch cedar delta ember flint grove hazel",
    ],
)
def test_what_cannot_be_guessed(value: str) -> None:
    assert not entropy.is_guessable(value)


@pytest.mark.parametrize("length", [8, 12, 16, 20])
def test_hardly_any_row_of_letters_drawn_at_random_is_a_plain_word(length: int) -> None:
    random = Random(5)
    drawn = ("".join(random.choices(string.ascii_lowercase, k=length)) for _ in range(2000))
    assert sum(map(entropy.is_plain_word, drawn)) <= 40


@pytest.mark.parametrize("word", ["responsibilities", "Misunderstanding", "PHOTOSYNTHESIS", "knowledgeable", "window"])
def test_a_written_word_is_plain(word: str) -> None:
    assert entropy.is_plain_word(word)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "key",
        "two words",
        "well-known",
        "responsibilitieS",
        "Übermut",
        "abc123",
        "a" * 21,
        "correcthorsebatterystaple",
    ],
)
def test_what_is_not_one_word_is_not_plain(value: str) -> None:
    assert not entropy.is_plain_word(value)
