"""Texts for people that several parts share."""

import pytest

from lifeboat_core.texts.human_text import count_text


@pytest.mark.parametrize(
    ("count", "noun", "expected"),
    [
        (1, "memory", "1 memory"),
        (0, "memory", "0 memories"),
        (2, "identity", "2 identities"),
        (3, "key", "3 keys"),
        (2, "batch", "2 batches"),
        (1200, "file", "1,200 files"),
    ],
)
def test_a_count_has_the_plural_of_its_noun(count: int, noun: str, expected: str) -> None:
    assert count_text(count, noun) == expected


def test_a_plural_that_is_not_in_the_last_word_is_given() -> None:
    assert [count_text(count, "purge is", "purges are") for count in (1, 2)] == ["1 purge is", "2 purges are"]
