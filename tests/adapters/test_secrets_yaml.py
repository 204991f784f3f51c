"""YAML with positions: what each spelling means, spans that are exactly the literals, and what is beyond."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.secrets import yaml_leaves
from lifeboat_adapters.secrets.parsed_leaves import Path
from lifeboat_adapters.secrets.secret_cutting import CutSpan, cut_spans, fill_placeholders

_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufeff"), max_size=12)
_LINES = st.lists(st.from_regex(r"[a-z][a-z #:']{0,8}[a-z]", fullmatch=True), min_size=1, max_size=4)
_NAMES = st.one_of(st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True), _TEXT)
_SCALARS = st.one_of(_TEXT, _LINES.map("\n".join), st.integers(), st.booleans(), st.none())
_DOCUMENTS = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4), st.dictionaries(_NAMES, inner, min_size=1, max_size=4)
    ),
    max_leaves=12,
)


class _Speller:
    """Writes a value as YAML in one of many valid ways."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def document(self, value: Any) -> str:
        head = self.random.choice(["", "---\n", "# it's: {\n", "--- # x\n", "\n\n"])
        if isinstance(value, dict | list):
            return head + (self.flow(value) + "\n" if self.random.random() < 0.2 else self.block(value, 0))
        return head + self.quoted(value) + self.end()

    def end(self) -> str:
        return self.random.choice(["\n", "\r\n", " # it's: [\n", "\n\n", "  \n"])

    def block(self, value: Any, depth: int) -> str:
        """Return the lines of a collection."""
        margin = " " * depth
        if isinstance(value, list):
            return "".join(f"{margin}-{self.member(item, depth, is_item=True)}" for item in value)
        return "".join(f"{margin}{self.key(key)}:{self.member(item, depth)}" for key, item in value.items())

    def member(self, value: Any, depth: int, *, is_item: bool = False) -> str:
        properties = self.random.choice(["", "", "", " &anchor", " !!tag"])
        if not isinstance(value, dict | list):
            return f"{properties} {self.scalar(value, depth)}"
        if self.random.random() < 0.3:
            return f"{properties} {self.flow(value)}{self.end()}"
        if is_item and self.random.random() < 0.4:
            return "   " + self.block(value, depth + 4).lstrip(" ")
        same = isinstance(value, list) and not is_item and self.random.random() < 0.5
        return properties + self.end() + self.block(value, depth if same else depth + self.random.randint(1, 3))

    def key(self, key: str) -> str:
        is_plain = key.isascii() and key.replace("_", "a").isalpha()
        return key if is_plain and self.random.random() < 0.8 else self.quoted(key)

    def scalar(self, value: Any, depth: int) -> str:
        is_lines = (
            isinstance(value, str) and value[:1].isalpha() and all(line[-1:].isalpha() for line in value.split("\n"))
        )
        if is_lines and value.isascii() and self.random.random() < 0.5:
            margin = " " * (depth + self.random.randint(1, 3))
            lines = value.split("\n")
            if self.random.random() < 0.5:
                return "|-\n" + "".join(f"{margin}{line}\n" for line in lines)
            return ">- # folded\n" + "\n".join(f"{margin}{line}\n" for line in lines)
        return self.quoted(value) + self.end()

    def quoted(self, value: Any) -> str:
        if not isinstance(value, str):
            return json.dumps(value)
        if value.isascii() and value.isalpha() and self.random.random() < 0.5 and value.lower() not in _WORDS:
            return value
        if "\n" not in value and self.random.random() < 0.5:
            return "'" + value.replace("'", "''") + "'"
        return json.dumps(value, ensure_ascii=self.random.random() < 0.5 and all(ord(char) < 0x10000 for char in value))

    def flow(self, value: Any) -> str:
        gap = self.random.choice(["", " ", "\n      "])
        if isinstance(value, list):
            return "[" + gap + f"{gap},{gap or ' '}".join(map(self.flow, value)) + gap + "]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.quoted(key)}: {gap}{self.flow(item)}" for key, item in value.items()) + "}"
        return self.quoted(value)


_WORDS = {"null", "true", "false", ""}


def _flat(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in _flat(item, (*path, key))]
    if isinstance(value, list):
        return [leaf for index, item in enumerate(value) for leaf in _flat(item, (*path, index))]
    return [(path, value)]


def _pairs(data: bytes) -> list[tuple[Path, Any]]:
    return [(leaf.path, leaf.value) for leaf in yaml_leaves.scan_yaml(data)]


