"""JSON5 with positions: the same values as another parser gives, and spans that are exactly the literals."""

from __future__ import annotations

import math
import random
from typing import Any

import pyjson5
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.secrets import json5_leaves
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf, Path

_PLAIN_NAMES = st.from_regex(r"[A-Za-z_$][A-Za-z0-9_$]{0,8}", fullmatch=True)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
_DOCUMENTS = st.recursive(
    st.one_of(_TEXT, _NUMBERS, st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(_PLAIN_NAMES, _TEXT), inner, max_size=4)
    ),
    max_leaves=12,
)
# Letters that mean something after a backslash. `\\U` means U in JSON5, but the other reader takes it for eight digits.
_NOT_PLAIN = "bfnrtvuxU"


class _Speller:
    """Writes a value as JSON5 in one of many valid ways."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def document(self, value: Any) -> str:
        return self.gap() + self.value(value) + self.gap()

    def gap(self) -> str:
        gaps = ["", " ", "\n", "\t", "\r\n", "/* ' \" { */", "// it's }\n", "\u00a0", "\u2028", "/***/", "\ufeff"]
        return "".join(self.random.choice(gaps) for _ in range(self.random.randrange(3)))

    def value(self, value: Any) -> str:
        if isinstance(value, dict):
            return self.container(
                "{}", [f"{self.key(key)}{self.gap()}:{self.gap()}{self.value(item)}" for key, item in value.items()]
            )
        if isinstance(value, list):
            return self.container("[]", [self.value(item) for item in value])
        if isinstance(value, str):
            return self.string(value)
        if value is None or isinstance(value, bool):
            return {None: "null", True: "true", False: "false"}[value]
        return self.number(value)

    def container(self, ends: str, items: list[str]) -> str:
        comma = f"{self.gap()},{self.gap()}"
        last = comma if items and self.random.random() < 0.5 else ""
        return ends[0] + self.gap() + comma.join(items) + last + self.gap() + ends[1]

    def key(self, key: str) -> str:
        plain = key.isascii() and key.isidentifier()
        return key if plain and self.random.random() < 0.7 else self.string(key)

    def string(self, text: str) -> str:
        quote = self.random.choice("\"'")
        continued = self.random.choice(["", "", "\\\n", "\\\r\n", "\\\u2029"])
        return quote + "".join(self.char(char, quote) for char in text) + continued + quote

    def char(self, char: str, quote: str) -> str:
        if ord(char) > 0xFFFF or (char not in "\\\n\r" and char != quote and self.random.random() < 0.8):
            return char
        if char in "\\'\"" or (
            char.isascii() and char.isalpha() and char not in _NOT_PLAIN and self.random.random() < 0.3
        ):
            return "\\" + char
        return f"\\x{ord(char):02x}" if ord(char) < 256 and self.random.random() < 0.5 else f"\\u{ord(char):04X}"

    def number(self, value: float) -> str:
        sign = "+" if value > 0 and self.random.random() < 0.2 else ""
        if isinstance(value, int) and self.random.random() < 0.3:
            return f"{'-' if value < 0 else sign}0x{abs(value):x}"
        text = repr(value)
        if text.endswith(".0") and self.random.random() < 0.5:
            return sign + text[:-1]
        return sign + (text[1:] if text.startswith("0.") else text)


def _flat(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in _flat(item, (*path, key))]
    if isinstance(value, list):
        return [leaf for index, item in enumerate(value) for leaf in _flat(item, (*path, index))]
    return [(path, value)]


def _pairs(leaves: list[ParsedLeaf]) -> list[tuple[Path, Any]]:
    return [(leaf.path, leaf.value) for leaf in leaves]


@given(_DOCUMENTS, st.integers(0, 1 << 32), st.booleans())
def test_any_spelling_reads_as_another_reader_reads_it(value: Any, seed: int, bom: bool) -> None:
    text = _Speller(seed).document(value)
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    assert _pairs(json5_leaves.scan_json5(data)) == _flat(pyjson5.decode(text)) == _flat(value)


@given(_DOCUMENTS, st.integers(0, 1 << 32))
def test_every_span_is_the_whole_literal_and_nothing_else(value: Any, seed: int) -> None:
    data = _Speller(seed).document(value).encode()
    end = 0
    for leaf in json5_leaves.scan_json5(data):
        assert end <= leaf.start < leaf.end
        end = leaf.end
        assert _pairs(json5_leaves.scan_json5(data[leaf.start : leaf.end])) == [((), leaf.value)]


@given(_DOCUMENTS, st.integers(0, 1 << 32))
def test_replacing_every_literal_leaves_a_document_of_the_same_shape(value: Any, seed: int) -> None:
    data = _Speller(seed).document(value).encode()
    pieces, at = [], 0
    for leaf in json5_leaves.scan_json5(data):
        pieces += [data[at : leaf.start], b'"cut"']
        at = leaf.end
    again = json5_leaves.scan_json5(b"".join([*pieces, data[at:]]))
    assert _pairs(again) == [(path, "cut") for path, _ in _flat(value)]


@given(
    st.one_of(
        st.binary(max_size=200), st.text(alphabet="{}[]:,\"'\\/*\nuxa01.-+eE \ufeff\u2028", max_size=60).map(str.encode)
    )
)
@example(b"[" * 100_000)
@example(b'{"a":' * 100_000)
@example(b"/*" * 50_000)
@example(b'"' + b"\\" * 100_001)
@example(b"1" * 100_000)
@example(b"-" * 100_000)
@example(b" " * 100_000)
@example(b"a\\u0061" * 20_000)
def test_any_bytes_end_in_leaves_or_in_a_typed_error(data: bytes) -> None:
    try:
        leaves = json5_leaves.scan_json5(data)
    except UnparsableSecrets as error:
        assert str(error).startswith("line ")
    else:
        assert all(0 <= leaf.start < leaf.end <= len(data) for leaf in leaves)


def test_of_duplicate_keys_both_are_found() -> None:
    leaves = json5_leaves.scan_json5(b'{"token": "one", token: "two"}')
    assert _pairs(leaves) == [(("token",), "one"), (("token",), "two")]


def test_positions_count_bytes_not_characters() -> None:
    data = '{"\U0001f600é": "ü", // é\n b: "x"}'.encode()
    assert [data[leaf.start : leaf.end] for leaf in json5_leaves.scan_json5(data)] == ['"ü"'.encode(), b'"x"']


def test_a_key_may_be_escaped_or_of_any_letters() -> None:
    leaves = json5_leaves.scan_json5('{t\\u006fken: 1, größe: 2, "a b": 3, null: 4}'.encode())
    assert [leaf.path for leaf in leaves] == [("token",), ("größe",), ("a b",), ("null",)]


def test_comments_hide_what_stands_in_them() -> None:
    leaves = json5_leaves.scan_json5(b'{/* token: "no" */ a: 1, // b: "no"\n c: "// yes", d: "/* yes */"}')
    assert _pairs(leaves) == [(("a",), 1), (("c",), "// yes"), (("d",), "/* yes */")]


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        ("0x1F", 31),
        ("-0x1f", -31),
        ("+1", 1),
        (".5", 0.5),
        ("5.", 5.0),
        ("5.e3", 5000.0),
        ("-Infinity", -math.inf),
        ("1e400", math.inf),
        ("99999999999999999999999", 99999999999999999999999),
        ("9" * 5000, math.inf),
    ],
)
def test_numbers_in_every_spelling(spelled: str, value: float) -> None:
    assert json5_leaves.scan_json5(spelled.encode())[0].value == value


def test_not_a_number_is_a_number() -> None:
    value = json5_leaves.scan_json5(b"+NaN")[0].value
    assert isinstance(value, float)
    assert math.isnan(value)


def test_a_backslash_before_a_letter_without_meaning_is_dropped() -> None:
    assert json5_leaves.scan_json5(rb'"\q\U\X"')[0].value == "qUX"


def test_half_a_surrogate_pair_is_carried_and_a_whole_one_is_a_character() -> None:
    assert json5_leaves.scan_json5(rb'"\ud800"')[0].value == "\ud800"
    assert json5_leaves.scan_json5(rb'"\ud83d\ude00"')[0].value == "\U0001f600"


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"", "line 1, column 1: the document is incomplete"),
        (b"{a: 1", "line 1, column 6: the document is incomplete"),
        (b'{\n  "token": "half', "line 2, column 12: the closing quotation mark of a string is missing"),
        (b"{a: 1 b: 2}", "line 1, column 7: a comma or }"),
        (b"[1,,2]", "line 1, column 4: a value"),
        (b"[,]", "line 1, column 2: a value"),
        (b"{1: 2}", "line 1, column 2: a key"),
        (b"{a 1}", "line 1, column 4: a colon"),
        (b"{a: b}", "line 1, column 5: a value"),
        (b"010", "line 1, column 1: a number"),
        (b"1a", "line 1, column 1: a number"),
        (b"1 2", "line 1, column 3: unexpected text after"),
        (b"/* open", "line 1, column 1: a value"),
        (rb'"\1"', "line 1, column 2: a string contains an unknown escape"),
        (rb'"\u12"', "line 1, column 2: a string contains an unknown escape"),
        (b'"a\nb"', "line 1, column 1: the closing quotation mark of a string is missing"),
        (b'{"a": "\xff"}', "line 1, column 8: not UTF-8"),
        (b"[" * 600, "nested deeper"),
        (b"]", "line 1, column 1: a value"),
    ],
)
def test_what_does_not_parse_is_named_with_its_place_and_without_its_content(data: bytes, where: str) -> None:
    with pytest.raises(UnparsableSecrets) as caught:
        json5_leaves.scan_json5(data)
    assert where in str(caught.value)
    assert "half" not in str(caught.value)
