"""Importing a chunk that exists already, by the numbers of the checklist."""

from __future__ import annotations

import pytest

from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from support.formats import aimem_bundles as bundles
from support.formats.aimem_states import apply, bundle_of, codes, counts, only, planned, records_of, taken

LATER, EARLIER = "2026-05-01T09:30:00Z", "2026-03-01T09:30:00Z"


def one(**changes):
    return bundles.bundle(chunks=[bundles.chunk("c1", **{"content": "The shop opens at nine.", **changes})])


def nothing_new(plan):
    return not plan.inserts and not plan.updates and not plan.entries


def test_046_the_same_chunk_again_is_skipped():
    plan = planned(taken(one()), one())
    assert counts(plan) == {"inserted": 0, "updated": 0, "skipped": 1, "rejected": 0} and nothing_new(plan)


@pytest.mark.parametrize("same", ["2026-04-01T09:30:00.000Z", "2026-04-01T09:30:00+00:00", "2026-04-01T09:30:00.4Z"])
def test_046_the_same_instant_spelt_otherwise_or_cut_to_seconds_is_the_same(same):
    assert nothing_new(planned(taken(one()), one(created_at=same)))


def test_047_another_content_at_the_same_time_is_rejected_and_the_others_are_taken():
    state = taken(one())
    other = bundles.bundle(
        chunks=[bundles.chunk("c1", "The shop is closed."), bundles.chunk("c2", "The shop has a cat.")]
    )
    plan = apply(state, planned(state, other))
    assert codes(plan) == ["idempotency_conflict"] and counts(plan)["inserted"] == 1
    assert {record["content"] for record in records_of(state).values()} == {
        "The shop opens at nine.",
        "The shop has a cat.",
    }


def test_048_a_newer_chunk_updates_a_memory_that_nobody_protects():
    state = taken(one())
    before = only(state)
    plan = apply(state, planned(state, one(content="The shop opens at ten.", created_at=LATER, tags=["hours"])))
    after = only(state)
    assert counts(plan) == {"inserted": 0, "updated": 1, "skipped": 0, "rejected": 0}
    assert after["content"] == "The shop opens at ten." and after["id"] == before["id"] and after["tags"] == ["hours"]
    assert nothing_new(planned(state, one(content="The shop opens at ten.", created_at=LATER, tags=["hours"])))


@pytest.mark.parametrize("kept", [{"memory_type": name} for name in sorted((
    "preference", "decision", "identity", "pitfall", "procedure"))] + [{"is_pinned": True}])  # fmt: skip
def test_048_a_newer_chunk_changes_no_protected_memory_unless_it_is_allowed(kept):
    state, newer = taken(one(**kept)), one(content="Changed.", created_at=LATER, **kept)
    refused = planned(state, newer)
    assert codes(refused) == ["dna_protected"] and nothing_new(refused)
    allowed = planned(state, newer, allow_dna_update=True)
    assert counts(allowed)["updated"] == 1 and allowed.updates[0][1]["content"] == "Changed."


def test_048_a_memory_cannot_be_unprotected_by_a_newer_chunk():
    state = taken(one(memory_type="decision"))
    assert codes(planned(state, one(memory_type="fact", content="Changed.", created_at=LATER))) == ["dna_protected"]
    assert codes(planned(state, one(memory_type="fact", created_at=LATER))) == ["dna_protected"]


def test_049_an_older_chunk_with_another_content_is_stale_and_with_the_same_one_skipped():
    state = taken(one())
    stale = planned(state, one(content="The shop opens at eight.", created_at=EARLIER))
    assert codes(stale) == ["stale_chunk"] and nothing_new(stale)
    assert counts(planned(state, one(created_at=EARLIER)))["skipped"] == 1


@pytest.mark.parametrize(
    "changed", [{"tags": ["other"]}, {"zone": "critical"}, {"zone": None}, {"memory_type": "goal"}, {"is_pinned": True}]
)
def test_050_other_fields_at_the_same_time_change_nothing_and_are_named(changed):
    plan = planned(taken(one()), one(**changed))
    assert codes(plan) == ["field_conflict"] and nothing_new(plan)


def test_050_absent_and_default_are_the_same():
    state = taken(one(is_pinned=bundles.ABSENT, tags=bundles.ABSENT, zone=bundles.ABSENT))
    assert nothing_new(planned(state, one(is_pinned=False, tags=[], zone=None)))


def test_051_a_bundle_taken_twice_changes_nothing_the_second_time():
    state = taken(bundles.sample())
    before = records_of(state)
    plan = apply(state, planned(state, bundles.sample()))
    assert counts(plan)["inserted"] == counts(plan)["updated"] == counts(plan)["rejected"] == 0
    assert plan.summary["edges_inserted"] == plan.summary["entities_inserted"] == 0
    assert plan.summary["chunk_entities_inserted"] == 0 and records_of(state) == before


