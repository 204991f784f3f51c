"""Which memories an export includes, in which form, and the fates of the others."""

from __future__ import annotations

import hashlib

import pytest

from lifeboat_adapters.item_fates import ItemOutcome
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_formats.aimem.convert import bundle_export, long_memories
from lifeboat_formats.aimem.convert.bundle_options import ProducerOptions
from lifeboat_formats.interchange.cleaning import Cleaner
from lifeboat_formats.interchange.contract import ConversionContext, WriterIdentity
from lifeboat_formats.interchange.errors import InterchangeError, SecretsFound
from support.formats import aimem_bundles as bundles
from support.formats.aimem_states import AROUND, NOW, OURS, bundle_of, exported, records_of, taken


def state_of(*found):
    state = MemoryState()
    for record in found:
        state.add(record)
    return state


def contents(bundle):
    return [chunk["content"] for chunk in bundle.chunks]


def fates(produced, kind):
    return [(fate.outcome, fate.reason) for fate in produced.fates if fate.kind == kind]


JUNE, JULY, AUGUST = (f"2026-0{month}-01T00:00:00.000Z" for month in (6, 7, 8))


def three():
    """Return three memories, each referring to the one before."""
    one = sample_states.make_record("June.", created_at=JUNE)
    two = sample_states.make_record("July.", created_at=JULY, memory_type="preference")
    two["related_records"] = [{"id": one["id"], "relation": "caused"}]
    last = sample_states.make_record("August.", created_at=AUGUST, pinned=True)
    last["related_records"] = [{"id": two["id"], "relation": "caused"}]
    return state_of(one, two, last)


def test_010_014_the_envelope_has_every_field_and_a_checksum_that_holds():
    bundle = bundle_of(sample_states.make_full_state())
    assert bundle.present == ("chunks", "edges", "entities", "chunk_entities")
    said = {name: bundle.head[name] for name in ("format", "version", "producer", "exported_at", "scope")}
    assert said == {"format": "aimem-bundle", "version": "1", "producer": OURS, "exported_at": NOW, "scope": "FULL"}


def test_dna_only_has_what_is_protected_and_the_edges_between():
    data, produced = exported(three(), scope="DNA_ONLY")
    bundle = bundle_of(three(), scope="DNA_ONLY")
    assert contents(bundle) == ["July.", "August."] and len(bundle.edges) == 1 and data
    assert fates(produced, "memory")[0][0] is ItemOutcome.OMITTED
    assert [outcome for outcome, _ in fates(produced, "relation")] == [ItemOutcome.OMITTED, ItemOutcome.ACCEPTED]


def test_037_since_is_inclusive_and_drops_and_counts_the_edges_that_lead_out():
    _, produced = exported(three(), scope="SINCE", since="2026-07-01T00:00:00Z")
    bundle = bundle_of(three(), scope="SINCE", since="2026-07-01T00:00:00Z")
    assert contents(bundle) == ["July.", "August."] and len(bundle.edges) == 1
    assert bundle.envelope.since == "2026-07-01T00:00:00Z" and produced.figures["edges_dropped"] == 1
    assert {notice.code for notice in produced.notices} == {"no_deletions", "edges_dropped"}


def test_037_closure_follows_the_edges():
    bundle = bundle_of(three(), scope="SINCE", since="2026-08-01T00:00:00Z", closure=True)
    assert contents(bundle) == ["June.", "July.", "August."] and len(bundle.edges) == 2


def test_superseded_and_archived_memories_stay_unless_they_are_asked_for_and_deleted_ones_always():
    old = sample_states.make_record("Old.")
    state = state_of(
        old,
        sample_states.make_record("New.", supersedes=old["id"]),
        sample_states.make_record("Aside.", status="archived"),
        sample_states.make_record("Gone.", status="deleted"),
        sample_states.make_record("Replaced.", status="superseded"),
    )
    assert contents(bundle_of(state)) == ["New."]
    bundle = bundle_of(state, include_history=True)
    tags = {chunk["content"]: chunk["tags"] for chunk in bundle.chunks}
    assert tags == {
        "Old.": ["alf-status:superseded"],
        "New.": [],
        "Aside.": ["alf-status:archived"],
        "Replaced.": ["alf-status:superseded"],
    }
    assert [edge["edge_type"] for edge in bundle.edges] == ["x-supersedes"]
    back = {record["content"]: record for record in records_of(taken(bundle)).values()}
    assert back["New."]["supersedes"] == old["id"] and back["Aside."]["status"] == "archived"


def test_an_earlier_form_of_what_was_deleted_never_leaves():
    old = sample_states.make_record("Old.")
    state = state_of(old, sample_states.make_record("[deleted]", supersedes=old["id"], status="deleted"))
    assert contents(bundle_of(state, include_history=True)) == []


