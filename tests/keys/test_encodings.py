"""Base64 with a single valid spelling."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_keys.pairs.strict_base64 import from_base64, to_base64


@given(st.binary(max_size=100))
def test_bytes_come_back(data: bytes) -> None:
    assert from_base64(to_base64(data), len(data)) == data


@given(st.binary(min_size=1, max_size=40), st.data())
def test_any_other_character_gives_other_bytes_or_is_refused(data: bytes, draw: st.DataObject) -> None:
    text = to_base64(data)
    place = draw.draw(st.integers(0, len(text) - 1))
    other = draw.draw(st.characters(max_codepoint=127).filter(lambda char: char != text[place]))
    with contextlib.suppress(ValueError):
        assert from_base64(text[:place] + other + text[place + 1 :]) != data


@pytest.mark.parametrize("text", ["AB==", "AA", "AA== ", "A A=", "_-==", None, 5, "\u00e9"])
def test_unusual_spellings_are_refused(text: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_base64(text)


def test_the_size_is_checked() -> None:
    with pytest.raises(ValueError, match="expected 32 bytes, found 1"):
        from_base64("AA==", 32)
