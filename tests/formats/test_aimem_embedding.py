"""Embeddings of an AIMEM bundle (section 2.7): base64 of little-endian float32, exactly."""

from __future__ import annotations

import base64
import math
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_formats.aimem.wire import bundle_reading, float_vectors
from lifeboat_formats.aimem.wire.bundle_model import LIMITS, BundleLimits, BundleRefused
from support.formats import aimem_bundles as made

GOLDEN = "AACAPwAAIMDNzMw9"


def single(value: float) -> float:
    """Return the nearest float32."""
    found: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return found


def with_embedding(text: object, dimensions: int = 3) -> dict[str, Any]:
    chunks = [made.chunk("c0"), made.chunk("c1", embedding=text)]
    return made.bundle(embedding_dim=dimensions, embedding_model=made.MODEL, chunks=chunks)


def refused(bundle: dict[str, Any], limits: BundleLimits = LIMITS) -> tuple[str, int]:
    with pytest.raises(BundleRefused) as caught:
        bundle_reading.parse_bundle(made.document(bundle), limits=limits)
    assert caught.value.where == "chunks[1].embedding"
    return caught.value.format_code, caught.value.status


def test_040_the_vector_that_others_encode_is_encoded_so() -> None:
    assert float_vectors.pack_vector([1.0, -2.5, 0.1]) == GOLDEN
    assert float_vectors.unpack_vector(GOLDEN, 3) == [1.0, -2.5, single(0.1)]
    assert float_vectors.shortest_floats(float_vectors.unpack_vector(GOLDEN, 3)) == [1.0, -2.5, 0.1]
    assert list(bundle_reading.parse_bundle(made.document(with_embedding(GOLDEN))).chunks)[1]["embedding"] == GOLDEN


@pytest.mark.parametrize(
    "text",
    [GOLDEN + "=", GOLDEN[:-1], GOLDEN + "\n", " " + GOLDEN, "AACA PwAAIMDNzMw9", GOLDEN.replace("w", "-"), "é" * 16,
     "AACAPwAAIMDNzMw_", "====", "AAA", "\x00" * 16],
)  # fmt: skip
def test_040_what_is_not_base64_is_refused(text: str) -> None:
    assert refused(with_embedding(text)) == ("invalid_embedding", 422)


def test_040_bits_behind_the_last_byte_are_refused() -> None:
    clean = made.packed(1.0)
    assert clean.endswith("==")
    spoilt = clean[:-3] + chr(ord(clean[-3]) + 1) + "=="
    assert base64.b64decode(spoilt) == base64.b64decode(clean)
    assert refused(with_embedding(spoilt, 1)) == ("invalid_embedding", 422)


@pytest.mark.parametrize("text", ["", made.packed(1.0), made.packed(1.0, 2.0), made.packed(*[1.0] * 4), "AAAA"])
def test_040_an_embedding_of_another_length_is_refused(text: str) -> None:
    assert refused(with_embedding(text)) == ("embedding_dim_mismatch", 422)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_040_an_embedding_holds_numbers(number: float) -> None:
    assert refused(with_embedding(made.packed(1.0, number, 0.0))) == ("invalid_embedding", 422)


@pytest.mark.parametrize("value", [[1.0, 2.0, 3.0], 1, True, {}])
def test_040_an_embedding_is_a_text(value: object) -> None:
    assert refused(with_embedding(value)) == ("invalid_type", 422)


def test_040_more_dimensions_than_a_reader_takes_are_too_many() -> None:
    assert refused(with_embedding(GOLDEN), BundleLimits(dimensions=2)) == ("too_many", 413)
    assert refused(with_embedding(GOLDEN, 2**53 - 1)) == ("too_many", 413)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_040_every_float32_comes_back_to_the_bit(numbers: list[float]) -> None:
    text = float_vectors.pack_vector(numbers)
    assert struct.pack(f"<{len(numbers)}f", *float_vectors.unpack_vector(text, len(numbers))) == base64.b64decode(text)
    assert float_vectors.pack_vector(float_vectors.shortest_floats(numbers)) == text
    assert float_vectors.is_exact_in_float32(float_vectors.shortest_floats(numbers))


@settings(max_examples=150, deadline=None)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_040_the_shortest_decimal_is_no_longer_than_nine_digits(number: float) -> None:
    (found,) = float_vectors.shortest_floats([number])
    digits = repr(found).split("e")[0].replace(".", "").lstrip("-0").rstrip("0")
    assert single(found) == number and len(digits) <= 9


def test_040_a_number_of_more_precision_is_known_not_to_survive() -> None:
    assert float_vectors.is_exact_in_float32([0.1, 0.25, -3.0])
    assert not float_vectors.is_exact_in_float32([0.1 + 0.2])
    assert not float_vectors.is_exact_in_float32([1e39]) and not float_vectors.is_exact_in_float32([math.nan])


@pytest.mark.parametrize("numbers", [[1e39], [-1e300], [math.nan], [math.inf], ["x"]])
def test_040_what_float32_cannot_hold_is_not_encoded(numbers: list[Any]) -> None:
    with pytest.raises(float_vectors.BadVector):
        float_vectors.pack_vector(numbers)


def test_045_all_embeddings_of_a_bundle_have_one_length() -> None:
    chunks = [made.chunk("c0", embedding=made.packed(1.0, 2.0)), made.chunk("c1", embedding=made.packed(1.0))]
    bundle = made.bundle(embedding_dim=2, embedding_model=made.MODEL, chunks=chunks)
    assert refused(bundle) == ("embedding_dim_mismatch", 422)
