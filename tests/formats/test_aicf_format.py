from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_alf.testing.sample_states import make_record
from lifeboat_formats.aicf import FORMAT
from lifeboat_formats.aicf.aicf_format import LARGEST
from lifeboat_formats.interchange import format_registry
from lifeboat_formats.interchange.errors import SourceRefused
from support.formats import aicf_files
from support.formats import aicf_states as states


def test_a_file_is_recognised_by_its_name(tmp_path: Path) -> None:
    for name in ("a.aicf", "A.AICF", "a.aicf.gz"):
        (tmp_path / name).write_bytes(aicf_files.FILES["D1-specified"])
        assert format_registry.detect_format(str(tmp_path / name)).name == "aicf"
    assert not FORMAT.recognises("https://example.com/a.aicf", b"")
    assert not FORMAT.recognises("a.txt", b"@INSIGHTS\n")


@pytest.mark.parametrize("name", sorted(aicf_files.FILES))
def test_every_object_of_a_source_has_one_fate(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.aicf"
    path.write_bytes(aicf_files.FILES[name])
    reading = states.read(path)
    records = list(reading.records)
    assert [fate.name for fate in reading.fates if fate.kind == "memory"] == [each["id"] for each in records]
    assert len({(fate.kind, fate.name) for fate in reading.fates}) == len(reading.fates)
    assert reading.entries["raw/aicf/a.aicf"] == aicf_files.FILES[name]
    assert not any("{primary}" in each["namespace"] for each in records)


def test_what_does_not_resolve_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.aicf"
    path.write_bytes(aicf_files.FILES["D1-specified"])
    found = {fate.code: fate.outcome for fate in states.read(path).fates if fate.code}
    assert found == {"link_unresolved": ItemOutcome.UNRESOLVED, "temp_state": ItemOutcome.TRANSFORMED}


def test_a_compressed_file_reads_as_what_is_in_it(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.aicf", tmp_path / "b" / "a.aicf.gz"
    packed.parent.mkdir()
    plain.write_bytes(aicf_files.FILES["D4-compiled"])
    packed.write_bytes(aicf_files.packed(aicf_files.FILES["D4-compiled"]))
    one, other = states.read(plain), states.read(packed)
    assert list(one.records) == list(other.records) and one.entries == other.entries
    assert one.agent_name == other.agent_name == "a"


@pytest.mark.parametrize(("data", "code"), [(b"\xff\xfe", "utf8_invalid"), (b"\x1f\x8b\x08\x00broken", "gzip_invalid")])
def test_what_is_no_text_is_refused_and_checked(tmp_path: Path, data: bytes, code: str) -> None:
    path = tmp_path / "a.aicf"
    path.write_bytes(data)
    with pytest.raises(SourceRefused) as refused:
        states.read(path)
    assert refused.value.format_code == code
    assert [(each.code, each.is_error) for each in FORMAT.check(str(path), strict=False)] == [(code, True)]


def test_a_source_of_any_size_takes_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.aicf"
    with path.open("wb") as stream:
        stream.truncate(LARGEST + 1)
    with pytest.raises(SourceRefused) as refused:
        states.read(path)
    assert refused.value.format_code == "file_too_big"


def test_what_is_wrong_with_a_file_is_told_once_each(tmp_path: Path) -> None:
    path = tmp_path / "a.aicf"
    path.write_bytes(b"1|@INSIGHTS\n2|@INSIGHTS a\\x|b|c|d\n3|@INSIGHTS b\\y|b|c|d\n")
    codes = [notice.code for notice in states.read(path).notices]
    assert "escape_unknown" in codes and len(codes) == len(set(codes))


def test_losses_are_what_writing_would_say(tmp_path: Path) -> None:
    state = states.state_in(tmp_path, "a.aicf", aicf_files.FILES["D1-specified"])
    state.add(make_record("Sails dry by noon."))
    for dialect in ("same", "v3.1", "compiled"):
        options = {**states.OPTIONS, "dialect": dialect}
        assert FORMAT.losses(state, options) == states.written(state, dialect=dialect)[1].fates


def test_a_file_as_it_came_loses_nothing(tmp_path: Path) -> None:
    state = states.state_in(tmp_path, "a.aicf", aicf_files.FILES["D1-specified"])
    assert {fate.outcome for fate in FORMAT.losses(state, states.OPTIONS)} == {ItemOutcome.ACCEPTED}


def test_there_are_tables_and_options_with_short_helps() -> None:
    assert [table.title for table in FORMAT.mappings()]
    assert all(len(option.help) <= 62 for option in FORMAT.options)


def test_a_file_that_says_no_time_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "a.aicf"
    path.write_text("@INSIGHTS:\n@INSIGHTS tea is green|GENERAL|LOW|LOW\n")
    reading = states.read(path)
    assert [each["temporal"]["created_at"][:4] for each in reading.records] == ["1970"]
    assert [notice.text for notice in reading.notices if notice.code == "time_unknown"] == [
        "1 of the memories in the file have no time; their date is set to 1970"
    ]
    path.write_bytes(aicf_files.FILES["D1-specified"])
    assert "time_unknown" not in [notice.code for notice in states.read(path).notices]


def test_a_compressed_file_that_ends_too_early_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.aicf.gz"
    path.write_bytes(aicf_files.packed(aicf_files.FILES["D1-specified"])[:-9])
    with pytest.raises(SourceRefused, match=r"a\.aicf\.gz"):
        states.read(path)
