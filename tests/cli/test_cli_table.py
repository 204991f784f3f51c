"""Tables and sentences on a narrow terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from lifeboat_cli.terminal.text_table import format_table, wrap_sentence
from lifeboat_core.texts.human_text import NO_BREAK

COLUMNS = ("agent", "workspace", "why")
ROW = ("Juniper", "/data/ada/.openclaw/workspaces/the-long-one/skills", "4 secrets cut out and sealed")


def test_without_a_terminal_every_row_is_one_line() -> None:
    assert format_table(COLUMNS, [ROW, ROW], None)[1:] == ["  ".join(ROW)] * 2


def test_a_path_is_broken_between_its_parts_and_a_sentence_between_its_words() -> None:
    lines = format_table(COLUMNS, [ROW], 64)
    assert max(map(cell_len, lines)) <= 64
    pieces = {piece for line in lines[1:] for piece in line.split()}
    assert {"secrets", "sealed", "4", "skills"} <= pieces and not any(piece.endswith("workspac") for piece in pieces)


def test_a_file_name_that_is_too_long_is_broken_between_its_own_parts() -> None:
    name = "big-photo-of-the-workshop-with-a-very-long-name-indeed-and-more.jpg"
    lines = format_table(("path", "why"), [(name, "4 memories, 2 secrets cut out and sealed")], 60)
    assert max(map(cell_len, lines)) <= 60
    assert "".join(line[: line.find("  ")] if "  " in line else line for line in lines[1:]).startswith("big-photo-of-")


def test_many_columns_fit_as_well_and_a_date_keeps_its_parts() -> None:
    columns = ("agent", "runtime", "sequence", "of", "written by", "size", "here", "id")
    row = ("Ada", "openclaw", "2", f"2026-11-22{NO_BREAK}13:52", "laptop-2", "649.3 KB", "no", "01a20386-0c4a")
    lines = format_table(columns, [row], 80)
    assert max(map(cell_len, lines)) <= 80
    assert "2026-11-22  " in lines[1] and " 13:52 " in lines[2]


def test_what_holds_together_is_not_torn_apart() -> None:
    time = f"2026-11-20{NO_BREAK}19:40"
    lines = format_table(("time", "changes"), [(time, "12 memories created, 3 updated; 4 files written")], 40)
    assert lines[1].startswith("2026-11-20 19:40  ") and max(map(cell_len, lines)) <= 40


def test_wide_letters_count_twice() -> None:
    lines = format_table(("name", "x"), [("記憶" * 20, "y")], 50)
    assert max(map(cell_len, lines)) <= 50


@given(st.lists(st.lists(st.text("ab /-_.記", max_size=90), min_size=3, max_size=3), min_size=1, max_size=3))
def test_no_table_of_three_columns_is_wider_than_the_terminal_and_none_loses_a_letter(rows: list[list[str]]) -> None:
    lines = format_table(("a", "b", "c"), rows, 60)
    assert max(map(cell_len, lines)) <= 60
    assert sorted("".join(lines[1:]).replace(" ", "")) == sorted("".join("".join(row) for row in rows).replace(" ", ""))


@pytest.mark.parametrize("width", [None, 30])
def test_a_sentence_is_broken_between_words_and_keeps_its_beginning(width: int | None) -> None:
    said = "  overwrite this and that and something else as well"
    lines = wrap_sentence(said, width)
    assert " ".join(line.strip() for line in lines) == said.strip()
    assert all(line.startswith("  ") for line in lines)
    assert width is None or max(map(len, lines)) <= 30


def test_an_empty_line_stays_and_a_long_word_stays_whole() -> None:
    assert wrap_sentence("a\n\nb", 30) == ["a", "", "b"]
    assert wrap_sentence(f"see {'x' * 50}", 30) == ["see", "x" * 50]