def full():
    state = sample_states.make_full_state()
    tea = state.add(sample_states.make_record("Prefers tea.", memory_type="preference", tags=["Tea", "x" * 70, "tea"]))
    old = state.add(sample_states.make_record("Lives in Porto.", confidence=0.25))
    state.add(
        sample_states.make_record(
            "Lives in Faro.", supersedes=old.id, related_records=[{"id": old.id, "relation": "odd one"}]
        )
    )
    state.add(
        sample_states.make_record(
            "A long story.\n\n" * 9000,
            memory_type="summary",
            entities=[{"name": "Porto", "type": "location", "role": "home"}, {"name": "Porto", "type": "location"}],
            related_records=[
                {"id": tea.id, "relation": "caused_by"},
                {"id": tea.id, "relation": "related_to"},
                {"id": sample_states.AGENT_ID, "relation": "elaborates_on"},
            ],
            embeddings=[sample_states.make_embedding([0.5, -1.25, 3.0])],
        )
    )
    state.add(sample_states.make_record("Kept aside.", status="archived"))
    state.add(sample_states.make_record("Forgotten.", status="deleted"))
    return taken(bundles.sample(), state)


SCOPES = [
    {"scope": "FULL"},
    {"scope": "DNA_ONLY"},
    {"scope": "SINCE", "since": "2026-06-01T00:00:00Z"},
    {"scope": "SINCE", "since": "2026-06-01T00:00:00Z", "closure": True},
    {"scope": "FULL", "include_history": True, "include_identity": True},
    {"scope": "FULL", "pure": True},
    {"scope": "FULL", "preserve_ids": True},
]


@pytest.mark.parametrize("embeddings", [False, True])
@pytest.mark.parametrize("options", SCOPES, ids=lambda options: "-".join(map(str, options.values())))
def test_052_057_what_we_export_is_here_already(options, embeddings):
    state = full()
    bundle = bundle_of(state, embeddings=embeddings, **options)
    assert len(bundle.chunks) > 0
    for namespace in ("", "alf-0a1b2c3d"):
        plan = planned(state, bundle, namespace=namespace)
        assert counts(plan) == {"inserted": 0, "updated": 0, "rejected": 0, "skipped": plan.summary["skipped"]}
        assert nothing_new(plan) and plan.summary["edges_inserted"] == plan.summary["entities_inserted"] == 0


def test_053_edges_entities_and_links_are_known_again_and_new_ones_added():
    chunks = [bundles.chunk("c1"), bundles.chunk("c2", "Another one.")]
    state = taken(bundles.bundle(chunks=chunks))
    more = bundles.bundle(
        chunks=chunks,
        edges=[bundles.edge("c1", "c2"), bundles.edge("c1", "c2", weight=0.9), bundles.edge("c1", "c1")],
        entities=[bundles.entity("e1"), bundles.entity("e2")],
        chunk_entities=[bundles.link("c1", "e1"), bundles.link("c1", "e1"), bundles.link("c2", "e2")],
    )
    plan = apply(state, planned(state, more))
    assert plan.summary["edges_inserted"] == 2 and plan.summary["entities_inserted"] == 2
    assert plan.summary["chunk_entities_inserted"] == 2 and counts(plan)["skipped"] == 2
    again = planned(state, more)
    assert nothing_new(again) and again.summary["edges_inserted"] == again.summary["chunk_entities_inserted"] == 0


def test_053_entities_of_one_name_stay_apart():
    document = bundles.bundle(
        chunks=[bundles.chunk("c1")],
        entities=[bundles.entity("e1"), bundles.entity("e2")],
        chunk_entities=[bundles.link("c1", "e1"), bundles.link("c1", "e2")],
    )
    state = taken(document)
    assert len(only(state)["entities"]) == 2
    assert len(bundle_of(state).entities) == 2


def test_054_what_was_erased_does_not_come_back_by_an_old_bundle_unless_it_is_allowed():
    document = bundles.bundle(
        chunks=[bundles.chunk("c1"), bundles.chunk("c2", "Stays.")], edges=[bundles.edge("c2", "c1")]
    )
    erased = {bundles.urn("c1")}
    state = MemoryState()
    plan = apply(state, planned(state, document, erased=erased))
    assert codes(plan) == ["erased"] and only(state)["content"] == "Stays."
    assert "related_records" not in only(state) and plan.summary["edges_inserted"] == 0
    assert counts(planned(state, document, erased=erased, allow_resurrect=True))["inserted"] == 1


def test_what_was_deleted_here_comes_back_once_under_another_id():
    state = taken(one())
    first = only(state)
    state.update({**first, "status": "deleted"})
    apply(state, planned(state, one()))
    assert len(records_of(state)) == 2 and nothing_new(planned(state, one()))


def test_an_old_bundle_does_not_fight_with_what_was_written_since():
    state = MemoryState()
    old = state.add(sample_states.make_record("The shop opens at nine.", created_at="2026-05-01T00:00:00.000Z"))
    bundle = bundle_of(state)
    state.add(sample_states.make_record("The shop opens at ten.", supersedes=old.id))
    assert nothing_new(planned(state, bundle)) and counts(planned(state, bundle))["skipped"] == 1
