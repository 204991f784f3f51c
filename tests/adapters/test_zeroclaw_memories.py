"""Rows become memories and rows again, and memories of other runtimes become rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.contract import MemorySection
from lifeboat_adapters.zeroclaw import ADAPTER
from lifeboat_adapters.zeroclaw.memories import brain_records, memory_kinds
from lifeboat_alf.common import json_codec
from lifeboat_alf.memory import memory_records

ROOT = "0198f7a0-0000-7000-8000-00000000abcd"
ROW = {
    "id": "b2b7c1de-5a35-4a8f-9c0e-111111111111",
    "key": "user_lang",
    "content": "prefers Rust",
    "category": "core",
    "created_at": "2026-08-22T10:11:12.123456789+02:00",
    "updated_at": "2026-08-23T09:00:00.000000001+02:00",
    "session_id": "tg_12",
    "namespace": "default",
    "importance": 0.9,
    "superseded_by": None,
    "kind": '{"semantic":"preference"}',
    "pinned": 1,
    "tenant_id": None,
}

VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.binary(max_size=20),
    st.sampled_from(
        ["core", "daily", "conversation", "2026-08-22T10:11:12Z", "0001-01-01T00:00:00+02:00", '"episodic"']
    ),
)
COLUMNS = st.sampled_from(
    [name for name in ROW if name not in brain_records.REQUIRED] + ["mood", "row", "text", "Ünïcode", ""]
)


@st.composite
def some_rows(draw: st.DrawFn) -> dict[str, Any]:
    row = {name: draw(VALUES) for name in sorted(brain_records.REQUIRED)}
    return row | draw(st.dictionaries(COLUMNS, VALUES, max_size=8))


def record_of(section: MemorySection) -> dict[str, Any]:
    """Return the record that a capture makes of a row, through the bytes of an archive."""
    made = {"id": ROOT, "agent_id": ROOT, "content": section.text, "status": "active", **section.fields}
    return memory_records.parse_record(memory_records.line_of(made))


def test_a_row_comes_back_as_it_was() -> None:
    assert brain_records.row_of_memory(record_of(brain_records.memory_of_row(ROW)), ROOT) == ROW


@given(some_rows())
def test_any_row_comes_back_as_it_was(row: dict[str, Any]) -> None:
    section = brain_records.memory_of_row(row)
    assert section.text.strip()
    back = brain_records.row_of_memory(record_of(section), ROOT)
    assert back == row
    assert {name: type(value) for name, value in back.items()} == {name: type(value) for name, value in row.items()}


@given(some_rows())
def test_a_record_of_any_row_is_one_of_the_format(row: dict[str, Any]) -> None:
    record = record_of(brain_records.memory_of_row(row))
    memory_records.check_shape(record, entry="", line=1)
    assert record["memory_type"] in memory_records.ENUMS["memory_type"].values
    assert 0 <= record.get("confidence", 0) <= 1


def test_a_memory_has_what_its_row_says() -> None:
    fields = brain_records.memory_of_row(ROW).fields
    assert (fields["memory_type"], fields["confidence"], fields["pinned"]) == ("preference", 0.9, True)
    assert fields["temporal"] == {"created_at": "2026-08-22T08:11:12.123Z", "updated_at": "2026-08-23T07:00:00.000Z"}
    assert fields["source"] == {
        "origin": "sqlite_store",
        "origin_file": "memory/brain.db",
        "extraction_method": "agent_written",
        "session_id": "tg_12",
    }


def test_a_superseded_row_is_a_superseded_memory() -> None:
    assert brain_records.memory_of_row({**ROW, "superseded_by": "x"}).fields["status"] == "superseded"


def test_a_daily_note_was_observed_when_it_was_made() -> None:
    fields = brain_records.memory_of_row({**ROW, "category": "daily", "kind": None}).fields
    assert (fields["memory_type"], fields["category"]) == ("episodic", "daily_log")
    assert fields["temporal"]["observed_at"] == fields["temporal"]["created_at"]


def test_the_default_importance_says_nothing() -> None:
    assert "confidence" not in brain_records.memory_of_row({**ROW, "importance": 0.5}).fields


@pytest.mark.parametrize("when", ["yesterday", None, "", 12, "2026-08-22T10:11:12", "0001-01-01T00:00:00+02:00"])
def test_a_time_that_is_none_is_left_out_and_kept_in_the_row(when: Any) -> None:
    record = record_of(brain_records.memory_of_row({**ROW, "created_at": when}))
    assert "created_at" not in record["temporal"]
    assert brain_records.row_of_memory(record, ROOT)["created_at"] == when


@pytest.mark.parametrize("content", ["", "  \n", None, b"", b"\xff\xfe"])
def test_a_row_without_text_is_remembered_all_the_same(content: Any) -> None:
    row = {**ROW, "content": content}
    section = brain_records.memory_of_row(row)
    assert section.text.strip()
    assert brain_records.row_of_memory(record_of(section), ROOT) == row


# Edited elsewhere -----------------------------------------------------------------------------------------------------


def edited(record: dict[str, Any], content: str) -> dict[str, Any]:
    temporal = {**record["temporal"], "updated_at": "2026-11-20T10:00:00.000Z"}
    return {**record, "content": content, "temporal": temporal}


def test_a_row_that_was_edited_elsewhere_keeps_its_key_and_columns() -> None:
    row = brain_records.row_of_memory(edited(record_of(brain_records.memory_of_row(ROW)), "prefers Zig"), ROOT)
    assert row == {**ROW, "content": "prefers Zig", "updated_at": "2026-11-20T10:00:00.000Z"}


def test_an_edit_in_a_period_that_has_ended_is_as_young_as_the_record_that_says_it() -> None:
    successor = edited(record_of(brain_records.memory_of_row(ROW)), "Another text.")
    successor["temporal"] = {"created_at": "2026-11-20T08:00:00.000Z", "observed_at": "2026-08-22T08:11:12.123Z"}
    assert brain_records.row_of_memory(successor, ROOT)["updated_at"] == "2026-11-20T08:00:00.000Z"


def test_a_row_whose_edit_was_taken_back_is_as_it_was() -> None:
    record = record_of(brain_records.memory_of_row(ROW))
    assert brain_records.row_of_memory(edited(edited(record, "other"), "prefers Rust"), ROOT) == ROW


def test_an_edit_replaces_what_was_no_text() -> None:
    row = {**ROW, "content": b"\xff"}
    assert (
        brain_records.row_of_memory(edited(record_of(brain_records.memory_of_row(row)), "text now"), ROOT)["content"]
        == "text now"
    )


# From another runtime -------------------------------------------------------------------------------------------------


def foreign(**fields: Any) -> dict[str, Any]:
    return {
        "id": ROOT,
        "content": "Likes green tea.",
        "memory_type": "semantic",
        "namespace": "default",
        "source": {"runtime": "openclaw", "origin_file": "memory/2026-02-10.md"},
        "temporal": {"created_at": "2026-02-10T08:00:00.000Z", "updated_at": "2026-02-11T08:00:00.000Z"},
        **fields,
    }


def test_a_memory_of_another_runtime_becomes_a_row() -> None:
    assert brain_records.row_of_memory(foreign(confidence=0.75, pinned=True), ROOT) == {
        "id": ROOT,
        "key": "2026-02-10_00000000abcd",
        "content": "Likes green tea.",
        "category": "core",
        "created_at": "2026-02-10T08:00:00.000Z",
        "updated_at": "2026-02-11T08:00:00.000Z",
        "session_id": None,
        "namespace": "default",
        "importance": 0.75,
        "superseded_by": None,
        "kind": '{"semantic":"fact"}',
        "pinned": 1,
        "tenant_id": None,
    }


def test_the_key_stays_when_the_memory_is_edited() -> None:
    assert (
        brain_records.row_of_memory(foreign(content="x"), ROOT)["key"]
        == brain_records.row_of_memory(foreign(), ROOT)["key"]
    )


def test_what_a_session_may_not_be_called_is_replaced() -> None:
    assert brain_records.row_of_memory(foreign(source={"session_id": "chat:1 2"}), ROOT)["session_id"] == "chat_1_2"


@pytest.mark.parametrize(
    ("source", "category", "key"),
    [
        ({"origin_file": "MEMORY.md"}, None, "memory"),
        ({"origin_file": "memory/Häfen & Boote.md"}, None, "häfen_boote"),
        ({}, "daily_log", "daily_log"),
        ({}, None, "semantic"),
        ({"origin_file": "memory/---.md"}, None, "memory"),
        ({"origin_file": "x" * 500}, None, "x" * 48),
    ],
)
def test_a_key_says_where_a_memory_came_from(source: dict[str, Any], category: str | None, key: str) -> None:
    assert brain_records.row_of_memory(foreign(source=source, category=category), ROOT)["key"] == f"{key}_00000000abcd"


KNOWN = [
    *[(kind, None) for kind in ("semantic", "episodic", "procedural", "preference", "summary")],
    *[(kind, "tides") for kind in ("semantic", "episodic", "procedural", "preference")],
    *[("episodic", "daily_log"), ("episodic", "conversation"), ("semantic", "decision"), ("semantic", "entity")],
    *[("semantic", "daily_log"), ("procedural", "conversation")],
]


@pytest.mark.parametrize(("memory_type", "category"), KNOWN)
def test_type_and_category_survive_the_way_through_a_row(memory_type: str, category: str | None) -> None:
    assert memory_kinds.record_kind_of_row(*memory_kinds.row_kind_of_record(memory_type, category)) == (
        memory_type,
        category,
    )


def test_a_type_that_nobody_knows_stays_as_the_category() -> None:
    assert memory_kinds.row_kind_of_record("dream", None) == ("dream", None)
    assert memory_kinds.record_kind_of_row("dream", None) == ("semantic", "dream")


@given(st.text(max_size=10), st.one_of(st.none(), st.text(max_size=10)))
def test_any_category_and_kind_mean_something(category: str, kind: str | None) -> None:
    assert memory_kinds.record_kind_of_row(category, kind).memory_type in memory_records.ENUMS["memory_type"].values


# Rubbish in an archive ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "part",
    [
        None,
        "x",
        {},
        {"row": 3},
        {"row": {}},
        {"row": {"id": None, "key": {"real": "x"}, "mood": [1], "pinned": 10**30, "created_at": {"base64": "!"}}},
        {"row": {"content": {"a": {}}}, "text": 3},
    ],
)
def test_a_damaged_part_of_a_record_still_gives_a_whole_row(part: Any) -> None:
    row = brain_records.row_of_memory(foreign(raw_source_format={"zeroclaw": part}), ROOT)
    assert row.keys() >= brain_records.REQUIRED
    assert all(isinstance(value, str | int | float | bytes | None) for value in row.values())
    assert row["content"] == "Likes green tea."


def test_the_mark_is_of_the_text_as_it_was_captured() -> None:
    assert brain_records.memory_of_row(ROW).fields["raw_source_format"]["zeroclaw"][
        "text"
    ] == brain_records.content_digest("prefers Rust")


# Notes ----------------------------------------------------------------------------------------------------------------

LOG = "# Long-Term Memory\n\n- **user_lang**: prefers Rust\n- **boat**: red\nand old\n"


def test_the_entries_of_the_markdown_backend_are_memories_of_their_own() -> None:
    found = ADAPTER.split("raw/zeroclaw/MEMORY.md", LOG) or []
    assert [section.content for section in found] == [
        "# Long-Term Memory\n\n",
        "- **user_lang**: prefers Rust\n",
        "- **boat**: red\nand old\n",
    ]
    assert [section.heading for section in found] == [("Long-Term Memory",), ("user_lang",), ("boat",)]


def test_daily_entries_are_of_their_day() -> None:
    (section,) = ADAPTER.split("raw/zeroclaw/memory/2026-02-10.md", "- **a**: sailed\n") or []
    assert (section.fields["memory_type"], section.fields["category"]) == ("episodic", "daily_log")
    assert section.fields["temporal"] == {"observed_at": "2026-02-10T00:00:00.000Z"}


def test_joining_the_entries_gives_the_note_back() -> None:
    found = ADAPTER.split("raw/zeroclaw/MEMORY.md", LOG) or []
    memories = [(f"{number:036}", section.text) for number, section in enumerate(found)]
    assert ADAPTER.join("raw/zeroclaw/MEMORY.md", memories) == LOG


@given(st.lists(st.sampled_from(["- **a**: b\n", "# T\n", "text\n", "\n", "- item\n", "- **a** b\n"]), max_size=12))
def test_joined_memories_are_split_into_the_same(parts: list[str]) -> None:
    contents = [part for part in parts if part.strip()]
    memories = [(f"0198f7a0-0000-7000-8000-0000000{number:05x}", text) for number, text in enumerate(contents)]
    text = ADAPTER.join("raw/zeroclaw/memory/notes.md", memories)
    assert [one.text for one in ADAPTER.split("raw/zeroclaw/memory/notes.md", text) or [] if one.text] == contents


@pytest.mark.parametrize("path", ["raw/zeroclaw/SOUL.md", "raw/zeroclaw-home/MEMORY.md", "identity.json"])
def test_other_files_hold_no_memories(path: str) -> None:
    assert ADAPTER.split(path, LOG) is None


def test_rows_survive_the_codec_of_the_archive() -> None:
    record = record_of(brain_records.memory_of_row({**ROW, "importance": 1.0, "pinned": 2**63 - 1}))
    assert (
        brain_records.row_of_memory(json_codec.decode_json(json_codec.encode_json(record)), ROOT)["pinned"] == 2**63 - 1
    )


def test_a_row_of_the_reference_client_keeps_its_key_and_its_namespace_is_the_default():
    record = foreign(source={"runtime": "zeroclaw", "origin": "sqlite"}, namespace="core", category="core")
    record["raw_source_format"] = {"category": "core", "key": "boat_colour"}
    row = brain_records.row_of_memory(record, ROOT)
    assert (row["key"], row["namespace"], row["category"]) == ("boat_colour", "default", "core")
    elsewhere = {**record, "source": {"runtime": "openclaw", "origin": "workspace"}}
    assert brain_records.row_of_memory(elsewhere, ROOT)["key"] != "boat_colour"
