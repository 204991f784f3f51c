"""The results of importing a bundle, and what it reports."""

from __future__ import annotations

from collections import Counter

from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_alf.memory import memory_records
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_formats.aimem.convert import bundle_import, existing_memories
from support.formats import aimem_bundles as bundles
from support.formats.aimem_states import apply, bundle_of, only, open_bundle_bytes, planned, records_of, taken

NAMES = {
    "chunks_inserted", "chunks_updated", "chunks_skipped_idempotent", "chunks_rejected_conflict", "edges_inserted",
    "edges_skipped", "entities_inserted", "entities_skipped", "chunk_entities_inserted",
    "inserted", "updated", "skipped", "rejected", "warnings",
}  # fmt: skip


def objects_in(document):
    return sum(len(document[name]) for name in ("chunks", "edges", "entities", "chunk_entities"))


def crowded():
    """Return a bundle with an example of everything, including repetitions and conflicts."""
    text = "A very long story.\n\n" * 5000
    state = MemoryState()
    state.add(sample_states.make_record(text))
    parts = bundle_of(state)
    chunks = [*parts.chunks, *bundles.sample()["chunks"], bundles.chunk("gone", "Erased.")]
    edges = [*parts.edges, *bundles.sample()["edges"], bundles.edge("c1", "gone"), bundles.edge("gone", "c1")]
    edges += [edges[-3], bundles.edge("c1", "c1")]
    entities = [*bundles.sample()["entities"], bundles.entity("orphan", "Nobody"), bundles.entity("lost", "Lost")]
    links = [*bundles.sample()["chunk_entities"], bundles.link("gone", "lost"), bundles.link("gone", "lost")]
    sample = bundles.sample()
    return bundles.sealed({**sample, "chunks": chunks, "edges": edges, "entities": entities, "chunk_entities": links})


def test_every_object_of_a_bundle_has_one_fate():
    document, erased = crowded(), {bundles.urn("gone")}
    state = MemoryState()
    first = planned(state, document, erased=erased)
    assert len(first.fates) == objects_in(document)
    assert Counter(fate.kind for fate in first.fates) == {
        "memory": len(document["chunks"]),
        "relation": len(document["edges"]),
        "entity": len(document["entities"]),
        "link": len(document["chunk_entities"]),
    }
    apply(state, first)
    again = planned(state, document, erased=erased)
    assert len(again.fates) == objects_in(document) and not again.inserts and not again.updates
    assert not any(fate.outcome is ItemOutcome.ACCEPTED for fate in again.fates)


def test_nothing_of_what_memories_say_stands_in_fates_summary_and_notices():
    document = crowded()
    plan = planned(MemoryState(), document)
    told = repr((plan.fates, plan.summary, plan.notices))
    assert not any(chunk["content"] in told for chunk in document["chunks"])


def test_the_summary_has_the_names_of_the_reference_and_plain_ones():
    summary = planned(MemoryState(), crowded()).summary
    assert summary.keys() == NAMES and summary["inserted"] == summary["chunks_inserted"] > 0


def test_conflicts_are_listed_by_name_and_reason_even_when_all_conflict():
    state = taken(bundles.with_chunk())
    summary = planned(state, bundles.with_chunk(content="Something else.")).summary
    assert summary["inserted"] == 0 and summary["rejected"] == 1
    (conflict,) = summary["chunks_rejected_conflict"]
    assert conflict["id"] == bundles.urn("c1") and conflict["code"] == "idempotency_conflict" and conflict["reason"]


def test_041_vectors_that_are_left_out_are_warned_of_by_their_model():
    plan = planned(MemoryState(), bundles.sample(), embeddings=False)
    (warning,) = [each for each in plan.summary["warnings"] if each["code"] == "embedding_model_unsupported"]
    assert warning["embedding_model"] == bundles.MODEL
    assert all("embeddings" not in record for record in plan.inserts)


