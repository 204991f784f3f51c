"""Memories as chunks of a bundle, and chunks as memories."""

from __future__ import annotations

import pytest

from lifeboat_alf.memory import memory_records
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_formats.aimem import aimem_mapping
from lifeboat_formats.aimem.aimem_format import FORMAT
from lifeboat_formats.aimem.wire import urn
from lifeboat_formats.aimem.wire.bundle_model import EDGE_TYPES, ENTITY_KINDS, MEMORY_TYPES
from lifeboat_formats.interchange import change_marks
from support.formats import aimem_bundles as bundles
from support.formats.aimem_states import OURS, bundle_of, exported, only, planned, records_of, taken


def chunk_of(**fields):
    state = MemoryState()
    state.add(sample_states.make_record(**fields))
    (chunk,) = bundle_of(state).chunks
    return chunk


def record_of(**changes):
    return only(taken(bundles.with_chunk(**changes)))


@pytest.mark.parametrize("name", MEMORY_TYPES)
def test_every_type_comes_back(name):
    record = record_of(memory_type=name)
    assert record["category"] == f"aimem:{name}" and record["memory_type"] == aimem_mapping.TYPES[name].ours
    assert aimem_mapping.type_of(record) == name
    assert aimem_mapping.type_of({**record, "x_aimem": None}) == name


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"memory_type": "semantic"}, "fact"),
        ({"memory_type": "semantic", "category": "aicf:decision"}, "decision"),
        ({"memory_type": "semantic", "tags": ["pitfall"]}, "pitfall"),
        ({"memory_type": "procedural"}, "procedure"),
        ({"memory_type": "procedural", "category": "bad_pattern"}, "pitfall"),
        ({"memory_type": "preference"}, "preference"),
        ({"memory_type": "something else"}, "fact"),
        ({"memory_type": "semantic", "x_aimem": {"memory_type": "no such type"}}, "fact"),
    ],
)
def test_types_of_ours(fields, wanted):
    assert chunk_of(**fields)["memory_type"] == wanted


def test_a_summary_is_an_episode_with_a_tag_and_comes_back_without_it():
    chunk = chunk_of(memory_type="summary", tags=["Week"])
    assert chunk["memory_type"] == "episodic" and chunk["tags"] == ["alf-type:summary", "week"]
    plain = {name: value for name, value in chunk.items() if name != "x_alf"}
    record = only(taken(bundles.bundle(producer=OURS, chunks=[plain])))
    assert record["memory_type"] == "summary" and record["tags"] == ["week"]


def test_a_type_that_was_edited_wins_over_what_the_bundle_said():
    state = taken(bundles.with_chunk(memory_type="goal"))
    record = only(state)
    state.update({**record, "memory_type": "preference"})
    (chunk,) = bundle_of(state).chunks
    assert chunk["memory_type"] == "preference"


@pytest.mark.parametrize("relation", ["related_to", "caused", "temporal", "hebbian", "derived_from", "contradicts",
                                      "elaborates_on", "supersedes", "foo", "semantic", "causal", "caused_by",
                                      "x-foo", "has a blank", "ünïcode", "", "a" * 300, "-"])  # fmt: skip
def test_every_relation_comes_back(relation):
    state = MemoryState()
    other = state.add(sample_states.make_record("One."))
    mine = state.add(
        sample_states.make_record("Two.", related_records=[{"id": other.id, "relation": relation, "note": [1]}])
    )
    bundle = bundle_of(state)
    (edge,) = bundle.edges
    assert edge["weight"] == 1.0 and edge["created_at"] == sample_states.TIME
    found = records_of(taken(exported(state)[0]))
    (related,) = found[mine.id]["related_records"]
    assert {"id": related["id"], "relation": related["relation"], "note": related["note"]} == {
        "id": other.id,
        "relation": relation,
        "note": [1],
    }


def test_what_was_caused_by_another_is_an_edge_the_other_way_round():
    state = MemoryState()
    cause = state.add(sample_states.make_record("It rained."))
    effect = state.add(
        sample_states.make_record("It is wet.", related_records=[{"id": cause.id, "relation": "caused_by"}])
    )
    (edge,) = bundle_of(state).edges
    assert edge["edge_type"] == "causal" and edge["source_id"].endswith(cause.id)
    assert edge["target_id"].endswith(effect.id)


@pytest.mark.parametrize("edge_type", [*EDGE_TYPES, "x-supersedes", "x-part-of", "x-related_to", "x-caused_by", "x-é"])
def test_every_edge_comes_back(edge_type):
    edge = bundles.edge("c1", "c2", edge_type=edge_type, weight=0.125, created_at="2026-04-15T08:00:00.123456789Z")
    document = bundles.bundle(chunks=[bundles.chunk("c1"), bundles.chunk("c2", "Two.")], edges=[edge])
    (found,) = bundle_of(taken(document), preserve_ids=True).edges
    assert {name: found[name] for name in edge} == edge


@pytest.mark.parametrize("kind", [*ENTITY_KINDS, "x-project", "x-service", "x-boat", "x-é"])
def test_every_entity_comes_back(kind):
    entity = bundles.entity("e1", "Anna-Lena", kind=kind, created_at="2026-04-15T08:00:00.5Z")
    document = bundles.bundle(
        chunks=[bundles.chunk("c1")], entities=[entity], chunk_entities=[bundles.link("c1", "e1")]
    )
    bundle = bundle_of(taken(document), preserve_ids=True)
    assert list(bundle.entities) == [entity] and list(bundle.chunk_entities) == [bundles.link("c1", "e1")]


