from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifeboat_alf.testing.sample_states import AGENT_ID, MemoryState, make_embedding, make_record
from lifeboat_core.exchange import conversion_options
from lifeboat_formats.aicf.output import file_patching, file_writing
from lifeboat_formats.aicf.output.workspace_rendering import render_workspace
from lifeboat_formats.aicf.records import file_memories
from lifeboat_formats.aimem import FORMAT as AIMEM
from lifeboat_formats.interchange.contract import ConversionContext, WriterIdentity
from support import reference
from support.formats import aicf_files
from support.formats import aicf_states as states

NAMES = sorted(aicf_files.FILES)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
ODD = st.text(st.sampled_from(list('ab |\\\n\r@=":;#_1né\u2028\x85\t')), min_size=1, max_size=40)


def _file(name: str) -> str:
    return f"{name}.json" if "json" in name else f"{name}.aicf"


# AICF -> ALF -> AICF -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_file_comes_back_byte_for_byte(tmp_path: Path, name: str) -> None:
    data = aicf_files.FILES[name]
    assert states.written(states.state_in(tmp_path, _file(name), data))[0] == data


@pytest.mark.parametrize("name", [name for name in NAMES if "temp" not in aicf_files.FILES[name].decode().lower()])
def test_a_file_comes_back_from_what_its_memories_kept_of_it(tmp_path: Path, name: str) -> None:
    data = aicf_files.FILES[name]
    state = states.state_in(tmp_path, _file(name), data, with_raw=False)
    assert states.written(state)[0] == data