def test_the_identity_leaves_only_when_it_is_asked_for():
    state = sample_states.make_full_state()
    assert "# Soul\n\nCurious and kind.\n" not in contents(bundle_of(state))
    (text,) = [c for c in bundle_of(state, include_identity=True).chunks if c["memory_type"] == "identity"]
    assert text["content"] == "# Soul\n\nCurious and kind.\n" and text["tags"] == ["alf-identity:soul"]


def test_043_vectors_leave_only_when_they_are_asked_for():
    state = state_of(sample_states.make_record(embeddings=[sample_states.make_embedding([0.5, 0.25])]))
    _, produced = exported(state)
    assert "embedding" not in bundle_of(state).chunks[0] and bundle_of(state).envelope.embedding_model is None
    assert fates(produced, "vector") == [
        (ItemOutcome.OMITTED, "1 vector: vectors are exported only with --include-embeddings")
    ]
    asked = bundle_of(state, embeddings=True)
    assert asked.chunks[0]["embedding"] == bundles.packed(0.5, 0.25) and asked.envelope.embedding_dim == 2


def test_045_a_bundle_has_vectors_of_one_model_and_the_others_are_told_of():
    state = state_of(
        sample_states.make_record(
            "A", embeddings=[sample_states.make_embedding([1.0], model="openai/text-embedding-3-small")]
        ),
        sample_states.make_record(
            "B", embeddings=[sample_states.make_embedding([2.0], model="openai/text-embedding-3-small")]
        ),
        sample_states.make_record("C", embeddings=[sample_states.make_embedding([3.0, 4.0], model="example/other")]),
    )
    _, produced = exported(state, embeddings=True)
    bundle = bundle_of(state, embeddings=True)
    assert bundle.envelope.embedding_model == "text-embedding-3-small"
    assert [chunk.get("embedding") for chunk in bundle.chunks] == [bundles.packed(1.0), bundles.packed(2.0), None]
    assert fates(produced, "vector") == [(ItemOutcome.OMITTED, "1 vector: a bundle contains vectors of one model only")]
    other = bundle_of(state, embeddings=True, model="example/other")
    assert [chunk.get("embedding") for chunk in other.chunks] == [None, None, bundles.packed(3.0, 4.0)]


def test_020_a_long_memory_goes_in_parts_that_are_joined_again():
    text = "".join(f"Paragraph {number} of a long story.\n\n" for number in range(6000))
    state = state_of(sample_states.make_record("Short."), sample_states.make_record(text, tags=["story"]))
    bundle = bundle_of(state)
    parts = [chunk for chunk in bundle.chunks if chunk["id"].rpartition(".p")[2].isdigit()]
    assert len(parts) == 4 and all(len(part["content"]) <= 65536 for part in parts)
    assert all(part["content"].endswith("\n\n") for part in parts) and len(bundle.edges) == 3
    assert parts[0]["x_alf"]["part"] == {"n": 1, "of": 4, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    assert records_of(taken(bundle)).keys() == records_of(state).keys()
    assert {record["content"] for record in records_of(taken(bundle)).values()} == {"Short.", text}


@pytest.mark.parametrize(
    "text", ["x" * 300, "word " * 70, "a\n" * 150, "", "\n\n" * 200, "x" * 99 + "\n\n" + "y" * 150]
)
def test_pieces_are_the_text_again_and_none_is_too_long(text):
    pieces = long_memories.split_text(text, 100)
    assert "".join(pieces) == text and all(len(piece) <= 100 for piece in pieces)
    assert all(pieces) or text == ""


def test_parts_that_do_not_fit_each_other_stay_apart():
    state = state_of(sample_states.make_record("story " * 20000))
    bundle = bundle_of(state)
    changed = [dict(chunk) for chunk in bundle.chunks]
    changed[1] |= {"content": "other", "content_hash": bundles.content_hash("other")}
    assert len(records_of(taken(bundles.bundle(producer=OURS, chunks=changed)))) == len(changed)
    assert len(records_of(taken(bundles.bundle(producer=OURS, chunks=changed[:1])))) == 1


# What leaves is clean -----------------------------------------------------------------------------------------------


def test_every_text_that_leaves_is_cleaned():
    mail = "mira@example.com"
    state = state_of(
        sample_states.make_record(
            f"Write to {mail}.",
            tags=[mail, "plain"],
            entities=[{"name": mail, "type": "person", "role": f"owner {mail}", "note": mail}],
            namespace=mail,
            source={"runtime": "openclaw", "session_id": mail},
            raw_source_format={"row": {"from": mail}},
            x_aicf={"line": mail},
        )
    )
    state.set_head(agent={"id": sample_states.AGENT_ID, "name": mail, "source_runtime": "openclaw"})
    data, produced = exported(state, cleaner=Cleaner(redacts=True))
    assert mail.encode() not in data and produced.figures["found_email"] >= 9
    assert fates(produced, "memory") == [(ItemOutcome.TRANSFORMED, "cleaned")]
    plain, counted = exported(state, cleaner=Cleaner())
    assert mail.encode() in plain and counted.figures["found_email"] == produced.figures["found_email"]


def test_the_vector_of_a_text_that_was_redacted_does_not_leave():
    state = state_of(
        sample_states.make_record("Write to mira@example.com.", embeddings=[sample_states.make_embedding([1.0])])
    )
    bundle = bundle_of(state, embeddings=True, cleaner=Cleaner(redacts=True))
    assert "embedding" not in bundle.chunks[0] and "[redacted:email]" in bundle.chunks[0]["content"]


def test_what_another_format_spells_in_its_own_way_does_not_leave_redacted_memories():
    spelled = {"x_aicf": {"span": "3|topic=call\\n555-867-5309\n"}, "x_noted": 1}
    state = state_of(sample_states.make_record("Call\n555-867-5309", **spelled))
    data, _ = exported(state, cleaner=Cleaner(redacts=True))
    assert b"867-5309" not in data and b"span" not in data
    data, _ = exported(state, cleaner=Cleaner())
    assert b"span" in data and b"x_noted" in data


def test_what_looks_like_a_secret_stops_the_bundle():
    state = state_of(sample_states.make_record("The key is sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI" * 2))
    with pytest.raises(SecretsFound):
        exported(state, cleaner=Cleaner())


# Refused options, and odd states ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"producer": "Example.com"},
        {"producer": "a" * 64},
        {"tenant_id": "nobody"},
        {"scope": "SOME"},
        {"scope": "SINCE"},
        {"scope": "SINCE", "since": "yesterday"},
    ],
)
def test_options_that_make_no_bundle_are_refused_with_a_way_out(options):
    with pytest.raises(InterchangeError) as refused:
        exported(MemoryState(), **options)
    assert refused.value.fix.startswith("run the same command with --")


