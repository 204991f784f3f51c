"""Lines of AICF files: terminators and line numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_formats.aicf.syntax import numbered_lines

_TEXTS = st.text(st.sampled_from("a1|@=\\ \t\r\n\u2028\x85\x0b\x0c"), max_size=40)


def _pieces(text: str, *, numbered: bool) -> list[str]:
    return [text[line.start : line.end] for line in numbered_lines.iterate_lines(text, numbered=numbered)]


def test_only_line_feeds_and_carriage_returns_end_a_line() -> None:
    text = "a\u2028b\x85c\x0bd\x0ce\r\nf\rg\nh"
    assert _pieces(text, numbered=False) == ["a\u2028b\x85c\x0bd\x0ce\r\n", "f\r", "g\n", "h"]


@given(_TEXTS, st.booleans())
def test_lines_are_the_text_without_a_gap(text: str, numbered: bool) -> None:
    found = list(numbered_lines.iterate_lines(text, numbered=numbered))
    assert "".join(text[line.start : line.end] for line in found) == text
    assert all(line.start <= line.data <= line.data_end <= line.end for line in found)


@given(_TEXTS)
def test_the_lines_before_an_offset_are_counted_as_they_are_read(text: str) -> None:
    for number, line in enumerate(numbered_lines.iterate_lines(text, numbered=False)):
        assert numbered_lines.count_terminators(text, line.start) == number


@pytest.mark.parametrize(
    "first", ["1|@AICF_VERSION", "7|", "1|\\@STATE:user", "1|topic=x", "1|user:language = pt", "\n \n1|@STATE", "0|  "]
)
def test_a_file_is_numbered_when_a_header_a_pair_or_nothing_follows_its_first_number(first: str) -> None:
    assert numbered_lines.is_numbered(first + "\nx")


@pytest.mark.parametrize(
    "first", ["1|M|L|DONE", "@STATE\n1|topic=x", "1|CONV|conv_1|a=b", "", "text", "1234567890|@X", "²|@X"]
)
def test_rows_that_begin_with_a_number_of_their_own_make_no_numbered_file(first: str) -> None:
    assert not numbered_lines.is_numbered(first)


def test_numbers_are_read_off_in_a_numbered_file_only() -> None:
    text = "1|@DATA\nM|L\n3|x=1\n"
    assert [line.number for line in numbered_lines.iterate_lines(text, numbered=True)] == [1, None, 3]
    assert [line.number for line in numbered_lines.iterate_lines(text, numbered=False)] == [None, None, None]


def test_kinds_of_line_ends_are_told_apart() -> None:
    assert numbered_lines.find_terminators("a\r\nb\r\n") == {"\r\n"}
    assert numbered_lines.find_terminators("a\r\nb\rc\n") == {"\r\n", "\r", "\n"}
    assert numbered_lines.find_terminators("a") == set()
