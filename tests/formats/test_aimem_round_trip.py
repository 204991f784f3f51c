"""Round trips of states through bundles and of bundles through states, with every loss reported."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_alf.common import ids
from lifeboat_alf.memory import memory_records
from lifeboat_alf.memory.embeddings import encode_float32
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_formats.aimem.convert import bundle_export
from lifeboat_formats.aimem.convert.bundle_options import ProducerOptions
from lifeboat_formats.aimem.wire import bundle_reading
from support.formats import aimem_bundles as bundles
from support.formats.aimem_states import AROUND, OURS, bundle_of, exported, planned, records_of, taken

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
words = st.text(st.characters(codec="ascii", categories=["Lu", "Ll", "Nd"]), min_size=1, max_size=12)
stamps = st.sampled_from(
    [
        "2026-01-02T03:04:05Z",
        "2026-04-05T06:07:08.123Z",
        "2026-07-08T09:10:11.123456789Z",
        "2026-10-11T12:13:14.5+02:00",
    ]
)
numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
values = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | texts, lambda inner: st.lists(inner, max_size=2))
entities = st.fixed_dictionaries(
    {"name": texts, "type": st.sampled_from(["person", "tool", "location", "project", "other", "x"])},
    optional={"role": texts},
)
bodies = st.fixed_dictionaries(
    {
        "content": texts,
        "created_at": stamps,
        "memory_type": st.sampled_from(["semantic", "episodic", "procedural", "preference", "summary", "unheard of"]),
    },
    optional={
        "namespace": words,
        "category": st.sampled_from(["decision", "identity", "goal", "bad_pattern", "aimem:fact"]) | words,
        "tags": st.lists(texts | words | st.just("x" * 65), min_size=1, max_size=3),
        "confidence": st.sampled_from([0.0, 0.25, 1.0]),
        "entities": st.lists(entities, min_size=1, max_size=3, unique_by=lambda each: (each["type"], each["name"])),
        "pinned": st.just(True),
        "raw_source_format": st.dictionaries(words, values, min_size=1, max_size=2),
        "x_aicf": st.fixed_dictionaries({"line": texts, "generic_sha256": st.just("ab" * 32)}),
        "source": st.fixed_dictionaries({"runtime": words}, optional={"session_id": texts, "origin": texts}),
        "embeddings": st.lists(numbers, min_size=3, max_size=3).map(
            lambda vector: [sample_states.make_embedding(vector)]
        ),
    },
)
relations = st.sampled_from(["related_to", "caused", "caused_by", "hebbian", "mine", "odd one", "supersedes"])


@st.composite
def states(draw):
    state, made = MemoryState(), []
    for body in draw(st.lists(bodies, max_size=5)):
        related = draw(st.lists(st.tuples(st.sampled_from(made), relations), max_size=2, unique=True)) if made else []
        fields = {"related_records": [{"id": other, "relation": relation} for other, relation in related]}
        made.append(state.add(memory_records.arrange_fields(sample_states.make_record(**{**body, **fields}))).id)
    return state


def plain(record):
    """Return a record without what a bundle states of it, and without the order of unordered lists."""
    kept = {name: value for name, value in record.items() if name != "x_aimem"}
    for name in ("entities", "related_records"):
        kept[name] = [{key: value for key, value in each.items() if key != "x_aimem"} for each in record.get(name, [])]
        kept[name].sort(key=lambda each: sorted(map(repr, each.items())))
    kept["embeddings"] = [{**each, "vector": encode_float32(each["vector"])} for each in record.get("embeddings", [])]
    return kept


@settings(max_examples=25, deadline=None)
@given(states())
def test_a_state_comes_back_from_its_bundle_as_it_was(state):
    data, produced = exported(state, embeddings=True)
    assert [fate for fate in produced.fates if fate.outcome is not ItemOutcome.ACCEPTED] == []
    back = records_of(taken(data))
    assert {name: plain(record) for name, record in back.items()} == {
        name: plain(record) for name, record in records_of(state).items()
    }


@settings(max_examples=25, deadline=None)
@given(states())
def test_a_state_comes_back_from_a_pure_bundle_but_for_what_the_receipt_names(state):
    data, produced = exported(state, pure=True, embeddings=True)
    back, told = records_of(taken(data)), {}
    for fate in produced.fates:
        if fate.kind == "memory":
            names = fate.reason.removeprefix("exported without these fields: ")
            told[fate.name] = {name for name in names.split(", ") if name}
    for name, record in records_of(state).items():
        found, lost = back[name], told[name]
        wrong = {key for key in ("memory_type", "category", "namespace", "tags", "confidence", "source")
                 if record.get(key) != found.get(key)}  # fmt: skip
        wrong |= {"ext"} if {key for key in record if key.startswith("x_") or key == "pinned"} - found.keys() else set()
        assert wrong <= lost
        assert found["content"] == record["content"] and len(found.get("entities", [])) == len(
            record.get("entities", [])
        )


@settings(max_examples=20, deadline=None)
@given(states())
def test_052_whatever_the_state_its_bundle_is_here_already(state):
    for scope in ("FULL", "DNA_ONLY"):
        plan = planned(state, exported(state, scope=scope, embeddings=True)[0])
        assert not plan.inserts and not plan.updates and not plan.summary["chunks_rejected_conflict"]


@settings(max_examples=20, deadline=None)
@given(states())
def test_055_a_bundle_of_ours_comes_back_the_same_from_an_empty_store(state):
    first = bundle_of(state, embeddings=True)
    again = bundle_of(taken(first), embeddings=True)
    assert as_sets(again) == as_sets(first)


def as_sets(bundle, *, without=()):
    def items(array):
        kept = ({name: value for name, value in each.items() if name not in without} for each in bundle.array(array))
        return sorted(map(repr, ({name: each[name] for name in sorted(each)} for each in kept)))

    return {name: items(name) for name in ("chunks", "edges", "entities", "chunk_entities")}


def as_written(bundle):
    """Return a chunk with the hash that a producer always writes, and without empty members."""
    for chunk in bundle.chunks:
        chunk["content_hash"] = bundles.content_hash(chunk["content"])
        for name in ("embedding", "zone"):
            if chunk.get(name, 0) is None:
                del chunk[name]
    return bundle


def parse(document):
    return bundle_reading.parse_bundle(bundles.document(document))


def foreign():
    sample = bundles.sample()
    chunks = [
        *sample["chunks"],
        bundles.chunk("Odd!~", "Unknown members.", tags=["ÄB", "x y"], x_mine={"a": [1, None]}),
    ]
    return bundles.sealed({**sample, "chunks": chunks})


def test_055_a_foreign_bundle_comes_back_the_same_under_its_own_names():
    first = as_written(parse(foreign()))
    again = bundle_of(taken(foreign()), preserve_ids=True, embeddings=True)
    assert as_sets(again, without=("x_alf",)) == as_sets(first)
    pure = bundle_of(taken(foreign()), preserve_ids=True, embeddings=True, pure=True)
    assert as_sets(pure) == as_sets(first)


def test_055_a_foreign_bundle_comes_back_the_same_but_for_names_by_default():
    first, again = parse(foreign()), bundle_of(taken(foreign()), embeddings=True)
    named = {chunk["x_alf"]["origin_id"]: chunk["id"] for chunk in again.chunks}
    assert sorted(named) == sorted(chunk["id"] for chunk in first.chunks)
    assert all(name.startswith(f"urn:aimem:{OURS}:") for name in named.values())
    edges = {(named[edge["source_id"]], named[edge["target_id"]], edge["edge_type"]) for edge in first.edges}
    assert {(edge["source_id"], edge["target_id"], edge["edge_type"]) for edge in again.edges} == edges


def test_what_another_format_knows_of_a_memory_travels_untouched():
    own = {"section": "decisions", "raw": "| odd | bytes \u0001 |", "generic_sha256": "0" * 64, "deep": {"a": [1, {}]}}
    state = MemoryState()
    name = state.add(sample_states.make_record("Chose tea.", x_aicf=own, x_aionforge={"id": "n1"})).id
    back = records_of(taken(exported(state)[0]))[name]
    assert back["x_aicf"] == own and back["x_aionforge"] == {"id": "n1"}
    lost = [fate for fate in bundle_export.list_export_losses(state, ProducerOptions(pure=True)) if fate.name == name]
    assert [fate.reason for fate in lost] == ["exported without these fields: category, ext, source"]


def test_an_edit_between_two_bundles_goes_along_and_what_was_not_edited_stays():
    state = taken(foreign())
    held = next(record for record in records_of(state).values() if record["content"] == "Unknown members.")
    state.update({**held, "content": "Edited here.", "tags": ["New Tag"]})
    chunk = next(each for each in bundle_of(state, preserve_ids=True).chunks if each["content"] == "Edited here.")
    assert chunk["tags"] == ["new tag"] and chunk["x_mine"] == {"a": [1, None]} and chunk["id"] == bundles.urn("Odd!~")
    assert chunk["content_hash"] == bundles.content_hash("Edited here.")


def test_the_agent_that_wrote_a_bundle_is_its_tenant():
    bundle = bundle_of(sample_states.make_full_state())
    assert bundle.envelope.tenant_id == ids.as_uuid(sample_states.AGENT_ID) and bundle.envelope.producer == OURS
    assert bundle.envelope.exported_at == AROUND.now
