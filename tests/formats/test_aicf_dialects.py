"""Detection of every AICF dialect, and reading it by its own rules."""

from __future__ import annotations

import pytest

from lifeboat_formats.aicf.syntax.document import AicfDocument, AicfSection, Dialect, ItemKind, parse_document
from support.formats import aicf_files


def _section(data: bytes | AicfDocument, name: str, ident: str | None = None) -> AicfSection:
    document = parse_document(data) if isinstance(data, bytes) else data
    found = document.section(name, ident)
    assert found is not None
    return found


def _rows(section: AicfSection) -> list[list[str]]:
    return [item.values for item in section.of_kind(ItemKind.ROW, ItemKind.CELLS)]


@pytest.mark.parametrize("name", aicf_files.DIALECTS)
def test_a_file_is_told_by_its_shape(name: str) -> None:
    data, dialect = aicf_files.DIALECTS[name]
    assert parse_document(data).dialect is dialect


def test_every_dialect_has_an_example() -> None:
    assert {dialect for _, dialect in aicf_files.DIALECTS.values()} == set(Dialect)


def test_the_specified_form_gives_pairs_rows_and_lists() -> None:
    document = parse_document(aicf_files.SPECIFIED)
    assert document.is_numbered and document.is_version_declared and document.version == "3.1"
    state = _section(document, "STATE", "").pairs()
    assert state["flow"].as_list == ["question", "look at tides", "decision"]
    assert state["actions"].value == "chose a berth | told the crew"
    assert [row[0] for row in _rows(_section(document, "INSIGHTS"))] == [
        "the quay floods at spring tide",
        "moor with two lines \\ then a spring",
        "the cat fell in on\nMonday",
    ]
    assert [section.ident for section in document.named("STATE")] == ["", "user", "app", "temp"]
    assert _section(document, "HARBOUR_LOG").pairs()["gusts"].value == "9"


def test_windows_line_ends_do_not_stand_in_values() -> None:
    section = _section(aicf_files.WINDOWS, "CONVERSATION")
    assert section.ident == "talk_1" and section.pairs()["topic"].value == "mooring_plan"


def test_lines_without_numbers_belong_to_the_section_they_stand_in() -> None:
    conversation = _section(aicf_files.MIXED, "CONVERSATION")
    assert conversation.pairs()["topic"].value == "the pump"
    assert conversation.text() == "that broke twice"


def test_a_value_between_three_quotes_goes_over_lines_with_and_without_numbers() -> None:
    section = _section(aicf_files.MIXED, "STATE")
    item = section.pairs()["cleanup"]
    assert item.value == "wash the bilge\noil the pump\ncall the yard" and item.is_triple
    assert section.pairs()["actions"].line == 16


def test_three_quotes_that_are_never_closed_are_a_value_like_any_other() -> None:
    document = parse_document(b'@STATE\nnote="""open\nstatus=completed\n')
    assert _section(document, "STATE").pairs()["note"].value == '"""open'
    assert _section(document, "STATE").pairs()["status"].value == "completed"
    assert [notice.code for notice in document.notices] == ["triple_quotes_open"]


def test_three_quotes_on_one_line_are_taken_off() -> None:
    assert _section(b'@STATE\nnote="""a|b"""\n', "STATE").pairs()["note"].value == "a|b"


def test_what_declares_the_specified_form_has_no_values_over_several_lines() -> None:
    data = aicf_files.numbered('\n@AICF_VERSION\nversion=3.1\n\n@STATE\nnote="""\nstatus=completed\nend="""\n')
    assert list(_section(data, "STATE").pairs()) == ["note", "status", "end"]


def test_blocks_keep_their_backslashes() -> None:
    document = parse_document(aicf_files.BLOCKS)
    assert _section(document, "CONVERSATION").pairs()["content"].value == "Is berth 4 free | or berth 5?"
    assert _section(document, "MEMORY").pairs()["tags"].as_list == ["song", "pier"]
    assert _section(document, "STATE", "user").pairs()["user:colour"].value == "blue"


