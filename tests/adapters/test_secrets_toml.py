"""TOML with positions: the same values as the standard parser gives, and spans that are exactly the literals."""

from __future__ import annotations

import datetime
import random
import tomllib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.secrets import toml_leaves
from lifeboat_adapters.secrets.parsed_leaves import Path
from lifeboat_adapters.secrets.secret_cutting import CutSpan, cut_spans, fill_placeholders

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_NAMES = st.one_of(st.from_regex(r"[A-Za-z0-9_-]{1,8}", fullmatch=True), _TEXT)
_SCALARS = st.one_of(
    _TEXT, st.integers(-(1 << 63), (1 << 63) - 1), st.floats(allow_nan=False), st.booleans(), st.dates(), st.times()
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_NAMES, inner, max_size=3)),
    max_leaves=10,
)
_DOCUMENTS = st.dictionaries(_NAMES, _VALUES, max_size=5)
_EVERYTHING = rb"""
# every kind of value
title = "\u0061 \U0001F600 \"x\"" # x
'q k' . "a.b" .c = 'lit\n'
when = 1979-05-27 07:32:00.5Z
at = 07:32:00
x = [1, 2_000, 0xdead_beef, 0o17, 0b1_0, [ "a", { b = 1, c.d = '''x
it's''' } ], # c
 ]
f = [1e3, -0.5, +inf, -inf, 6.26e-23, +7, -0]
none = []
nothing = {}
[a . b]
k = ''''''
m = @@@"quoted""@@@
n = '''
''it's'''
o = '''''two'''''
p = @@@one \

   two\t@@@
[[p]]
x = true
[p.sub]
y = false
[[p]]
x = 3
[[p.q]]
z = 1
[[p.q]]
z = 2
""".replace(b"@@@", b'"""')


class _Speller:
    """Writes a document as TOML in one of many valid ways."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def document(self, value: dict[str, Any]) -> str:
        plain: dict[str, Any] = {}
        tables: dict[str, dict[str, Any]] = {}
        for key, item in value.items():
            chosen = tables if isinstance(item, dict) and self.random.random() < 0.7 else plain
            chosen[key] = item
        lines = [
            self.line(f"{self.key(key)}{self.gap()}={self.gap()}{self.value(item)}") for key, item in plain.items()
        ]
        for key, item in tables.items():
            lines.append(self.line(f"[{self.gap()}{self.key(key)}{self.gap()}]"))
            lines += [self.line(f"{self.key(name)}{self.gap()}={self.value(each)}") for name, each in item.items()]
        return "".join(lines)

    def line(self, text: str) -> str:
        return self.gap() + text + self.gap() + self.random.choice(["\n", "\r\n", "# it's \"\n", "\n\n"])

    def gap(self) -> str:
        return self.random.choice(["", " ", "\t "])

    def wide_gap(self) -> str:
        return self.random.choice(["", " ", "\n", "# ]\n", "\r\n\t"])

    def key(self, key: str) -> str:
        is_bare = key != "" and key.isascii() and key.replace("-", "").replace("_", "").isalnum()
        return key if is_bare and self.random.random() < 0.7 else self.basic(key)

    def value(self, value: Any) -> str:
        if isinstance(value, dict):
            items = [f"{self.key(key)}{self.gap()}={self.gap()}{self.value(item)}" for key, item in value.items()]
            return "{" + self.gap() + f"{self.gap()},{self.gap()}".join(items) + self.gap() + "}"
        if isinstance(value, list):
            comma = f"{self.wide_gap()},{self.wide_gap()}"
            last = comma if value and self.random.random() < 0.5 else ""
            return "[" + self.wide_gap() + comma.join(self.value(item) for item in value) + last + self.wide_gap() + "]"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            return self.string(value)
        return value.isoformat() if isinstance(value, datetime.date | datetime.time) else repr(value)

    def string(self, text: str) -> str:
        is_literal = all(char == "\t" or char.isprintable() for char in text) and "'" not in text
        if is_literal and self.random.random() < 0.4:
            return f"'''{text}'''" if self.random.random() < 0.5 else f"'{text}'"
        if self.random.random() < 0.3:
            return '"""' + self.random.choice(["", "\n", "\\\n  "]) + self.basic(text)[1:-1] + '"""'
        return self.basic(text)

    def basic(self, text: str) -> str:
        return '"' + "".join(map(self.char, text)) + '"'

    def char(self, char: str) -> str:
        short = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
        if char in short:
            return short[char]
        if char < " " or char == "\x7f" or self.random.random() < 0.2:
            return f"\\U{ord(char):08x}" if ord(char) > 0xFFFF or self.random.random() < 0.5 else f"\\u{ord(char):04X}"
        return char


def _flat(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in _flat(item, (*path, key))]
    if isinstance(value, list):
        return [leaf for index, item in enumerate(value) for leaf in _flat(item, (*path, index))]
    return [(path, value)]


def _comparable(pairs: list[tuple[Path, Any]]) -> list[tuple[str, str]]:
    """Sort values, because tables may stand in any order. Dates and times are compared elsewhere."""
    moments = (datetime.date, datetime.time)
    return sorted((repr(path), "a moment" if isinstance(value, moments) else repr(value)) for path, value in pairs)


def _pairs(data: bytes) -> list[tuple[Path, Any]]:
    """Return the values as the standard parser gives them: bare dates and times as such."""
    found = []
    for leaf in toml_leaves.scan_toml(data):
        is_moment = isinstance(leaf.value, str) and data[leaf.start : leaf.start + 1].isdigit()
        found.append((leaf.path, datetime.time() if is_moment else leaf.value))
    return found


def test_every_kind_of_value_reads_as_the_standard_reader_reads_it() -> None:
    assert _comparable(_pairs(_EVERYTHING)) == _comparable(_flat(tomllib.loads(_EVERYTHING.decode())))


@given(_DOCUMENTS, st.integers(0, 1 << 32), st.booleans())
def test_any_spelling_reads_as_the_standard_reader_reads_it(value: dict[str, Any], seed: int, bom: bool) -> None:
    text = _Speller(seed).document(value)
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    assert _comparable(_pairs(data)) == _comparable(_flat(tomllib.loads(text)))


@given(_DOCUMENTS, st.integers(0, 1 << 32))
def test_every_span_is_the_whole_literal_and_nothing_else(value: dict[str, Any], seed: int) -> None:
    data = _Speller(seed).document(value).encode()
    end = 0
    for leaf in toml_leaves.scan_toml(data):
        assert end <= leaf.start < leaf.end
        end = leaf.end
        (again,) = toml_leaves.scan_toml(b"x = " + data[leaf.start : leaf.end])
        assert (again.value, again.start, again.end) == (leaf.value, 4, 4 + leaf.end - leaf.start)


@given(_DOCUMENTS, st.integers(0, 1 << 32))
def test_cut_and_filled_it_is_byte_for_byte_what_it_was(value: dict[str, Any], seed: int) -> None:
    data = _Speller(seed).document(value).encode()
    parts = cut_spans(data, [CutSpan(leaf.start, leaf.end, "x", b'"') for leaf in toml_leaves.scan_toml(data)])
    assert fill_placeholders(parts.data, parts.cuts, lambda _, nth: parts.literals[nth]) == data
    assert {value for _, value in _pairs(parts.data)} <= {"{{lifeboat:credential:x}}"}


@given(
    st.one_of(
        st.binary(max_size=200), st.text(alphabet="[]{}=.,\"'\\\n\r#uU01ae-+_: \ufeff", max_size=60).map(str.encode)
    )
)
@example(b"a=" + b"[" * 100_000)
@example(b"a=" + b"{a=" * 100_000)
@example(b"a" + b".a" * 100_000)
@example(b'a="' + b"\\" * 100_001)
@example(b'a="""' + b'"' * 100_000)
@example(b"a=" + b"1" * 100_000)
@example(b"a=" + b"1_" * 100_000)
@example(b"a=0x" + b"f" * 100_000)
@example(b"#" * 100_000)
@example(b"[[a]]\n" * 5_000)
def test_any_bytes_end_in_leaves_or_in_a_typed_error(data: bytes) -> None:
    try:
        leaves = toml_leaves.scan_toml(data)
    except UnparsableSecrets as error:
        assert str(error).startswith("line ")
    else:
        assert all(0 <= leaf.start < leaf.end <= len(data) for leaf in leaves)