def test_042_vectors_are_taken_as_they_are_under_the_model_of_the_bundle():
    plan = planned(MemoryState(), bundles.sample())
    (found,) = [record["embeddings"][0] for record in plan.inserts if "embeddings" in record]
    assert found["model"] == f"unknown/{bundles.MODEL}" and found["vector"] == [1.0, -2.5, 0.1]
    assert found["computed_at"] == bundles.WHEN and found["source"] == "runtime" and found["dimensions"] == 3


def test_035_edges_lead_to_records_of_the_bundle_and_of_what_is_here():
    state = taken(bundles.with_chunk(memory_type="preference"))
    held = only(state)
    chunks = [bundles.chunk("c1", memory_type="preference"), bundles.chunk("c2", "Newer.")]
    edges = [bundles.edge("c2", "c1"), bundles.edge("c1", "c2", edge_type="causal")]
    plan = apply(state, planned(state, bundles.bundle(chunks=chunks, edges=edges)))
    (new,) = plan.inserts
    assert new["related_records"][0]["id"] == held["id"]
    assert records_of(state)[held["id"]]["related_records"][0]["id"] == new["id"]


def test_entities_that_no_chunk_names_are_kept_beside_the_memories_and_come_back():
    state = MemoryState()
    plan = apply(state, planned(state, crowded()))
    assert b"Nobody" in plan.entries["raw/aimem/entities.jsonl"]
    names = [entity["name"] for entity in bundle_of(state).entities]
    assert names.count("Nobody") == 1
    more = bundles.bundle(entities=[bundles.entity("another", "Somebody")])
    apply(state, planned(state, more))
    assert {"Nobody", "Somebody"} <= {entity["name"] for entity in bundle_of(state).entities}


def test_a_memory_that_two_names_claim_goes_to_the_first():
    record_id = sample_states.make_record()["id"]
    chunks = [
        bundles.chunk(id=f"urn:aimem:{name}:{record_id}", content=f"From {name}.", x_alf={}) for name in ("a", "b")
    ]
    state = taken(bundles.bundle(chunks=chunks))
    assert len(records_of(state)) == 2 and records_of(state)[record_id]["content"] == "From a."


def test_pinned_and_dna_memories_are_kept_by_everything_that_works_in_the_background():
    for changes in ({"memory_type": "identity"}, {"memory_type": "decision"}, {"is_pinned": True}):
        assert memory_records.is_kept(only(taken(bundles.with_chunk(**changes))))
    assert not memory_records.is_kept(only(taken(bundles.with_chunk())))


def test_the_draft_has_no_word_for_it_and_nothing_is_written_before_all_is_read():
    state = MemoryState()
    existing = existing_memories.index_state(state)
    with open_bundle_bytes(bundles.stream(crowded())) as bundle:
        plan = bundle_import.plan_import(existing, bundle)
    assert len(plan.inserts) > 0 and records_of(state) == {}


def test_a_bundle_of_many_edges_is_taken_in_its_time():
    count = 3000
    chunks = [bundles.chunk(f"c{number}", f"Memory {number}.") for number in range(count)]
    edges = [bundles.edge(f"c{n}", f"c{(n * 7 + k) % count}") for n in range(count) for k in range(3)]
    plan = planned(MemoryState(), bundles.bundle(chunks=chunks, edges=edges))
    assert plan.summary["edges_inserted"] == len({(e["source_id"], e["target_id"]) for e in edges})


def _told(state, **changes):
    document = bundles.bundle(chunks=[bundles.chunk("c9", "Something new.")], **changes)
    return [each["code"] for each in planned(state, document).summary["warnings"]]


def test_another_tenant_of_a_producer_that_was_here_before_is_told():
    other, state = "22222222-2222-2222-2222-222222222222", taken(bundles.sample())
    assert "tenant_changed" in _told(state, tenant_id=other)
    assert "tenant_changed" not in _told(state)
    assert "tenant_changed" not in _told(state, tenant_id=other, producer="somebody-else")
    assert "tenant_changed" not in _told(MemoryState(), tenant_id=other)
    both = taken(bundles.bundle(tenant_id=other, chunks=[bundles.chunk("c8", "Theirs.")]), state)
    assert "tenant_changed" not in _told(both) and "tenant_changed" not in _told(both, tenant_id=other)