def test_without_a_name_for_the_installation_the_agent_gives_one():
    data, _ = exported(MemoryState(), ConversionContext(NOW, WriterIdentity()))
    again, _ = exported(MemoryState(), ConversionContext(NOW))
    assert data == again and b'"producer":"alf-' in data


def test_archives_of_others_may_hold_anything():
    odd = sample_states.make_record(
        "Odd.", id="no-uuid", tags=["", "x" * 65, "ok"], entities=[{"type": "x"}, 3, {"name": ""}]
    )
    odd |= {"related_records": [{"id": 3}, "x", {"id": "no-uuid", "relation": "caused"}], "x_aimem": "text"}
    said = {"edge_type": "x-", "weight": 9, "created_at": "then", "unknown": {"_kind": "edge", "a": 1}}
    more = sample_states.make_record(
        "More.", id="019D4860-D9C0-7616-9716-0D8801123E99", x_aimem={"id": "urn:aimem:x:y", "tags": 5}
    )
    more |= {"related_records": [{"id": "no-uuid", "relation": "caused", "x_aimem": said}]}
    worse = [sample_states.make_record("", x=1), sample_states.make_record("No time.", created_at=sample_states.TIME)]
    worse[1]["temporal"] = {"created_at": "then"}
    state = state_of(odd, more)
    for number, record in enumerate(worse):
        state.add(record, partition=f"memory/partitions/x{number}.jsonl")
    bundle = bundle_of(state)
    assert contents(bundle) == ["Odd.", "More."] and len(bundle.edges) == 2
    _, produced = exported(state, preserve_ids=True)
    omitted = [reason for outcome, reason in fates(produced, "memory") if outcome is ItemOutcome.OMITTED]
    assert omitted == ["the text of this memory is empty", "a bundle cannot represent the time of this memory"]


def test_two_memories_of_one_foreign_name_keep_apart():
    own = {"id": "urn:aimem:elsewhere:c1", "memory_type": "fact"}
    state = state_of(sample_states.make_record("One.", x_aimem=own), sample_states.make_record("Two.", x_aimem=own))
    names = [chunk["id"] for chunk in bundle_of(state, preserve_ids=True).chunks]
    assert names[0] == own["id"] and names[1].startswith(f"urn:aimem:{OURS}:")


def test_what_a_bundle_never_holds_is_told_of():
    _, produced = exported(sample_states.make_full_state())
    told = {fate.kind for fate in produced.fates if fate.outcome is ItemOutcome.OMITTED}
    assert told == {"identity", "principal", "credential", "artifact", "file"}


def test_losses_are_what_the_receipt_will_say_and_write_nothing():
    state, options = three(), {"scope": "DNA_ONLY", "pure": True}
    _, produced = exported(state, **options)
    wanted = [fate for fate in produced.fates if fate.outcome is not ItemOutcome.ACCEPTED]
    assert bundle_export.list_export_losses(state, ProducerOptions(**options)) == wanted != []


def test_a_bundle_is_the_same_every_time():
    assert exported(sample_states.make_full_state().sign(lambda sequence: {}))[0].count(b"urn:aimem") == 2
    state = three()
    assert exported(state)[0] == exported(state, AROUND)[0]