@given(st.text(alphabet="[]{}=.,\"'\\\n#u0aAe1-+_: T", max_size=40))
def test_whatever_the_standard_reader_takes_is_taken(text: str) -> None:
    try:
        expected = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError):
        return
    assert _comparable(_pairs(text.encode())) == _comparable(_flat(expected))


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"a = sk-hunter2", "line 1, column 5: a value"),
        (b"ok = 1\nhunter2 'x'", "line 2, column 9: = was expected"),
        (b"a = 'hunter2", "line 1, column 5: a closing quotation mark is missing"),
        (b"a = '''hunter2''", "line 1, column 5: a closing quotation mark is missing"),
        (b'a = "\\hunter2"', "line 1, column 5: a string contains an unknown escape"),
        (b'a = "\\ud800"', "line 1, column 5: a string contains an unknown escape"),
        (b'a = "\\uD83D\\uDE00"', "line 1, column 5: a string contains an unknown escape"),
        (b"a = 'x' hunter2", "line 1, column 8: unexpected text after"),
        (b"a = [1 2]", "line 1, column 8: a comma or ]"),
        (b"[a\nb = 1", "line 1, column 3: a closing bracket after the name of a table"),
        (b"[[a]\n", "line 1, column 4: a closing bracket after the name of a table"),
        (b"a = 012", "line 1, column 5: a value"),
        (b"a = \nb = 1", "line 1, column 5: a value"),
        (b"a = 'b\xff'", "line 1, column 7: not UTF-8"),
        (b"a = 1\rb = 2", "line 1, column 6: unexpected text after"),
    ],
)
def test_what_does_not_parse_is_named_with_its_place_and_without_its_content(data: bytes, place: str) -> None:
    with pytest.raises(UnparsableSecrets) as raised:
        toml_leaves.scan_toml(data)
    assert str(raised.value).startswith(place)
    assert "hunter2" not in str(raised.value)
