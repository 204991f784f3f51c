"""The fast path gives the canonical form."""

from __future__ import annotations

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_alf.common import json_codec

numbers = st.integers(-(2**52), 2**52) | st.floats(allow_nan=False, allow_infinity=False, width=32)
values = st.recursive(
    st.none() | st.booleans() | st.text() | numbers,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(values)
def test_it_is_rfc_8785(value: object) -> None:
    assert json_codec.encode_canonical(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


def test_half_a_surrogate_pair_is_refused_as_ever() -> None:
    with pytest.raises(rfc8785.CanonicalizationError):
        json_codec.encode_canonical({"name": "\ud800"})


def test_integers_of_any_size_have_a_form() -> None:
    assert json_codec.encode_canonical({"n": 2**70}) == b'{"n":"integer:%d"}' % 2**70