def test_compiled_sections_hold_rows_also_with_an_equals_sign_in_them() -> None:
    document = parse_document(aicf_files.COMPILED)
    assert not document.is_numbered
    assert _rows(_section(document, "CONVERSATION"))[1][3] == "In the forepeak | under the sails"
    assert _rows(_section(document, "INSIGHTS")) == [["Keep a list of = what lies where", "GENERAL", "HIGH", "0.9"]]
    assert _rows(_section(document, "LINKS")) == [["related_to", "m1", "w1"]]


def test_a_row_whose_text_is_like_a_pair_is_a_row_and_a_known_key_is_a_pair() -> None:
    section = _section(b"@INSIGHTS:\nx=1 means on|DATA|HIGH|0.9\npriority=HIGH|b\ninsight_2=short\n", "INSIGHTS")
    assert [item.kind for item in section.items[1:]] == [ItemKind.CELLS, ItemKind.PAIR, ItemKind.PAIR]


def test_files_written_by_hand_vary_their_headers() -> None:
    document = parse_document(aicf_files.BY_HAND)
    assert document.version == "3.1.0"
    assert _section(document, "INSIGHTS").ident == "engine:CRITICAL"
    assert _section(document, "STANDARDS").ident == "ropes" and _section(document, "STANDARDS").items[0].values == [
        "ropes",
        "knots",
    ]
    assert _section(document, "STATE", "user").header == "state"
    assert list(_section(document, "DECISIONS").pairs()) == ["decision_1", "decision_2"]
    assert [item.kind for item in document.sections[0].items] == [ItemKind.COMMENT, ItemKind.FENCE]


def test_rows_without_a_header_open_their_section() -> None:
    document = parse_document(b"@DECISIONS a|b\n@INSIGHT c|d\n@INSIGHTS e|f\n")
    assert [(section.name, section.header, len(section.items)) for section in document.sections] == [
        ("DECISIONS", "", 1),
        ("INSIGHTS", "", 2),
    ]


def test_a_count_at_the_end_of_a_stream_is_no_row() -> None:
    document = parse_document(aicf_files.STREAM)
    assert _section(document, "INSIGHT").pairs()["confidence"].value == "MEDIUM"
    assert _section(document, "INSIGHTS").ident == "count=1" and not _rows(_section(document, "INSIGHTS"))


def test_a_block_in_one_line_is_read_as_its_lines() -> None:
    document = parse_document(aicf_files.ESCAPED_BLOCKS)
    assert list(_section(document, "CONVERSATION", "talk_6").pairs()) == ["timestamp_start", "topic", "messages"]
    assert _section(document, "MEMORY").pairs()["content"].value == "Diesel is cheaper | at the north pier"
    assert [section.line for section in document.sections] == [1, 2, 3]


def test_rows_of_version_2_know_their_table_and_columns() -> None:
    document = parse_document(aicf_files.SCHEMA_DATA)
    first, second = document.named("DATA")
    assert (first.group, first.columns) == ("CONVERSATIONS", ("C#", "TIMESTAMP", "TITLE", "SUMMARY"))
    assert (second.group, second.columns[0]) == ("DECISIONS", "D#")
    assert _rows(first)[1] == ["2", "20260106T090000Z", "Knots", "What = holds | what slips"]
    assert _section(document, "NOTES").text() == "The almanac of 1998 = the good one.\n# it lies on the chart table"


@pytest.mark.parametrize(
    ("text", "version", "declared"),
    [
        ("1|@AICF_VERSION\n2|version=3.1\n", "3.1", True),
        ("@aicf_version\nversion = 3.0\n", "3.0", True),
        ("1|@AICF_VERSION\n2|3.0.0\n", "3.0.0", True),
        ("@AICF_VERSION 3.1.0\n@STATE\n", "3.1.0", True),
        ("@AICF_VERSION:4.2\n", "4.2", True),
        ("@AICF_VERSION\r\nversion=3.1\r\n", "3.1", True),
        ("@STATE\nversion=3.1\n", "3.x", False),
        ("@AICF_VERSION\n@STATE\nversion=9.9\n", "3.x", False),
        (aicf_files.SCHEMA_DATA.decode(), "2.0.0", True),
        (aicf_files.SCHEMA_INDEX.decode(), "2.0.0", True),
        (aicf_files.EIGHT_COLUMNS.decode(), "1.0", False),
        (aicf_files.KEY_CELLS.decode(), "3.0.0-alpha", True),
        (aicf_files.JSON_WEB.decode(), "3.0", True),
        (aicf_files.XML.decode(), "1.0", True),
    ],
)
def test_the_version_is_what_is_declared_else_the_dialects(text: str, version: str, declared: bool) -> None:
    document = parse_document(text)
    assert (document.version, document.is_version_declared) == (version, declared)