@given(_DOCUMENTS, st.integers(0, 1 << 32), st.booleans())
def test_any_spelling_reads_as_what_was_spelled(value: Any, seed: int, bom: bool) -> None:
    data = (b"\xef\xbb\xbf" if bom else b"") + _Speller(seed).document(value).encode()
    assert _pairs(data) == _flat(value)


@given(_DOCUMENTS, st.integers(0, 1 << 32))
def test_every_span_is_the_whole_literal_and_nothing_else(value: Any, seed: int) -> None:
    data = _Speller(seed).document(value).encode()
    end = 0
    for leaf in yaml_leaves.scan_yaml(data):
        assert end <= leaf.start < leaf.end
        end = leaf.end
        assert [again.value for again in yaml_leaves.scan_yaml(data[leaf.start : leaf.end])] == [leaf.value]


@given(_DOCUMENTS, st.integers(0, 1 << 32))
def test_cut_and_filled_it_is_byte_for_byte_what_it_was(value: Any, seed: int) -> None:
    data = _Speller(seed).document(value).encode()
    parts = cut_spans(data, [CutSpan(leaf.start, leaf.end, "x", b"'") for leaf in yaml_leaves.scan_yaml(data)])
    assert fill_placeholders(parts.data, parts.cuts, lambda _, nth: parts.literals[nth]) == data
    assert [path for path, _ in _pairs(parts.data)] == [path for path, _ in _flat(value)]


