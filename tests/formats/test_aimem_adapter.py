"""A folder of AIMEM bundles as a workspace."""

from __future__ import annotations

import json
import os

import pytest

from lifeboat_adapters.testing import SampleInstallation
from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_core.testing import RuntimeConformance
from lifeboat_core.testing.runtime_harness import Harness
from lifeboat_formats.aimem import bundle_workspace
from lifeboat_formats.aimem.adapter import ADAPTER, FOLDER
from lifeboat_formats.aimem.wire.bundle_reading import parse_bundle
from support.formats import aimem_bundles as bundles
from support.formats.aimem_states import open_bundle_bytes


def write(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2))


def sample():
    return bundles.bundle(
        chunks=[
            bundles.chunk("c1", "Prefers tea in the morning.", memory_type="preference"),
            bundles.chunk("c2", "The boat is moored at pier four."),
            bundles.chunk("c3", "Chose the blue paint — naïve 日本 😀", memory_type="decision", is_pinned=True),
        ],
        edges=[bundles.edge("c1", "c2", edge_type="causal")],
        entities=[bundles.entity("e1", "Pier four", kind="place")],
        chunk_entities=[bundles.link("c2", "e1")],
    )


def edited(document, place, **changes):
    """Return a chunk as its original writer would change it: with a new hash and checksum."""
    chunks = [dict(each) for each in document["chunks"]]
    chunks[place] |= changes
    if "content" in changes:
        chunks[place]["content_hash"] = bundles.content_hash(changes["content"])
    return bundles.sealed({**document, "chunks": chunks})


class TestAimem(RuntimeConformance):
    def adapter(self):
        return ADAPTER

    def make(self, folder):
        where = folder / "bundles"
        write(where / "memory.aimem.json", sample())
        lines = bundles.stream(bundles.bundle(chunks=[bundles.chunk("s1", "Streams are lines.")]))
        (where / "more.aimem.ndjson").write_bytes(lines)
        (where / "notes.txt").write_text("not a bundle\n")
        return SampleInstallation(workspace=where, user_home=folder, environment={FOLDER: str(where)})

    def remember(self, made, text):
        path = made.workspace / "memory.aimem.json"
        document = json.loads(path.read_text())
        added = bundles.chunk(f"n{len(document['chunks'])}", text)
        write(path, bundles.sealed({**document, "chunks": [*document["chunks"], added]}))


# One chunk at a time ------------------------------------------------------------------------------------------------


@pytest.fixture
def captured(tmp_path):
    path = tmp_path / "bundles" / "memory.aimem.json"
    write(path, sample())
    made = SampleInstallation(workspace=path.parent, user_home=tmp_path)
    return Harness.begin(ADAPTER, made, tmp_path / "home"), path


def records_of(harness):
    with harness.context.vault(harness.agent.id) as vault:
        return {record.id: json_codec.decode_json(record.line) for record in vault.state().records()}


def test_a_chunk_becomes_a_record_with_what_the_bundle_says_of_it(captured):
    harness, _ = captured
    by_content = {record["content"]: record for record in records_of(harness).values()}
    tea, boat, paint = (by_content[chunk["content"]] for chunk in sample()["chunks"])
    assert tea["memory_type"] == "preference" and tea["category"] == "aimem:preference"
    assert tea["x_aimem"]["id"] == bundles.urn("c1") and tea["x_aimem"]["zone"] == "standard"
    assert tea["temporal"]["observed_at"] == "2026-04-01T09:30:00Z"
    assert tea["related_records"][0]["id"] == boat["id"] and tea["related_records"][0]["relation"] == "caused"
    assert boat["entities"][0]["name"] == "Pier four" and boat["entities"][0]["type"] == "location"
    assert paint["x_aimem"]["is_pinned"] is True
    assert tea["id"] == ids.derive_id(1775035800000, f"aimem\0{bundles.urn('c1')}")


def test_an_edit_of_one_chunk_changes_just_its_record(captured):
    harness, path = captured
    before = records_of(harness)
    newer = "2026-09-01T00:00:00Z"
    write(path, edited(sample(), 1, content="The boat is moored at pier nine.", created_at=newer))
    assert harness.capture().sequence is not None
    after = records_of(harness)
    (changed,) = [one for one in after if one not in before or after[one] != before[one]]
    assert after[changed]["content"] == "The boat is moored at pier nine."
    assert after[changed]["x_aimem"]["created_at"] == newer
    last = {one: record for one, record in after.items() if record["content"] != sample()["chunks"][1]["content"]}
    assert {record["content"] for record in last.values()} >= {"Prefers tea in the morning."}
    if changed not in before:
        assert after[changed]["supersedes"] in before


