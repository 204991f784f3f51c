"""dotenv files with positions."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.secrets import dotenv_leaves

_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True)
_WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=12)
_BARE = _WORDS.filter(lambda word: word[0] not in "\"'`#")
_QUOTABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\"'`\\"), max_size=20)
_GAPS = st.sampled_from(["", " ", "\t", "  "])
_ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", " # a 'comment' = \"it\"\n", "\n# KEY=no\n"])


@st.composite
def _files(draw: st.DrawFn) -> tuple[bytes, list[tuple[str, str, bytes]]]:
    """A file, with name, value and literal of each assignment."""
    pieces, expected = [draw(st.sampled_from(["", "\ufeff", "# head\n"]))], []
    for name in draw(st.lists(_NAMES, max_size=5)):
        quote = draw(st.sampled_from(["", '"', "'", "`"]))
        value = draw(_QUOTABLE if quote else st.one_of(st.just(""), _BARE))
        literal = quote + value + quote
        gap = draw(_GAPS) if literal else ""
        pieces.append(draw(_GAPS) + draw(st.sampled_from(["", "export "])) + name + draw(_GAPS) + "=" + gap + literal)
        pieces.append(draw(_ENDS))
        expected.append((name, value, literal.encode()))
    return "".join(pieces).encode(), expected


@given(_files())
def test_every_assignment_is_found_with_exactly_its_literal(case: tuple[bytes, list[tuple[str, str, bytes]]]) -> None:
    data, expected = case
    found = [(leaf.path[0], leaf.value, data[leaf.start : leaf.end]) for leaf in dotenv_leaves.scan_dotenv(data)]
    assert found == expected


@given(
    st.one_of(st.binary(max_size=200), st.text(alphabet="A=: \n\r\"'`\\#export.\ufeff", max_size=60).map(str.encode))
)
@example(b"A=" + b" " * 100_000 + b"x")
@example(b'A="' + b"\\" * 100_001)
@example(b"A='" * 30_000)
@example(b"A=" + b"a " * 50_000)
@example(b"export " * 20_000)
def test_any_bytes_end_in_leaves_or_in_a_typed_error(data: bytes) -> None:
    try:
        leaves = dotenv_leaves.scan_dotenv(data)
    except UnparsableSecrets as error:
        assert str(error).startswith("line ")
    else:
        ends = [0, *(leaf.end for leaf in leaves)]
        assert all(ends[n] <= leaf.start <= leaf.end <= len(data) for n, leaf in enumerate(leaves))


@pytest.mark.parametrize(
    ("line", "literal", "value"),
    [
        (b"A=b c # d", b"b c", "b c"),
        (b"A=b#c", b"b#c", "b#c"),
        (b"A=#c", b"#c", "#c"),
        (b"A= # c", b"", ""),
        (b"A=", b"", ""),
        (b'A=""', b'""', ""),
        (b"A: b", b"b", "b"),
        (b"export A=b", b"b", "b"),
        (b"A='b # c' # d", b"'b # c'", "b # c"),
        (b'A="b\\nc\\"d"', b'"b\\nc\\"d"', 'b\nc"d'),
        (b"A='b\\nc'", b"'b\\nc'", "b\\nc"),
        (b"A='C:\\dir\\'", b"'C:\\dir\\'", "C:\\dir\\"),
        (b'A="b"c d', b'"b"c d', '"b"c d'),
        (b"A=it's", b"it's", "it's"),
        (b"A=\xff\xfe", b"\xff\xfe", "\udcff\udcfe"),
        (b"A=postgres://u:p=1@h/d", b"postgres://u:p=1@h/d", "postgres://u:p=1@h/d"),
    ],
)
def test_one_line_in_its_many_spellings(line: bytes, literal: bytes, value: str) -> None:
    (leaf,) = dotenv_leaves.scan_dotenv(line + b"\nZ=1\n")[:-1]
    assert (line[leaf.start : leaf.end], leaf.value) == (literal, value)


def test_a_quoted_value_may_span_lines() -> None:
    data = b'KEY="-----BEGIN\r\nabc\r\n-----END"\r\nNEXT=1\r\n'
    key, following = dotenv_leaves.scan_dotenv(data)
    assert data[key.start : key.end] == b'"-----BEGIN\r\nabc\r\n-----END"'
    assert following.path == ("NEXT",)


def test_a_name_without_a_value_is_passed_over() -> None:
    assert [leaf.path for leaf in dotenv_leaves.scan_dotenv(b"export A\nB\n\nC=1")] == [("C",)]


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b'A=1\nB="half', "line 2, column 3: a closing quotation mark is missing"),
        (b"A='half\nB=1\n", "line 1, column 3: a closing quotation mark is missing"),
        (b'A="1\n2" 3\n', "line 1, column 3: a closing quotation mark is missing"),
        (b"A=1\nsource other half\n", "line 2, column 1: a line of the form NAME=value was expected"),
        (b"=half", "line 1, column 1: a line of the form NAME=value was expected"),
    ],
)
def test_what_is_not_understood_is_named_with_its_place_and_without_its_content(data: bytes, where: str) -> None:
    with pytest.raises(UnparsableSecrets) as caught:
        dotenv_leaves.scan_dotenv(data)
    assert where in str(caught.value)
    assert "half" not in str(caught.value)