@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(alphabet="-:?[]{},#&*!|>'\"%@` \n\r\tax01\\\ufeff", max_size=60).map(str.encode),
    )
)
@example(b"[" * 100_000)
@example(b"{a: " * 100_000)
@example(b"- " * 100_000)
@example(b"a: |\n" + b"\n" * 100_000)
@example(b"a: |\n \n" * 20_000)
@example(b"a\n" * 50_000)
@example(b'"' + b"\\" * 100_001)
@example(b"'" * 100_001)
@example(b"&a " * 50_000)
@example(b"a: b\r" * 20_000)
@example(b"- a\n" * 20_000)
@example(b"---\n" * 20_000)
@example(b"[a " + b" \n" * 50_000)
@example(b"1" * 100_000)
@example("é: [".encode() + "é, ".encode() * 20_000 + b"]")
def test_any_bytes_end_in_leaves_or_in_a_typed_error(data: bytes) -> None:
    try:
        leaves = yaml_leaves.scan_yaml(data)
    except UnparsableSecrets as error:
        assert str(error).startswith("line ")
    else:
        assert all(0 <= leaf.start < leaf.end <= len(data) for leaf in leaves)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: b", [(("a",), "b")]),
        ("a: b # c", [(("a",), "b")]),
        ("a: b#c", [(("a",), "b#c")]),
        ("a: 'it''s'", [(("a",), "it's")]),
        ("a: b:c", [(("a",), "b:c")]),
        ("a: -1", [(("a",), -1)]),
        ("a: http://example.com/x?y#z", [(("a",), "http://example.com/x?y#z")]),
        ("a:\n  b: c\nd: e", [(("a", "b"), "c"), (("d",), "e")]),
        ("a:\n- b\n- c\nd: e", [(("a", 0), "b"), (("a", 1), "c"), (("d",), "e")]),
        ("- a: b\n  c: d\n- e", [((0, "a"), "b"), ((0, "c"), "d"), ((1,), "e")]),
        ("- - a\n  - b\n-\n  - c", [((0, 0), "a"), ((0, 1), "b"), ((1, 0), "c")]),
        ("a:\nb: c", [(("b",), "c")]),
        ("a: one\n  two\n\n  three\nb: c", [(("a",), "one two\nthree"), (("b",), "c")]),
        ('a: "one\n  two\n\n  three \\\n  four"', [(("a",), "one two\nthree four")]),
        ("a: 'one\n  two'", [(("a",), "one two")]),
        ("a: |\n  one\n   two\n\n  three\n\nb: c", [(("a",), "one\n two\n\nthree\n"), (("b",), "c")]),
        ("a: |-\n  one\n", [(("a",), "one")]),
        ("a: |+\n  one\n\n", [(("a",), "one\n\n")]),
        ("a: |2\n   one\n", [(("a",), " one\n")]),
        ("a: >\n  one\n  two\n\n  three\n   four\n  five\n", [(("a",), "one two\nthree\n four\nfive\n")]),
        ("a: |\nb: c", [(("a",), ""), (("b",), "c")]),
        ("- |\n one\n- two", [((0,), "one\n"), ((1,), "two")]),
        ("--- |\n one\n", [((), "one\n")]),
        ("a: &x b\nc: *x\nd: !!str 1", [(("a",), "b"), (("d",), 1)]),
        ("a: &x\n  b: c\n", [(("a", "b"), "c")]),
        ("&x a: b\nc: d", [(("a",), "b"), (("c",), "d")]),
        ("<<: *base\na: b", [(("a",), "b")]),
        ("a: [b, 'c', {d: e, f}]", [(("a", 0), "b"), (("a", 1), "c"), (("a", 2, "d"), "e")]),
        ("[a: b, ]", [((0, "a"), "b")]),
        ('{"a":1, b: "c", d: , e: [x y, z]}', [(("a",), 1), (("b",), "c"), (("e", 0), "x y"), (("e", 1), "z")]),
        ("a: [b # c\n  , d]", [(("a", 0), "b"), (("a", 1), "d")]),
        ("a: b\n---\na: c\n...\n---\nd", [(("a",), "b"), (("a",), "c"), ((), "d")]),
        ("- ~\n- yes\n- True", [((0,), None), ((1,), "yes"), ((2,), True)]),
        ("- 0x1F\n- 1e3\n- .5", [((0,), 31), ((1,), 1000.0), ((2,), 0.5)]),
        ('a: "\\x41\\u00e9\\U0001F600\\n\\/\\_"', [(("a",), "Aé😀\n/\xa0")]),
        ("a key with words: b", [(("a key with words",), "b")]),
        ('"a": b\n\'c\' : d', [(("a",), "b"), (("c",), "d")]),
        ("a: b\r\nc: d\r\n", [(("a",), "b"), (("c",), "d")]),
        ("1: a\n0x1F: b\nNull: c", [(("1",), "a"), (("0x1F",), "b"), (("Null",), "c")]),
        ("{true: a, 1.0: b}", [(("true",), "a"), (("1.0",), "b")]),
        ("? a\n: b\n? c", [(("a",), "b")]),
        ("%YAML 1.2\n---\na: b", [(("a",), "b")]),
        ("a: b   ", [(("a",), "b")]),
        ("a: !<tag:example.com,2026:x> b", [(("a",), "b")]),
        ("", []),
        ("# only a comment", []),
    ],
)  # fmt: skip
def test_what_a_spelling_means(text: str, expected: list[tuple[Path, Any]]) -> None:
    assert _pairs(text.encode()) == expected


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"hunter2: a: b", "line 1, column 11: the file is not valid YAML"),
        (b"a: - hunter2", "line 1, column 4: the file is not valid YAML"),
        (b"a: b\n  hunter2: c", "line 2, column 10: the file is not valid YAML"),
        (b"a:\n  b: c\n hunter2: d", "line 3, column 2: the file is not valid YAML"),
        (b"a: 'hunter2", "line 1, column 12: the file is not valid YAML"),
        (b'a: "\\hunter2"', "line 1, column 5: the file is not valid YAML"),
        (b'a: "\\ud800"', "line 1, column 7: the file is not valid YAML"),
        (b"a: [hunter2", "line 1, column 12: the file is not valid YAML"),
        (b"a: [b c: d: e]", "line 1, column 11: the file is not valid YAML"),
        (b"a: {b}}", "line 1, column 7: the file is not valid YAML"),
        (b"? [hunter2]\n: b", "line 1, column 3: a YAML list or mapping as a key"),
        (b"[a, b]: c", "line 1, column 1: a YAML list or mapping as a key"),
        (b"*a : b", "line 1, column 1: a YAML alias as a key"),
        (b"%YAML 2.0\n---\nhunter2", "line 1, column 1: the file is not valid YAML"),
        (b"a: @hunter2", "line 1, column 4: the file is not valid YAML"),
        (b"a: |x\n hunter2", "line 1, column 5: the file is not valid YAML"),
        (b"a:\n\tb: hunter2", "line 2, column 1: the file is not valid YAML"),
        (b"a: b\nhunter2", "line 2, column 8: the file is not valid YAML"),
        (b"a: \x00", "line 1, column 4: a control character"),
        (b"a: \xff", "line 1, column 4: not UTF-8"),
        (b"--- a: b", "line 1, column 6: the file is not valid YAML"),
    ],
)
def test_what_does_not_parse_is_named_with_its_place_and_without_its_content(data: bytes, place: str) -> None:
    with pytest.raises(UnparsableSecrets) as raised:
        yaml_leaves.scan_yaml(data)
    assert str(raised.value).startswith(place)
    assert "hunter2" not in str(raised.value)
