"""Values of AICF files: cells, escapes, lists, numbers and times."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_formats.aicf.syntax import cell_values
from lifeboat_formats.aicf.syntax.cell_values import Escaping

_TEXTS = st.text(st.sampled_from("ab|\\nr@\n\r=\u2028"), max_size=20)


@given(st.lists(_TEXTS, min_size=1, max_size=5))
def test_a_row_that_was_written_is_read_as_its_cells(texts: list[str]) -> None:
    raw = cell_values.join_cells(texts)
    assert "\n" not in raw and "\r" not in raw
    assert [cell_values.unescape_cell(cell) for cell in cell_values.split_cells(raw)] == texts
    assert cell_values.unknown_escapes(raw) == 0


@given(st.lists(_TEXTS, min_size=1, max_size=5), st.sampled_from(Escaping))
def test_raw_cells_put_together_again_are_the_row(texts: list[str], escaping: Escaping) -> None:
    raw = "|".join(texts)
    assert "|".join(cell_values.split_cells(raw, escaping)) == raw


@pytest.mark.parametrize(
    ("raw", "cells"),
    [
        (r"a\|b|c", ["a|b", "c"]),
        (r"a\\|b", ["a\\", "b"]),
        (r"a\\\|b", ["a\\|b"]),
        (r"one\ntwo", ["one\ntwo"]),
        (r"a\\nb", ["a\\nb"]),
        (r"\@NAME\r", ["@NAME\r"]),
        (r"a\tb", ["a\\tb"]),
        ("end\\", ["end\\"]),
        ("|", ["", ""]),
        (" a | b ", [" a ", " b "]),
    ],
)
def test_cells_are_split_before_they_are_unescaped_in_one_pass(raw: str, cells: list[str]) -> None:
    assert [cell_values.unescape_cell(cell) for cell in cell_values.split_cells(raw)] == cells


@pytest.mark.parametrize(
    ("raw", "cells"),
    [
        (r"C:\\tools", ["C:\\\\tools"]),
        (r"pipe \\|x", ["pipe \\|x"]),
        (r"a\|b|c", ["a|b", "c"]),
        (r"one\ntwo", ["one\ntwo"]),
        (r"\@STATE:", ["@STATE:"]),
    ],
)
def test_a_writer_that_escapes_no_backslashes_has_them_read_as_they_are(raw: str, cells: list[str]) -> None:
    loose = Escaping.LOOSE
    assert [cell_values.unescape_cell(cell, loose) for cell in cell_values.split_cells(raw, loose)] == cells


@given(_TEXTS.filter(lambda text: "\\" not in text))
def test_without_backslashes_the_loose_escapes_lose_nothing(text: str) -> None:
    assert cell_values.unescape_cell(cell_values.escape_cell(text, Escaping.LOOSE), Escaping.LOOSE) == text


@pytest.mark.parametrize(
    ("raw", "count"), [(r"\t", 1), (r"\\t", 0), ("a\\", 1), ("a\\\\", 0), ("\\\\\\", 1), (r"\|\n\\\r\@", 0)]
)
def test_escapes_that_nobody_defined_are_counted(raw: str, count: int) -> None:
    assert cell_values.unknown_escapes(raw) == count


def test_a_list_stands_between_pipes_or_between_commas() -> None:
    assert cell_values.items_of_list("ann|bo,b") == ["ann", "bo,b"]
    assert cell_values.items_of_list("ann, bob") == ["ann", "bob"]
    assert cell_values.items_of_list(r"ann\|a|bob") == ["ann|a", "bob"]
    assert cell_values.items_of_list("") == []


@pytest.mark.parametrize(
    ("text", "number"), [("12", 12), (" -3 ", -3), ("1.0", None), ("1e3", None), ("9" * 5000, None), ("²", None)]
)
def test_whole_numbers(text: str, number: int | None) -> None:
    assert cell_values.parse_integer(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("0.85", 0.85), ("-1e-3", -0.001), (".5", 0.5), ("nan", None), ("inf", None), ("1e999", None), ("1_0", None)],
)
def test_numbers_are_finite(text: str, number: float | None) -> None:
    assert cell_values.parse_decimal(text) == number


def test_a_percentage_has_its_sign() -> None:
    assert (
        cell_values.parse_percentage("95.5%"),
        cell_values.parse_percentage("0.955"),
        cell_values.parse_percentage("x%"),
    ) == (95.5, None, None)


@pytest.mark.parametrize("raw", ["0.5,-1,2e-3", "0.5|-1|2e-3", "[0.5, -1, 2e-3]"])
def test_a_vector_has_commas_pipes_or_brackets(raw: str) -> None:
    found = cell_values.parse_vector(raw)
    assert list(found) == [0.5, -1.0, 0.002] and found.is_whole


def test_a_vector_with_dots_or_without_numbers_is_no_embedding() -> None:
    assert cell_values.parse_vector("0.1,0.2,...").is_elided and not cell_values.parse_vector("0.1,0.2,...").is_whole
    assert cell_values.parse_vector("0.1,nan").is_broken and not cell_values.parse_vector("").is_whole
    assert not cell_values.parse_vector("[]").is_whole


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026-02-03T07:00:00Z", "2026-02-03T07:00:00Z"),
        ("2026-02-03T07:00:00.2500+01:30", "2026-02-03T05:30:00.25Z"),
        ("2026-02-03 07:00", "2026-02-03T07:00:00Z"),
        ("20260203T070000Z", "2026-02-03T07:00:00Z"),
        ("20260203", "2026-02-03T00:00:00Z"),
        ("0001-01-01T00:00:00+09:00", None),
        ("2026-13-03T07:00:00Z", None),
        ("2026-02-03T07:00:00+99:00", None),
        ("2026-02-03T07:00:00+01:75", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_times_are_read_as_universal_time(text: str, read: str | None) -> None:
    assert cell_values.parse_timestamp(text) == read


@given(st.text(st.sampled_from("0123456789-:T.Z+ ²"), max_size=30))
def test_what_looks_like_a_time_never_stops_the_reader(text: str) -> None:
    read = cell_values.parse_timestamp(text)
    assert read is None or cell_values.parse_timestamp(read) == read


def test_the_specification_asks_for_seconds_and_an_offset() -> None:
    assert cell_values.is_timestamp("2026-02-03T07:00:00Z") and cell_values.is_timestamp("2026-02-03T07:00:00.5+02:00")
    assert not any(
        cell_values.is_timestamp(text)
        for text in ("2026-02-03", "2026-02-03T07:00Z", "2026-02-03T07:00:00", "20260203T070000Z")
    )