def test_values_of_a_json_file_have_their_places() -> None:
    document = parse_document(aicf_files.JSON_WEB)
    values = [(item.key, item.data) for item in document.items() if item.kind is ItemKind.JSON]
    assert [key for key, _ in values] == ["messages", "decisions", "insights", "todos", "todos"]
    assert values[2] == ("insights", "Wood bends in the sun")
    assert all(
        document.text[item.start : item.end] == item.raw for item in document.items() if item.kind is ItemKind.JSON
    )
    assert document.json["technical_context"] == {"tools": ["level"]}


def test_a_json_list_is_its_values() -> None:
    document = parse_document(b' [ {"id": 1}, [2] , "three" ]\n')
    assert [item.data for item in document.items() if item.kind is ItemKind.JSON] == [{"id": 1}, [2], "three"]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": "\\ud800"}',
        "[" * 100_000,
        "[" * 70 + "]" * 70,
        '{"a": ' + "9" * 5000 + "}",
    ],
)
def test_what_only_begins_like_json_is_read_as_lines(text: str) -> None:
    document = parse_document(text)
    assert document.dialect is not Dialect.JSON and [notice.code for notice in document.notices] == ["json_invalid"]


def test_xml_is_kept_and_its_text_is_read() -> None:
    document = parse_document(aicf_files.XML)
    assert document.sections[0].text() == "Fish & chips at the quay?"
    assert (
        parse_document(b'<!DOCTYPE a [<!ENTITY b "x">]><AICF version="1.0">&b;</AICF>')
        .sections[0]
        .text()
        .endswith("&b;")
    )


def test_what_stands_behind_an_end_tag_is_of_no_section() -> None:
    document = parse_document(aicf_files.END_TAGS)
    assert [section.name for section in document.sections] == ["SUMMARY", "DECISIONS", ""]
    assert _section(document, "SUMMARY").pairs()["topic"].value == "winter work"
    assert document.sections[2].text() == "Made by hand."


def test_prose_behind_a_tag_stays_prose() -> None:
    document = parse_document(aicf_files.TAGGED_LINES)
    assert _section(document, "CONTENT").text() == "The crew met at eight.\n# Agenda\nrope = 20 m | chain = 10 m"
    assert [section.text() for section in document.named("MESSAGE")] == ["Who pays for the rope?", "The club does."]


def test_a_mention_of_somebody_opens_no_section() -> None:
    document = parse_document(b"@CONTENT:\n@skipper said so\nmail@example.com\n@.x\n")
    assert len(document.sections) == 1 and _section(document, "CONTENT").text().startswith("@skipper said so")


@pytest.mark.parametrize("name", ["D14-key-cells", "D15-watcher"])
def test_lines_whose_first_cell_is_their_key(name: str) -> None:
    keys = [item.key for item in parse_document(aicf_files.FILES[name]).items() if item.kind is ItemKind.CELLS]
    assert keys[-1] in ("workingOn", "decision")
    assert len(keys) >= 5


def test_a_watchers_header_names_the_conversation() -> None:
    section = _section(aicf_files.WATCHER, "CONVERSATION")
    assert section.ident == "conv_10" and section.items[0].values[1] == "2026-05-02T08:00:00Z"


def test_three_cells_of_a_file_made_by_hand() -> None:
    document = parse_document(aicf_files.MANUAL)
    assert _rows(_section(document, "DECISIONS")) == [["Replace the belt", "it is ten years old", "IMPACT:HIGH"]]
    assert _section(document, "DETAILS").ident == "engine"