def test_a_new_chunk_is_one_new_record(captured):
    harness, path = captured
    before = harness.memories()
    document = sample()
    added = bundles.chunk("c9", "Bought a lantern.")
    write(path, bundles.sealed({**document, "chunks": [*document["chunks"], added]}))
    harness.capture()
    after = harness.memories()
    assert set(after.values()) - set(before.values()) == {"Bought a lantern."} and before.items() <= after.items()


def test_a_chunk_that_goes_is_deleted_and_a_protected_one_archived(captured):
    harness, path = captured
    document = sample()
    kept = [document["chunks"][0]]
    write(path, bundles.sealed({**document, "chunks": kept, "edges": [], "chunk_entities": []}))
    harness.capture()
    ended = {}
    for record in records_of(harness).values():
        if record["status"] != "active":
            ended[record.get("supersedes", record["id"])] = record["status"]
    assert set(harness.memories().values()) == {"Prefers tea in the morning."}
    assert sorted(ended.values()) == ["archived", "deleted"]


def test_nothing_is_captured_twice(captured):
    harness, path = captured
    before = records_of(harness)
    write(path, edited(sample(), 0))
    harness.capture(full=True)
    assert records_of(harness) == before


def test_bytes_that_are_no_bundle_hold_no_memories():
    for text in (
        "",
        "[]",
        "{",
        "null",
        "{}",
        '{"chunks": 3}',
        '{"chunks": [[[[',
        "[" * 5000,
        '{"chunks":' + "[" * 5000,
    ):
        assert not [each for each in bundle_workspace.split_sections("raw/aimem/x.aimem.json", text) or [] if each.text]
    assert bundle_workspace.split_sections("raw/aimem/notes.txt", json.dumps(sample())) is None


def test_odd_records_are_passed_over_and_the_others_count():
    odd = [{}, {"id": 3}, None, 7, bundles.chunk("x", ""), bundles.chunk("y", "a", created_at="yesterday")]
    odd += [bundles.chunk("z", "a", memory_type="opinion"), bundles.chunk("w", "a", tags=[1])]
    document = {**sample(), "embedding_dim": True, "producer": 3, "exported_at": None}
    document["chunks"] = [*odd, *document["chunks"], document["chunks"][0]]
    document["edges"] = [
        *document["edges"],
        {},
        None,
        bundles.edge("c1", "nowhere"),
        {"source_id": [], "target_id": {}},
    ]
    document["entities"] += [{"id": 1}, None]
    document["chunk_entities"] += [{"chunk_id": []}, 5]
    text = json.dumps(document)
    sections = bundle_workspace.split_sections("raw/aimem/x.aimem.json", text)
    assert "".join(section.content for section in sections) == text
    assert [section.text for section in sections if section.text] == [each["content"] for each in sample()["chunks"]]


# Written again ------------------------------------------------------------------------------------------------------


