"""Tables and sentences on a narrow terminal."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from lifeboat_cli.terminal.text_table import TableFit, format_table, shorten_cell, wrap_sentence
from lifeboat_core.texts.human_text import NO_BREAK
from lifeboat_core.texts.safe_text import END_OF_ISOLATE, ISOLATE
from support.core.protected import Protected
from support.terminal import Terminal

COLUMNS = ("agent", "workspace", "why")
ROW = ("Juniper", "/data/ada/.openclaw/workspaces/the-long-one/skills", "4 secrets removed and encrypted")


def test_without_a_terminal_every_row_is_one_line() -> None:
    assert format_table(COLUMNS, [ROW, ROW], None)[1:] == ["  ".join(ROW)] * 2


def test_on_a_narrow_terminal_every_row_is_one_line_and_a_path_keeps_its_end() -> None:
    lines = format_table(COLUMNS, [ROW, ROW], 64, TableFit(shorten=("workspace",)))
    assert len(lines) == 3 and max(map(cell_len, lines)) == 64
    assert lines[1].startswith("Juniper  …") and "skills  4 secrets removed and encrypted" in lines[1]


def test_the_named_columns_are_shortened_first_and_down_to_their_least_width() -> None:
    row = ("Juniper", "https://nas.example.com:8443/agents", "0123456789abcdef")
    columns = ("agent", "address", "id")
    assert format_table(columns, [row], 50, TableFit(shorten=("address",)))[1] == (
        "Juniper  https://nas.example.co…  0123456789abcdef"
    )
    fit = TableFit(shorten=("address",), least={"id": 16})
    assert format_table(columns, [row], 37, fit)[1] == "Juniper  https://n…  0123456789abcdef"


def test_columns_that_are_empty_or_may_be_left_out_are_left_out_if_the_rest_does_not_fit() -> None:
    columns, row = ("time", "label", "id"), ("2026-11-22", "", "0123456789abcdef")
    assert format_table(columns, [row], 30, TableFit(drop=("time",))) == [
        "time        id",
        "2026-11-22  0123456789abcdef",
    ]
    fit = TableFit(drop=("time",), least={"id": 16})
    assert format_table(columns, [row], 20, fit) == ["id", "0123456789abcdef"]
    assert format_table(columns, [row], 40, fit)[0].split() == list(columns)


def test_a_column_of_sentences_is_wrapped_and_loses_no_word() -> None:
    columns, row = (
        ("time", "details"),
        (f"2026-11-20{NO_BREAK}19:40", "12 memories created, 3 updated; 4 files written"),
    )
    lines = format_table(columns, [row], 44, TableFit(wrap="details"))
    assert lines[1].startswith("2026-11-20 19:40  ") and max(map(cell_len, lines)) <= 44
    assert " ".join(line[18:] for line in lines[1:]) == row[1]


def test_a_date_keeps_its_time() -> None:
    columns = ("agent", "runtime", "sequence", "of", "written by", "size", "here", "id")
    row = ("Ada", "openclaw", "2", f"2026-11-22{NO_BREAK}13:52", "laptop-2", "649.3 KB", "no", "01a20386-0c4a")
    lines = format_table(columns, [row], 80)
    assert len(lines) == 2 and max(map(cell_len, lines)) <= 80
    assert " 2026-11-22 13:52 " in lines[1]


def test_wide_letters_count_twice_and_none_is_cut_in_half() -> None:
    lines = format_table(("name", "x"), [("記憶" * 20, "y")], 50)
    assert lines[1] == "記憶" * 11 + "記…  y" and cell_len(lines[1]) <= 50


def test_a_name_written_from_right_to_left_stays_isolated() -> None:
    name = f"{ISOLATE}{'א' * 30}{END_OF_ISOLATE}"
    cut = shorten_cell(name, 10)
    assert cut.startswith(ISOLATE) and cut.endswith("…" + END_OF_ISOLATE)


@given(
    st.lists(st.lists(st.text("ab /-_.記~", max_size=90), min_size=3, max_size=3), min_size=1, max_size=3),
    st.integers(9, 90),
)
def test_no_table_is_wider_than_the_terminal_and_each_row_is_one_line(rows: list[list[str]], width: int) -> None:
    lines = format_table(("a", "b", "c"), rows, width)
    assert max(map(cell_len, lines)) <= width
    assert len(lines) == len(rows) + 1


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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a home with a captured agent."""
    folder = tmp_path_factory.mktemp("home")
    ada = Protected(folder)
    ada.clock.moment = datetime.now(UTC)  # Commands use the clock of the system.
    ada.add(name="the-agent-with-a-rather-long-name")
    return {name: ada.context.environment[name] for name in ("LIFEBOAT_HOME", "HOME")}


@pytest.mark.parametrize(
    "command",
    [
        "timeline the-agent-with-a-rather-long-name",
        "agents list",
        "log",
        "records list the-agent-with-a-rather-long-name",
        "config list",
    ],
)
def test_on_a_terminal_of_80_columns_every_row_of_a_list_is_one_line(command: str, home: dict[str, str]) -> None:
    with Terminal("--no-pager", *command.split(), COLUMNS="80", **home) as terminal:
        assert terminal.ended() == 0
    lines = terminal.left.splitlines()
    assert len(lines) >= 2 and max(map(cell_len, lines)) <= 80
    assert not any(line.startswith(" ") for line in lines), terminal.left
