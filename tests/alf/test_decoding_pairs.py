"""A secret that is encoded twice is found, except for the documented pairs of encodings."""

from __future__ import annotations

import pytest

from lifeboat_alf.purging.purge_terms import PurgeTerms
from support.nested_encodings import ENCODINGS, NOT_FOUND, SECRETS, is_lossless

_EXCEPTIONS = frozenset[tuple[str, str]]().union(*NOT_FOUND.values())


def _missed(inner: str, outer: str) -> list[str]:
    """Return the secrets that are not found in this pair."""
    encode = ENCODINGS[outer], ENCODINGS[inner]
    return [one for one in SECRETS if not PurgeTerms((one,)).spans("", encode[0](encode[1](one.encode())))]


@pytest.mark.parametrize("outer", ENCODINGS)
def test_every_encoding_within_this_one_is_undone(outer: str) -> None:
    pairs = [(inner, outer) for inner in ENCODINGS if is_lossless(inner, outer)]
    assert [pair for pair in pairs if pair not in _EXCEPTIONS and _missed(*pair)] == []


@pytest.mark.parametrize("words", NOT_FOUND)
def test_what_is_named_as_an_exception_is_one(words: str) -> None:
    assert any(_missed(*pair) for pair in NOT_FOUND[words])