@pytest.mark.parametrize(
    "entity_type", ["person", "organization", "location", "tool", "other", "project", "service", "x"]
)
def test_every_type_of_an_entity_comes_back_with_its_role(entity_type):
    state = MemoryState()
    entity = {"name": "Anna-Lena", "type": entity_type, "role": "owner", "since": 2020}
    state.add(sample_states.make_record(entities=[entity]))
    (found,) = only(taken(exported(state)[0]))["entities"]
    assert {name: found[name] for name in entity} == entity
    (named,) = bundle_of(state).entities
    assert named["id"] == urn.of_entity(OURS, entity_type, "Anna-Lena")


def test_032_names_of_ours_are_made_of_the_record_and_lead_back_to_it():
    record = sample_states.make_record()
    state = MemoryState()
    state.add(record)
    (chunk,) = bundle_of(state).chunks
    assert chunk["id"] == f"urn:aimem:{OURS}:{record['id']}"
    assert only(taken(exported(state)[0]))["id"] == record["id"]
    assert only(taken(exported(state, pure=True)[0]))["id"] == record["id"]


def test_a_foreign_name_gives_the_same_id_everywhere_and_is_kept_beside_it():
    record = record_of()
    assert record["id"] == only(taken(bundles.with_chunk(), namespace="elsewhere"))["id"]
    assert record["x_aimem"]["id"] == bundles.urn("c1") and memory_records.is_pinned(record) is False
    (chunk,) = bundle_of(taken(bundles.with_chunk())).chunks
    assert chunk["id"] == f"urn:aimem:{OURS}:{record['id']}" and chunk["x_alf"]["origin_id"] == bundles.urn("c1")


def test_what_we_said_of_a_chunk_counts_only_while_it_still_is_what_we_wrote():
    state = MemoryState()
    state.add(sample_states.make_record("A plan.", category="mine", tags=["One"], namespace="work"))
    (chunk,) = bundle_of(state).chunks
    for changes in ({"memory_type": "goal"}, {"tags": ["two"]}):
        record = only(taken(bundles.bundle(producer=OURS, chunks=[{**chunk, **changes}])))
        assert record["namespace"] == "work" and record["category"].startswith("aimem:")
        assert aimem_mapping.type_of(record) == changes.get("memory_type", "fact")
        assert record["tags"] == changes.get("tags", ["one"])


@pytest.mark.parametrize(
    "ours",
    [
        {"source": 3},
        {"temporal": {"created_at": "yesterday"}},
        {"temporal": None},
        {"namespace": None},
        {"status": ["deleted"]},
        {"confidence": 7},
        {"tags": [1]},
        {"raw_source_format": "x"},
        {
            "ext": {
                "id": "x",
                "agent_id": "y",
                "supersedes": sample_states.AGENT_ID,
                "missing_at_source": True,
                "x_aimem": 1,
            }
        },
        {"ext": []},
        {"supersedes": sample_states.AGENT_ID, "id": sample_states.AGENT_ID, "content": "other"},
        [],
        "text",
    ],
)
def test_what_others_put_into_our_member_does_no_harm(ours):
    record = only(taken(bundles.with_chunk(x_alf=ours)))
    assert record["content"] == bundles.chunk()["content"] and record["status"] == "active"
    assert (
        record["namespace"] == "default" and "supersedes" not in record and record["agent_id"] == sample_states.AGENT_ID
    )
    assert record["temporal"]["created_at"] == "2026-04-01T09:30:00Z" and "missing_at_source" not in record
    assert change_marks.is_unchanged(record, "x_aimem")


def test_an_import_hides_no_memory_that_is_here():
    state = taken(bundles.with_chunk(memory_type="preference"))
    held = only(state)
    chunks = [bundles.chunk("c1", memory_type="preference"), bundles.chunk("c9", "Replaces it.")]
    edge = bundles.edge("c9", "c1", edge_type="x-supersedes", x_alf={"field": "supersedes"})
    (new,) = planned(state, bundles.bundle(chunks=chunks, edges=[edge])).inserts
    assert "supersedes" not in new and new["related_records"][0]["id"] == held["id"]
    assert new["related_records"][0]["relation"] == "supersedes"


def test_models_of_vectors_come_back():
    for name in ("text-embedding-3-small", "some-model", "BAAI/bge-m3", "a/b/c", "bge-m3"):
        assert aimem_mapping.model_name_of(aimem_mapping.name_bundle_model(name)) in (name, name.removeprefix("BAAI/"))
    assert aimem_mapping.name_bundle_model("some-model") == "unknown/some-model"
    assert aimem_mapping.name_bundle_model("text-embedding-3-small") == "openai/text-embedding-3-small"


def test_the_tables_of_the_documentation_say_every_word_of_the_draft():
    tables = {table.title: [row.theirs for row in table.rows] for table in FORMAT.mappings()}
    assert [f"`{name}`" for name in MEMORY_TYPES] == tables["Memory types: import from a bundle"]
    assert {f"`{name}`" for name in EDGE_TYPES} <= set(tables["Edges"])
    assert {f"`{name}`" for name in ENTITY_KINDS} <= set(tables["Entities"])
    for table in FORMAT.mappings():
        assert all(row.theirs and row.ours for row in table.rows), table.title