def test_what_is_for_one_turn_only_does_not_travel_with_memories(tmp_path: Path) -> None:
    data = aicf_files.FILES["D1-specified"]
    assert b"temp:" in data
    back, _ = states.written(states.state_in(tmp_path, "a.aicf", data, with_raw=False))
    assert b"temp:" not in back
    lines = back.decode().splitlines()
    assert [line.partition("|")[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]


@pytest.mark.parametrize("name", NAMES)
def test_a_read_file_is_its_pieces(name: str) -> None:
    found = file_memories.read_memories(aicf_files.FILES[name], "x.aicf")
    assert "".join(found.document.text[each.start : each.end] for each in found.pieces) == found.document.text


# One memory changed --------------------------------------------------------------------------------------------------


def _unnumbered(text: str) -> list[str]:
    return [re.sub(r"^\d+\|", "", line) for line in text.splitlines(keepends=True)]


def _around(before: str, after: str, start: int, end: int) -> None:
    """Check that the text before and after a span is unchanged, apart from line numbers."""
    new = "".join(_unnumbered(after))
    assert new.startswith("".join(_unnumbered(before[:start])))
    assert new.endswith("".join(_unnumbered(before[end:])))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("new", ["{} and more", "said anew"])
def test_an_edit_changes_its_own_span_and_reads_as_it_was_meant(name: str, new: str) -> None:
    found = file_memories.read_memories(aicf_files.FILES[name], "x.aicf")
    for place, old in found.records.items():
        text = new.format(old["content"])
        patch = file_patching.patch_file(found, {place: {**old, "content": text}})
        piece = found.pieces[place]
        _around(found.document.text, patch.text.removeprefix("\ufeff"), piece.start, piece.end)
        again = states.contents(each for _, each in file_memories.read_memories(patch.text, "x.aicf").memories())
        expected = [text if at == place else each["content"] for at, each in found.records.items()]
        if patch.left:
            assert [each["content"] for each in patch.left] == [text]
            expected.remove(text)
        assert again == expected


@pytest.mark.parametrize("name", NAMES)
def test_a_memory_that_is_gone_goes_alone(name: str) -> None:
    found = file_memories.read_memories(aicf_files.FILES[name], "x.aicf")
    for place in found.records:
        patch = file_patching.patch_file(found, {place: None})
        assert states.contents(each for _, each in file_memories.read_memories(patch.text, "x.aicf").memories()) == [
            each["content"] for at, each in found.records.items() if at != place
        ]


def test_nearly_every_form_takes_a_longer_text_in_place() -> None:
    left = set()
    for name in NAMES:
        found = file_memories.read_memories(aicf_files.FILES[name], "x.aicf")
        for place, old in found.records.items():
            if file_patching.patch_file(found, {place: {**old, "content": old["content"] + " more"}}).left:
                left.add(name)
    assert left <= {"D6-escaped-blocks", "D7-index"}


def test_what_stands_beside_the_words_changes_with_them() -> None:
    found = file_memories.read_memories(aicf_files.FILES["D1-specified"], "x.aicf")
    place, old = next((place, each) for place, each in found.records.items() if each["category"] == "aicf:insight")
    new = {**old, "confidence": 0.2, "tags": ["category:DATA", "priority:LOW"], "memory_type": "procedural"}
    patch = file_patching.patch_file(found, {place: new})
    assert f"@INSIGHTS {old['content']}|DATA|LOW|LOW|memory_type=procedural" in patch.text


def test_what_was_not_touched_keeps_its_literal() -> None:
    found = file_memories.read_memories("@INSIGHTS\n@INSIGHTS sea|GENERAL|HIGH|0.87\n", "x.aicf")
    ((place, old),) = found.records.items()
    assert old["confidence"] == 0.87
    assert "|0.87\n" in file_patching.patch_file(found, {place: {**old, "content": "sea and sky"}}).text


# ALF -> AICF -> ALF --------------------------------------------------------------------------------------------------


def _through(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    text = file_writing.number_lines(file_writing.compose_file(records, {}).lines)
    return {each["id"]: each for _, each in file_memories.read_memories(text, "other.aicf").memories()}


@QUICK
@given(
    st.lists(
        st.fixed_dictionaries(
            {"content": ODD.filter(str.strip)},
            optional={
                "memory_type": st.sampled_from(["semantic", "episodic", "procedural", "preference", "summary"]),
                "tags": st.lists(ODD, max_size=3, unique=True),
                "confidence": st.floats(0, 1),
                "category": ODD,
                "namespace": st.sampled_from(["default", "principal_context:ada", "work"]),
                "x_other": st.dictionaries(ODD, ODD, max_size=2),
            },
        ),
        min_size=1,
        max_size=6,
    )
)
def test_memories_of_any_other_origin_come_back_as_they_were(fields: list[dict[str, Any]]) -> None:
    records = [make_record(**each) for each in fields]
    assert _through(records) == {each["id"]: states.without_agent(each) for each in records}


@QUICK
@given(ODD.filter(str.strip), ODD.filter(str.strip))
def test_preferences_come_back_as_they_were(label: str, value: str) -> None:
    one = make_record(f"{label}: {value}", memory_type="preference", namespace="principal_context:ada")
    assert _through([one]) == {one["id"]: states.without_agent(one)}


@pytest.mark.parametrize("name", NAMES)
def test_memories_of_a_file_come_back_from_another_dialect(name: str) -> None:
    records = [each for _, each in file_memories.read_memories(aicf_files.FILES[name], _file(name)).memories()]
    back = _through([{**each, "agent_id": AGENT_ID} for each in records])
    ours = ("x_aicf", "raw_source_format")
    assert {key: {n: v for n, v in each.items() if n not in ours} for key, each in back.items()} == {
        each["id"]: {n: v for n, v in each.items() if n not in ours} for each in records
    }


def test_links_and_vectors_stand_in_their_own_sections() -> None:
    one, other = make_record("Wind turns north."), make_record("Reef early.", embeddings=[make_embedding([0.5, 1.0])])
    one["related_records"] = [{"id": other["id"], "relation": "caused"}]
    lines = file_writing.compose_file([one, other], {}).lines
    assert "@LINKS insight_001->insight_002|causal_relationship" in lines
    assert {"@EMBEDDING:insight_002", "dimension=2", "vector=0.5,1.0"} <= set(lines)
    assert _through([one, other])[other["id"]]["embeddings"] == other["embeddings"]


def test_long_fields_are_parted_and_joined_again() -> None:
    one = make_record("Short.", x_other={"long": "é|\\" * 60_000})
    lines = file_writing.compose_file([one], {}).lines
    assert max(len(line.encode()) for line in lines) < 64 * 1024
    assert _through([one])[one["id"]] == states.without_agent(one)


@QUICK
@given(st.lists(ODD, max_size=8), st.randoms(use_true_random=False))
def test_anything_that_is_read_comes_back_and_can_be_changed(texts: list[str], chance: Any) -> None:
    heads = ["@INSIGHTS", "@STATE:user", "@CONVERSATION:a", "@X", "@DECISIONS", "@STATE", "@MEMORY:", ""]
    text = "\n".join(f"{chance.choice(heads)}\n{each}" for each in texts)
    found = file_memories.read_memories(text, "x.aicf")
    assert file_patching.patch_file(found, {}).text == text
    for place, old in list(found.records.items())[:3]:
        patch = file_patching.patch_file(found, {place: {**old, "content": old["content"] + "|x\\"}})
        again = states.contents(each for _, each in file_memories.read_memories(patch.text, "x.aicf").memories())
        others = [each["content"] for at, each in found.records.items() if at != place]
        assert len(again) == len(others) + (not patch.left)
        assert [each for each in again if each in others] or not others


def test_the_comments_of_a_file_whose_last_memory_goes_stay_and_become_no_memory() -> None:
    found = file_memories.read_memories("\n# Log of the harbour\n@CONVERSATION:a\n1", "x.aicf")
    assert states.contents(each for _, each in found.memories()) == ["1"]
    left = file_patching.patch_file(found, dict.fromkeys(found.records)).text
    assert left == "\n# Log of the harbour\n"
    assert not list(file_memories.read_memories(left, "x.aicf").memories())


# A state with both ---------------------------------------------------------------------------------------------------


def test_memories_of_others_stand_behind_those_of_the_file(tmp_path: Path) -> None:
    data = aicf_files.FILES["D1-specified"]
    state = states.state_in(tmp_path, "a.aicf", data)
    state.add(make_record("The harbour opens at seven.", tags=["time"]))
    back, made = states.written(state)
    assert back.startswith(data)
    lines = back.decode().splitlines()
    assert [line.partition("|")[0] for line in lines] == [str(number) for number in range(1, len(lines) + 1)]
    again = states.state_in(tmp_path, "b.aicf", back)
    new = next(each for each in states.records_of(again) if each["content"] == "The harbour opens at seven.")
    assert new["tags"] == ["time"] and not any(fate.outcome == "omitted" for fate in made.fates)


def test_a_rendered_folder_is_what_was_captured_but_for_the_edit(tmp_path: Path) -> None:
    data = aicf_files.FILES["D4-compiled"]
    state = states.state_in(tmp_path, "a.aicf", data)
    assert list(render_workspace(state)) == []
    old = next(each for each in states.records_of(state) if "|" in each["content"])
    state.update({**old, "content": "In the bow | above the sails"})
    (made,) = render_workspace(state)
    assert made.path == "raw/aicf/a.aicf"
    assert made.data == data.replace(b"In the forepeak \\| under the sails", b"In the bow \\| above the sails")


def test_a_rendered_folder_holds_memories_of_other_runtimes_in_a_file_of_their_own(tmp_path: Path) -> None:
    state = states.state_in(tmp_path, "a.aicf", aicf_files.FILES["D1-specified"])
    other = make_record("Sails dry by noon.", tags=["sail"])
    state.add(other)
    (made,) = render_workspace(state)
    assert made.path == "raw/aicf/memory.aicf"
    ((_, back),) = file_memories.read_memories(made.data, "memory.aicf").memories()
    assert back == states.without_agent(other)


# Through another format ----------------------------------------------------------------------------------------------


def _through_bundle(folder: Path, state: MemoryState) -> MemoryState:
    around = ConversionContext(states.NOW, WriterIdentity("alf-test"))
    path = folder / "between.aimem.json"
    with path.open("wb") as stream:
        AIMEM.write(state, stream, conversion_options.choose_writing_options(AIMEM, {}, path.name), around)
    with AIMEM.read(str(path), conversion_options.choose_reading_options(AIMEM, {}), around) as reading:
        return states.state_of(reading, with_raw=False)


@pytest.mark.parametrize("name", [name for name in NAMES if b"temp:" not in aicf_files.FILES[name]])
def test_a_file_comes_back_from_a_bundle_of_another_system(tmp_path: Path, name: str) -> None:
    data = aicf_files.FILES[name]
    state = _through_bundle(tmp_path, states.state_in(tmp_path, _file(name), data))
    assert states.written(state)[0] == data


def test_the_example_of_the_specification_comes_back_from_a_bundle(tmp_path: Path) -> None:
    text = reference.require("specs/aicf-3.1.md").read_text()
    blocks = re.findall(r"^```\n(1\|@AICF_VERSION\n.*?)^```", text, re.MULTILINE | re.DOTALL)
    data = max(blocks, key=len).encode()
    assert b"@CONSOLIDATION" in data
    state = states.state_in(tmp_path, "example.aicf", data)
    assert states.written(state)[0] == data
    assert states.written(_through_bundle(tmp_path, state))[0] == data
