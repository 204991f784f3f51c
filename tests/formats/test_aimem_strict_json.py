"""Strict JSON of AIMEM bundles: every implementation reads such a text alike."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_formats.aimem.wire import strict_json
from lifeboat_formats.aimem.wire.bundle_model import BundleRefused
from support.formats import aimem_bundles as made

MALFORMED = {
    "nothing": b"",
    "a NaN": b'{"a":NaN}',
    "an infinity": b'{"a":Infinity}',
    "a negative infinity": b'{"a":-Infinity}',
    "a name twice": b'{"a":1,"a":1}',
    "a name twice, once escaped": b'{"a":1,"\\u0061":2}',
    "a name twice deep inside": b'{"b":[{"a":1,"a":2}]}',
    "text behind the end": b"{}{}",
    "a comma too many": b"[1,]",
    "a comment": b"{} // done",
    "a control character in a string": b'"a\nb"',
    "a number with a leading zero": b"01",
    "a number in other digits": '{"a":٣}'.encode(),
    "a byte that is not UTF-8": b'"\xff"',
    "a surrogate in UTF-8": b'"\xed\xa0\x80"',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "two byte order marks": b"\xef\xbb\xbf\xef\xbb\xbf{}",
    "an end too early": b'{"a":',
    "an open string": b'{"a":"[[[',
    "single quotation marks": b"{'a':1}",
}


def refusal(data: bytes) -> BundleRefused:
    with pytest.raises(BundleRefused) as caught:
        strict_json.canonical_json(strict_json.parse_json(data))
    return caught.value


@pytest.mark.parametrize("what", MALFORMED)
def test_001_what_is_not_strict_json_is_malformed(what: str) -> None:
    problem = refusal(MALFORMED[what])
    assert (problem.format_code, problem.status) == ("malformed_json", 422)


def test_001_a_byte_order_mark_is_left_out() -> None:
    assert strict_json.parse_json(b'\xef\xbb\xbf{"a":1}') == {"a": 1}


@pytest.mark.parametrize("text", ["1e400", "-1e400", str(2**53), str(-(2**53)), "9" * 5000, "[1e999]"])
def test_017_a_number_that_nobody_writes_again_alike_is_told(text: str) -> None:
    assert refusal(f'{{"a":{text}}}'.encode()).format_code == "not_canonicalizable"


@pytest.mark.parametrize("text", [r'"\ud800"', r'"\udc00\ud800"', r'{"\ud83d":1}', r'["a\udfff"]'])
def test_017_half_a_character_is_told(text: str) -> None:
    assert refusal(text.encode()).format_code == "not_canonicalizable"


@pytest.mark.parametrize("number", [2**53 - 1, -(2**53) + 1, 0, 1.7976931348623157e308, 5e-324])
def test_017_numbers_up_to_the_edge_are_taken(number: float) -> None:
    assert strict_json.parse_json(json.dumps([number]).encode()) == [number]


@pytest.mark.parametrize("deep", [b"[" * 100 + b"]" * 100, b'{"a":' * 99 + b"[]" + b"}" * 99])
def test_a_hundred_levels_are_taken(deep: bytes) -> None:
    assert strict_json.canonical_json(strict_json.parse_json(deep)) == deep


@pytest.mark.parametrize(
    "deep",
    [
        b"[" * 101 + b"]" * 101,
        b"[" * 1_000_000,
        b'{"a":' * 1_000_000,
        b'{"a\\"[":' * 101 + b"1" + b"}" * 101,
        b'["\\\\",' * 101 + b"1" + b"]" * 101,
    ],
)
def test_deeper_nesting_is_refused_without_recursion(deep: bytes) -> None:
    assert refusal(deep).format_code == "nested_too_deep"


def test_brackets_in_strings_are_no_nesting() -> None:
    value = {"a": "[" * 500 + '"' + "{" * 500 + "\\", "b\\\\": ["\\\\[[", '\\"{{']}
    assert strict_json.parse_json(json.dumps(value).encode()) == value


def test_a_refusal_says_where_and_not_what() -> None:
    problem = refusal(b'{"content":\n "my secret" oops}')
    assert "line 2" in problem.message
    assert "secret" not in problem.message and "oops" not in problem.message


def test_a_large_text_without_sense_is_refused_soon() -> None:
    begun = time.process_time()
    for data in (b"[]" * 2_000_000, b'"' * 4_000_000, b"\\" * 4_000_000, b'{"":' * 1_000_000, b"9" * 4_000_000):
        refusal(data)
    assert time.process_time() - begun < 20


_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(_values, st.booleans())
def test_whatever_json_can_say_is_read_as_it_is(value: Any, is_ascii: bool) -> None:
    found = strict_json.parse_json(json.dumps(value, ensure_ascii=is_ascii).encode())
    assert found == value
    assert strict_json.canonical_json(found) == rfc8785.dumps(value)


@settings(max_examples=300, deadline=None)
@given(st.text('[]{}",:\\u0aé1-.eE \n'))
def test_what_is_taken_is_what_the_standard_library_takes(text: str) -> None:
    try:
        found = strict_json.parse_json(text.encode())
        strict_json.canonical_json(found)
    except BundleRefused:
        return
    assert found == json.loads(text)


def test_a_bundle_is_read_as_the_standard_library_reads_it() -> None:
    assert strict_json.parse_json(made.document(made.sample())) == made.sample()


def test_the_quick_way_to_the_canonical_form_writes_every_character_alike() -> None:
    everything = [chr(code) for code in range(0x3000)] + ["\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"]
    assert strict_json.canonical_json(everything) == rfc8785.dumps(everything)


@settings(max_examples=300, deadline=None)
@given(
    st.floats(allow_nan=False, allow_infinity=False) | st.floats(-2, 2) | st.floats(1e-7, 1e-3) | st.floats(1e14, 1e22)
)
def test_the_quick_way_to_the_canonical_form_writes_every_number_alike(number: float) -> None:
    assert strict_json.canonical_json({"weight": number}) == rfc8785.dumps({"weight": number})
