"""Hostile and odd files in a folder of bundles that is an agent's workspace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_formats.aimem import bundle_workspace
from lifeboat_formats.aimem.wire.bundle_reading import parse_bundle
from support.formats import aimem_bundles as made
from support.formats.aimem_states import exported, records_of, taken

# A folder of bundles, in which anybody may put a file -----------------------------------------------------------------


def _chunk_of(**changes: Any) -> JsonObject:
    return {**made.chunk("odd", "Odd."), **changes}


def _nested(levels: int) -> Any:
    return json.loads("[" * levels + "]" * levels)


_HALF = "half \ud800"
ODD_FILES: dict[str, tuple[JsonObject, set[str]]] = {
    "half a character in a content": ({"chunks": [made.chunk("a"), _chunk_of(content=_HALF)]}, {"a"}),
    "half a character in a tag": ({"chunks": [made.chunk("a"), _chunk_of(tags=[_HALF])]}, {"a"}),
    "half a character elsewhere": ({"chunks": [made.chunk("a"), _chunk_of(x_u={_HALF: 1})]}, {"a"}),
    "a number without end": ({"chunks": [made.chunk("a"), _chunk_of(x_u=10**40)]}, {"a"}),
    "no number": ({"chunks": [made.chunk("a"), _chunk_of(x_u=float("nan"))]}, {"a"}),
    "nesting": ({"chunks": [made.chunk("a"), _chunk_of(x_u=_nested(300))]}, {"a"}),
    "nesting in our own words": ({"chunks": [made.chunk("a"), _chunk_of(x_alf={"ext": {"x": _nested(900)}})]}, {"a"}),
    "half a tenant": ({"chunks": [made.chunk("a")], "tenant_id": _HALF}, {"a"}),
    "half a producer": ({"chunks": [made.chunk("a")], "producer": _HALF}, {"a"}),
    "half a type of an edge": (
        {"chunks": [made.chunk("a"), made.chunk("b", "B.")], "edges": [made.edge("a", "b", edge_type=f"x-{_HALF}")]},
        {"a", "b"},
    ),
    "half an entity": (
        {"chunks": [made.chunk("a")], "entities": [made.entity("e", _HALF)], "chunk_entities": [made.link("a", "e")]},
        {"a"},
    ),
    "half a model": (
        {"chunks": [made.chunk("a", embedding=made.packed(1.0))], "embedding_dim": 1, "embedding_model": _HALF},
        {"a"},
    ),
    "an entity that is too large": (
        {
            "chunks": [made.chunk(f"c{number}", f"Number {number}.") for number in range(500)],
            "entities": [made.entity("e", "N" * 200_000)],
            "chunk_entities": [made.link(f"c{number}", "e") for number in range(500)],
        },
        {f"c{number}" for number in range(500)},
    ),
}


@pytest.mark.parametrize("what", ODD_FILES)
def test_a_file_that_nobody_can_write_again_gives_the_memories_that_are_right(what: str) -> None:
    changes, wanted = ODD_FILES[what]
    text = json.dumps({**made.bundle(), **changes})
    sections = bundle_workspace.split_sections("raw/aimem/odd.aimem.json", text)
    assert sections is not None and "".join(section.content for section in sections) == text
    found = [section for section in sections if section.memory]
    for section in found:
        line = json_codec.encode_json({**section.fields, "content": section.memory})
        assert json_codec.decode_json(line)["content"] == section.memory
    assert {section.heading[0] for section in found} == {made.urn(name) for name in wanted}


def _captured(document: JsonObject) -> tuple[MemoryState, list[str]]:
    """Return the state after a capture of a folder with this file alone, and its records in order."""
    path, text, state, listed = "raw/aimem/odd.aimem.json", json.dumps(document), MemoryState(), []
    for section in bundle_workspace.split_sections(path, text) or ():
        if section.memory:
            temporal = {**section.fields["temporal"], "created_at": sample_states.TIME}
            record = {**sample_states.make_record(section.memory), **section.fields, "temporal": temporal}
            listed.append(state.add({**record, "id": section.record_id}).id)
    state.put(path, text.encode(), records=listed)
    return state, listed


@pytest.mark.parametrize(
    "odd",
    [_chunk_of(x_u=_HALF), _chunk_of(x_u=10**40), {"id": made.urn("a")}, {"id": []}, made.chunk("a", "A double."), 7],
    ids=["half", "endless", "one of its name", "no name", "twice", "none"],
)
def test_a_memory_in_an_odd_file_can_still_be_edited_and_forgotten(odd: Any) -> None:
    for changed in ({"content": "Edited elsewhere."}, {"status": "deleted"}):
        state, listed = _captured({**made.bundle(), "chunks": [odd, made.chunk("a", "As it was."), made.chunk("b")]})
        record = records_of(state)[listed[0]]
        state.update({**record, **changed})
        (written_again,) = bundle_workspace.render_bundles(state)
        text = written_again.data.decode()
        sections = [
            each.memory
            for each in bundle_workspace.split_sections("raw/aimem/odd.aimem.json", text) or ()
            if each.memory
        ]
        assert ("Edited elsewhere." in sections) == ("content" in changed)
        assert record["content"] not in sections and len(sections) == (2 if "content" in changed else 1)


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("now", ["Short now.", "Another story.\n\n" * 8000, "No.\n\n" * 60_000, ""], ids=len)
def test_a_long_memory_in_a_file_can_be_edited_and_forgotten(now: str, pure: bool) -> None:
    before = MemoryState()
    before.add(sample_states.make_record("A long story.\n\n" * 9000))
    before.add(sample_states.make_record("Beside it."))
    state, listed = _captured(json.loads(exported(before, pure=pure)[0]))
    assert len(listed) == 2
    (long,) = [record for record in records_of(state).values() if record["content"] != "Beside it."]
    state.update({**long, **({"content": now} if now else {"status": "deleted"})})
    (again,) = bundle_workspace.render_bundles(state)
    bundle = parse_bundle(again.data)
    assert {record["content"] for record in records_of(taken(again.data)).values()} == {"Beside it.", now} - {""}
    sections = bundle_workspace.split_sections("raw/aimem/odd.aimem.json", again.data.decode()) or ()
    assert {section.memory for section in sections if section.memory} == {"Beside it.", now} - {""}
    assert all(len(chunk["content"]) <= 65_536 for chunk in bundle.chunks) or len(now) > 2 * 65_536