def as_state(document, path="raw/aimem/memory.aimem.json"):
    """Return the state that a capture of the document makes."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    state = MemoryState()
    listed = []
    for section in bundle_workspace.split_sections(path, text):
        if section.text:
            fields = {**section.fields, "temporal": {**section.fields["temporal"], "created_at": sample_states.TIME}}
            record = sample_states.make_record(section.text, **{**fields, "id": section.record_id})
            listed.append(state.add(record).id)
    state.put(path, text.encode(), records=listed)
    return state, text, listed


def updated(state, record_id, **fields):
    record = {**json_codec.decode_json(state.record(record_id).line), **fields}
    record["temporal"] = {**record["temporal"], "updated_at": "2026-11-21T00:00:00.000Z"}
    state.update(record)


def test_a_bundle_whose_memories_did_not_change_is_not_written_again():
    state, _, _ = as_state(sample())
    assert list(bundle_workspace.render_bundles(state)) == []


def test_an_edit_elsewhere_is_written_into_its_chunk_and_nothing_else_moves():
    state, text, listed = as_state(sample())
    updated(state, listed[1], content="The boat is moored at pier nine.")
    (made,) = bundle_workspace.render_bundles(state)
    assert (made.path, made.basis) == ("raw/aimem/memory.aimem.json", "merged")
    bundle = parse_bundle(made.data)
    chunk = bundle.chunks[1]
    assert chunk["content"] == "The boat is moored at pier nine." and chunk["created_at"] == "2026-11-21T00:00:00.000Z"
    assert chunk["id"] == bundles.urn("c2")
    assert [bundle.chunks[0], bundle.chunks[2]] == [sample()["chunks"][0], sample()["chunks"][2]]
    before, after = text, made.data.decode()
    start = before.index(bundles.urn("c2"))
    assert after.startswith(before[: before.rindex("{", 0, start)])
    rest = before[before.index(bundles.urn("c3")) : before.index('"checksum"')]
    assert rest in after


def test_a_memory_that_went_elsewhere_leaves_its_bundle_with_its_edges():
    for place in range(3):
        state, _, listed = as_state(sample())
        updated(state, listed[place], status="deleted")
        (made,) = bundle_workspace.render_bundles(state)
        bundle = parse_bundle(made.data)
        left = [chunk["id"] for number, chunk in enumerate(sample()["chunks"]) if number != place]
        assert [chunk["id"] for chunk in bundle.chunks] == left
        assert len(bundle.edges) == (1 if place == 2 else 0)
        assert len(bundle.chunk_entities) == (0 if place == 1 else 1)


def test_all_memories_may_go():
    state, _, listed = as_state(sample())
    for record_id in listed:
        updated(state, record_id, status="deleted")
    (made,) = bundle_workspace.render_bundles(state)
    assert len(parse_bundle(made.data).chunks) == 0


def test_a_memory_from_elsewhere_comes_into_a_bundle_of_its_own():
    state, _, _ = as_state(sample())
    new = state.add(sample_states.make_record("Learned to splice rope."))
    (made,) = bundle_workspace.render_bundles(state)
    assert (made.path, made.basis) == ("raw/aimem/memory-2.aimem.json", "structured")
    (chunk,) = parse_bundle(made.data).chunks
    assert chunk["content"] == "Learned to splice rope." and chunk["id"].endswith(new.id)
    (section,) = [each for each in bundle_workspace.split_sections(made.path, made.data.decode()) if each.text]
    assert section.heading[-1] == ADAPTER.label(new.id) and section.record_id == new.id


def test_a_stream_is_written_again_line_by_line():
    state = MemoryState()
    lines = bundles.stream(sample()).decode()
    path = "raw/aimem/x.aimem.ndjson"
    ids = []
    for section in bundle_workspace.split_sections(path, lines):
        if section.text:
            fields = {**section.fields, "temporal": {**section.fields["temporal"], "created_at": sample_states.TIME}}
            ids.append(state.add(sample_states.make_record(section.text, **{**fields, "id": section.record_id})).id)
    state.put(path, lines.encode(), records=ids)
    updated(state, ids[0], content="Prefers coffee now.")
    updated(state, ids[1], status="deleted")
    (made,) = bundle_workspace.render_bundles(state)
    with open_bundle_bytes(made.data) as bundle:
        assert [chunk["content"] for chunk in bundle.chunks] == [
            "Prefers coffee now.",
            sample()["chunks"][2]["content"],
        ]
        assert len(bundle.edges) == 0 and len(bundle.chunk_entities) == 0


def test_a_long_memory_in_parts_is_one_section_and_one_record():
    long = "A paragraph of a very long memory.\n\n" * 4000
    joined = bundle_workspace.join_memories("raw/aimem/x.aimem.json", [("019d4860-d9c0-7616-9716-0d8801123e99", long)])
    assert len(parse_bundle(joined.encode()).chunks) == 3
    (section,) = [each for each in bundle_workspace.split_sections("raw/aimem/x.aimem.json", joined) if each.text]
    assert section.text == long and section.record_id == "019d4860-d9c0-7616-9716-0d8801123e99"


def test_a_pin_is_a_change_of_its_memory_though_the_text_stays(captured):
    harness, path = captured
    write(path, edited(sample(), 1, is_pinned=True))
    outcome = harness.capture()
    assert outcome.changed
    found = {record["content"]: record for record in records_of(harness).values()}
    assert found["The boat is moored at pier four."]["x_aimem"]["is_pinned"] is True
    assert not harness.capture().changed


def test_a_bundle_that_is_half_there_is_no_deletion(captured):
    harness, path = captured
    before = records_of(harness)
    whole, times = path.read_bytes(), path.stat()
    path.write_bytes(whole[: len(whole) // 2])
    harness.capture()
    assert records_of(harness) == before
    path.write_bytes(whole)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not harness.capture().changed
    assert records_of(harness) == before


def fates_of(state):
    return {(fate.kind, fate.name): fate.outcome.value for fate in ADAPTER.cannot_hold(None, state)}


def test_what_of_an_agent_stands_in_no_bundle_is_told():
    state = MemoryState()
    state.put(
        "identity.json", json_codec.encode_json({"structured": {"names": {"primary": "Ada"}, "psychology": {"a": 1}}})
    )
    state.put("principals.json", json_codec.encode_json({"principals": [{"id": "p1"}, {"id": "p2"}, "odd"]}))
    state.put("credentials.json", json_codec.encode_json({"credentials": [{"id": "c1"}]}))
    assert fates_of(state) == {
        ("setting", "identity: structured fields"): "omitted",
        ("principal", "p1"): "omitted",
        ("principal", "p2"): "omitted",
        ("credential", "c1"): "omitted",
    }


def test_a_folder_of_bundles_loses_nothing_of_itself():
    state = MemoryState()
    state.put("identity.json", json_codec.encode_json({"structured": {"names": {"primary": "Ada"}}, "prose": {}}))
    state.put("raw/aimem/one.aimem.json", b"{}")
    assert fates_of(state) == {}
