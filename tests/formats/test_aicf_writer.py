from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_alf.testing.sample_states import (
    MemoryState,
    make_credentials,
    make_full_state,
    make_identity,
    make_principals,
    make_record,
)
from lifeboat_formats.aicf.records import file_memories
from lifeboat_formats.aicf.syntax import file_checks
from support.formats import aicf_files
from support.formats import aicf_states as states


def _state(*texts: str) -> MemoryState:
    return MemoryState().add_all(make_record(text) for text in texts)


def test_what_is_written_stands_up_to_the_strict_check() -> None:
    state = _state("Sails dry by noon.", "A | pipe\nand a \\ backslash")
    state.add(make_record("Boats\nOne\nTwo", memory_type="summary"))
    state.add(make_record("# Boats\n\nOne by one.", memory_type="summary"))
    state.add(make_record("tea: green", memory_type="preference", namespace="principal_context:ada"))
    data, _ = states.written(state)
    assert list(file_checks.check_file(data, strict=True)) == []


def test_sections_stand_in_their_order_and_lines_are_counted(tmp_path: Path) -> None:
    state = states.state_in(tmp_path, "a.aicf", aicf_files.FILES["D1-specified"])
    state.add(make_record("One.\nTwo.", memory_type="summary"))
    data, _ = states.written(state, dialect="v3.1")
    lines = data.decode().splitlines()
    assert [line.partition("|")[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
    heads = [line.partition("|")[2].partition(":")[0] for line in lines if line.partition("|")[2].startswith("@")]
    order = ["@AICF_VERSION", "@SESSION", "@CONVERSATION", "@STATE", "@INSIGHTS", "@DECISIONS", "@LINKS", "@EMBEDDING"]
    order += ["@CONSOLIDATION", "@ALF_RECORD"]
    first = [heads.index(name) for name in order]
    assert first == sorted(first)
    assert "\r" not in data.decode() and not data.startswith(b"\xef\xbb\xbf") and data.endswith(b"\n")


def test_required_fields_that_a_memory_lacks_are_made_and_told() -> None:
    state = MemoryState().add_all([make_record("Boats\nOne", memory_type="summary")])
    data, made = states.written(state)
    assert b"|source_items=" in data and b"|consolidated_at=2026-11-20T12:00:00Z" in data and b"|method=" in data
    assert "synthesised" in {notice.code for notice in made.notices}


def test_credentials_are_never_written() -> None:
    data, made = states.written(make_full_state())
    sealed = make_credentials()["credentials"][0]
    assert sealed["encrypted_payload"].encode() not in data and sealed["id"].encode() not in data
    fates = [fate for fate in made.fates if fate.kind == "credential"]
    assert [(fate.name, fate.outcome) for fate in fates] == [(sealed["id"], ItemOutcome.OMITTED)]


def test_everything_of_a_state_has_one_fate() -> None:
    state = make_full_state()
    _, made = states.written(state)
    entries = [entry.path for entry in state.entries()]
    own = ("manifest.json", "identity.json", "principals.json", "credentials.json")
    count = len([path for path in entries if path not in own]) + len(list(state.records())) + 3
    assert len(made.fates) == count
    assert len({(fate.kind, fate.name) for fate in made.fates}) == count


def test_identity_and_people_travel(tmp_path: Path) -> None:
    state = _state("Sails dry by noon.")
    state.put_document("identity.json", make_identity()).put_document("principals.json", make_principals())
    data, made = states.written(state)
    again = states.state_in(tmp_path, "x.aicf", data)
    assert b"Curious and kind." in again.body("identity.json")
    assert b"Robin" in again.body("principals.json")
    outcomes = {fate.kind: fate.outcome for fate in made.fates}
    assert outcomes["identity"] is outcomes["principal"] is ItemOutcome.ACCEPTED


def test_artifacts_are_listed_and_told() -> None:
    state = _state("Sails dry by noon.").put_artifact("shares.csv", b"a,b\n", media_type="text/csv")
    data, made = states.written(state)
    assert b"@ALF_ATTACHMENTS" in data and b"shares.csv" in data
    assert [fate.outcome for fate in made.fates if fate.kind == "artifact"] == [ItemOutcome.OMITTED]


def test_what_was_superseded_or_deleted_is_told() -> None:
    state = _state("Sails dry by noon.")
    old = state.add(make_record("Old."))
    state.add(make_record("New.", supersedes=old.id))
    state.add(make_record("[deleted]", status="deleted"))
    data, made = states.written(state)
    assert b"Old." not in data and b"New." in data
    assert [fate.code for fate in made.fates if fate.outcome is ItemOutcome.OMITTED] == ["not_remembered"]


@pytest.mark.parametrize(("dialect", "mark"), [("compiled", "@MEMORY:\n"), ("blocks", "1|@MEMORY:semantic\n")])
def test_older_forms_hold_texts_types_and_times(dialect: str, mark: str) -> None:
    state = _state("A | pipe", "two\nlines")
    state.add(make_record("Row to the pier.", memory_type="procedural"))
    data, made = states.written(state, dialect=dialect)
    assert mark in data.decode() and b"ALF_" not in data
    found = [
        each for _, each in file_memories.read_memories(data, "x.aicf").memories() if each["category"] == "aicf:memory"
    ]
    assert sorted(states.contents(found)) == ["A | pipe", "Row to the pier.", "two\nlines"]
    assert {each["memory_type"] for each in found} == {"semantic", "procedural"}
    assert {fate.outcome for fate in made.fates} == {ItemOutcome.TRANSFORMED}


def test_a_text_that_an_older_form_reads_otherwise_is_told() -> None:
    _, made = states.written(_state("c:\\new"), dialect="compiled")
    assert [fate.code for fate in made.fates] == ["read_otherwise"]


@pytest.mark.parametrize("dialect", ["same", "v3.1", "compiled"])
def test_users_get_other_names(tmp_path: Path, dialect: str) -> None:
    state = states.state_in(tmp_path, "a.aicf", aicf_files.FILES["D1-specified"])
    assert b"skipper_4" in states.written(state)[0]
    data, _ = states.written(state, dialect=dialect, pseudonymise=True)
    assert b"user_id=skipper_4" not in data and b"participants=skipper_4" not in data
    if dialect != "compiled":
        assert b"user_id=user_1" in data


def test_a_compressed_file_is_the_same_every_time() -> None:
    state = _state("Sails dry by noon.")
    one, other = states.written(state, gzip=True)[0], states.written(state, gzip=True)[0]
    assert one == other and gzip.decompress(one) == states.written(state)[0]
    assert one[4:8] == bytes(4)


def test_how_much_smaller_a_file_is_is_measured() -> None:
    state = _state("Sails dry by noon.", "The ferry leaves at nine.")
    data, made = states.written(state, dialect="compiled")
    assert made.figures["aicf_bytes"] == len(data)
    assert made.figures["alf_bytes"] == sum(len(each.line) for each in state.records())
    ratio = len(data) / made.figures["alf_bytes"]
    assert abs(made.figures["compression_ratio"] - ratio) < 0.001
    assert made.figures["aicf_tokens"] < made.figures["alf_tokens"]


def test_nothing_is_cut_off_and_a_long_line_is_told() -> None:
    text = "long " * 40_000
    data, made = states.written(_state(text))
    assert text.encode() in data
    assert "field_too_long" in {notice.code for notice in made.notices}


def test_a_memory_without_words_is_told() -> None:
    _, made = states.written(_state("  \n", "Something."))
    assert {fate.code for fate in made.fates} == {"empty", "written"}
