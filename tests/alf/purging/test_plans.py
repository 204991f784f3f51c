"""Which items a purge plan removes together, and what it reports."""

from __future__ import annotations

import json
from functools import partial

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import PurgeError
from lifeboat_alf.memory import embeddings, memory_records
from lifeboat_alf.purging.bounded_patterns import compile_pattern
from lifeboat_alf.purging.purge_items import CutPlan, PurgeItem, PurgeMatch, PurgeOptions
from lifeboat_alf.purging.purge_planner import plan_cuts
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.redaction.redactions import RECORDS, LeafReplacement, Redaction, Redactions
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import Leaf
from lifeboat_alf.testing import sample_states
from support.alf.packed_vectors import RecordVector, pack_vectors
from support.alf.purge_histories import PARTITION, History, after

TEXT = "The passport is X1234567."
LOG = "raw/openclaw/sessions/a.jsonl"


@pytest.fixture
def history() -> History:
    made = History()
    made.record("Likes tea.")
    made.file("raw/openclaw/SOUL.md", b"# Soul\n")
    return made


def _link(target: PurgeItem, relation: str = "derived_from") -> dict[str, str]:
    return {"id": target.record_id or "", "relation": relation}


def _gone(plan_leaves: dict[bytes, LeafReplacement | None], *items: PurgeItem) -> list[bool]:
    return [item.leaf.digest in plan_leaves and plan_leaves[item.leaf.digest] is None for item in items]


def test_nothing_found_is_an_empty_plan(history: History) -> None:
    plan = history.plan(text="no such text")
    assert (plan.leaves, plan.record_ids, plan.hits, plan.files) == ({}, (), [], {})


def test_an_unknown_id_is_refused(history: History) -> None:
    with pytest.raises(PurgeError, match="no record has the id"):
        history.plan("019a0000-0000-7000-8000-00000000ffff")


def test_too_many_records_refuse_all(history: History) -> None:
    for number in range(3):
        history.record(f"{TEXT} {number}")
    with pytest.raises(PurgeError, match="3 records, more than the limit of 2"):
        history.plan(text="X1234567", most_records=2)


def test_all_versions_of_a_record_go_and_the_texts_of_all_of_them(history: History) -> None:
    first = history.record(TEXT)
    second = history.record("He moved to a far country.", id=first.record_id)
    file = history.file("raw/openclaw/old.md", f"a\n{TEXT}\nHe moved to a far country.\nb\n".encode())
    plan = history.plan(first.record_id)
    assert _gone(plan.leaves, first, second) == [True, True]
    assert after(plan, file) == b"a\n\n\nb\n"
    assert plan.files == {"raw/openclaw/old.md": 2}
    assert plan.partitions == (PARTITION,)


def test_a_record_that_once_held_a_match_goes_whole(history: History) -> None:
    first = history.record(TEXT)
    second = history.record("It is in the safe now.", id=first.record_id)
    plan = history.plan(text="X1234567")
    assert _gone(plan.leaves, first, second) == [True, True]


@pytest.mark.parametrize("named", [0, 1, 2])
def test_a_chain_goes_whole(history: History, named: int) -> None:
    first = history.record("One of the versions.")
    second = history.record("Two of the versions.", supersedes=first.record_id)
    third = history.record("Three of the versions.", supersedes=second.record_id)
    plan = history.plan((first, second, third)[named].record_id)
    assert plan.record_ids == tuple(sorted(item.record_id for item in (first, second, third)))


def test_a_link_that_one_version_had_makes_a_chain(history: History) -> None:
    first = history.record("One of the versions.")
    second = history.record("Two of the versions.", supersedes=first.record_id)
    history.record("Two of them, without a link.", id=second.record_id)
    assert len(history.plan(first.record_id).record_ids) == 2


@pytest.mark.parametrize("named", [0, 1, 2])
def test_only_one_of_a_chain_becomes_a_tombstone_under_its_own_id(history: History, named: int) -> None:
    first = history.record("One of the versions.")
    second = history.record("Two of the versions.", supersedes=first.record_id, tags=["blue"], confidence=0.5)
    third = history.record("Three of the versions.", supersedes=second.record_id)
    chain = (first, second, third)
    plan = history.plan(chain[named].record_id, only=True)
    assert list(plan.leaves) == [chain[named].leaf.digest]
    old = memory_records.parse_record(chain[named].body())
    made = memory_records.parse_record(after(plan, chain[named]) or b"")
    assert made["content"] == "[deleted]" and made["status"] == "deleted"
    kept = ("id", "agent_id", "memory_type", "namespace", "temporal", "supersedes")
    assert {name: made.get(name) for name in kept} == {name: old.get(name) for name in kept}
    assert set(made) <= {*kept, "content", "status", "source"}


def test_only_a_record_without_a_chain_is_simply_gone(history: History) -> None:
    single = history.record("One of the versions.")
    assert _gone(history.plan(single.record_id, only=True).leaves, single) == [True]


def test_with_only_other_records_and_their_text_in_files_stay_as_they_are(history: History) -> None:
    first = history.record("Lives in a small house.")
    second = history.record("Lives in a small house. It is blue.", supersedes=first.record_id)
    old = history.file("raw/openclaw/a.md", b"Lives in a small house.\n", records=[first.record_id])
    new = history.file("raw/openclaw/a.md", b"Lives in a small house. It is blue.\n", records=[second.record_id])
    plan = history.plan(first.record_id, only=True)
    assert set(plan.leaves) == {first.leaf.digest, old.leaf.digest}
    assert after(plan, new) == new.body()


def test_the_text_goes_from_records_that_stay(history: History) -> None:
    secret, other = history.record(TEXT), history.record(f"He said: {TEXT} Then he left.")
    plan = history.plan(secret.record_id)
    assert plan.record_ids == (secret.record_id,)
    assert memory_records.parse_record(after(plan, other) or b"")["content"] == "He said:  Then he left."


def test_a_record_that_never_said_anything_else_goes_too(history: History) -> None:
    secret, twin = history.record(TEXT), history.record(f" {TEXT}\n")
    again = history.record(TEXT, id=twin.record_id, tags=["b"])
    plan = history.plan(secret.record_id)
    assert set(plan.record_ids) == {secret.record_id, twin.record_id}
    assert _gone(plan.leaves, secret, twin, again) == [True, True, True]


def test_a_record_that_said_the_same_once_keeps_its_other_versions(history: History) -> None:
    secret, first = history.record(TEXT), history.record(TEXT)
    second = history.record("It says another thing now.", id=first.record_id)
    plan = history.plan(secret.record_id)
    assert plan.record_ids == (secret.record_id,)
    assert memory_records.parse_record(after(plan, first) or b"")["status"] == "deleted"
    assert second.leaf.digest not in plan.leaves


def test_the_chain_of_a_record_that_says_the_same_stays_and_nothing_older_comes_back(history: History) -> None:
    secret, before = history.record(TEXT), history.record("An older text of it.")
    twin = history.record(TEXT, supersedes=before.record_id)
    plan = history.plan(secret.record_id)
    assert set(plan.record_ids) == {secret.record_id, twin.record_id}
    left = memory_records.parse_record(after(plan, twin) or b"")
    assert (left["status"], left["supersedes"]) == ("deleted", before.record_id)
    assert before.leaf.digest not in plan.leaves


@pytest.mark.parametrize(
    ("body", "left"), [(b"- tea\n- teapot, steam\n", b"- \n- teapot, steam\n"), (b"Tea\n", b"Tea\n")]
)
def test_a_short_text_goes_only_where_its_record_is_listed_and_as_a_word(
    history: History, body: bytes, left: bytes
) -> None:
    short = history.record("tea")
    listed = history.file("raw/openclaw/a.md", body, records=[short.record_id])
    other = history.file("raw/openclaw/b.md", body + b"other\n")
    plan = history.plan(short.record_id)
    assert (after(plan, listed), after(plan, other)) == (left, other.body())


# Derived ----------------------------------------------------------------------------------------------------------


def test_what_was_derived_goes_when_all_its_sources_do(history: History) -> None:
    secret, other = history.record(TEXT), history.record("Something else of his.")
    summary = history.record("He has a passport.", related_records=[_link(secret)])
    second = history.record("He can travel abroad.", related_records=[_link(summary)])
    mixed = history.record("A summary of two things.", related_records=[_link(secret), _link(other)])
    loose = history.record("Not derived from it.", related_records=[_link(secret, "caused_by")])
    plan = history.plan(secret.record_id, derived=True)
    assert set(plan.record_ids) == {each.record_id for each in (secret, summary, second)}
    assert plan.spared == (mixed.record_id,)
    assert loose.leaf.digest not in plan.leaves
    assert history.plan(secret.record_id).record_ids == (secret.record_id,)


def test_a_source_that_is_no_record_any_more_keeps_nothing(history: History) -> None:
    secret = history.record(TEXT)
    links = [_link(secret), {"id": "019a0000-0000-7000-8000-00000000dead", "relation": "derived_from"}]
    summary = history.record("He has a passport.", related_records=links)
    assert summary.record_id in history.plan(secret.record_id, derived=True).record_ids


# Passages -----------------------------------------------------------------------------------------------------------


def test_a_passage_goes_from_records_and_files_and_the_rest_stays(history: History) -> None:
    first = history.record(TEXT, tags=["X1234567", "travel"], entities=[{"name": "X1234567", "type": "other"}])
    file = history.file("raw/openclaw/a.md", f"# {TEXT}\n".encode(), records=[first.record_id])
    plan = history.plan(text="X1234567", passage=True)
    made = memory_records.parse_record(after(plan, first) or b"")
    assert (made["content"], made["tags"], made["entities"][0]["name"]) == ("The passport is .", ["", "travel"], "")
    assert after(plan, file) == b"# The passport is .\n"
    assert (plan.record_ids, plan.partitions) == ((), (PARTITION,))


def test_a_record_that_says_nothing_but_the_passage_becomes_a_tombstone(history: History) -> None:
    made = history.record("X1234567")
    left = memory_records.parse_record(after(history.plan(text="X1234567", passage=True), made) or b"")
    assert (left["id"], left["content"], left["status"]) == (made.record_id, "[deleted]", "deleted")


# Files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["identity.json", "principals.json", "history/identity/1.json", "raw/openclaw/a.json", "artifacts/a.json"]
)
def test_documents_are_cut_and_still_read(history: History, path: str) -> None:
    document = sample_states.make_identity(role="assistant of X1234567", goals=["X1234567", "help"])
    item = history.file(path, json_codec.encode_pretty(document))
    left = json.loads(after(history.plan(text="X1234567"), item) or b"")
    assert left["structured"] == {**document["structured"], "role": "assistant of ", "goals": ["", "help"]}


def test_the_manifest_keeps_its_agent_and_its_partitions(history: History) -> None:
    head = sample_states.make_head(partitions=[{"file": PARTITION, "from": "2026-10-01", "to": None, "sealed": False}])
    item = history.file("manifest.json", json_codec.encode_pretty(head))
    assert json.loads(after(history.plan(text="Ada"), item) or b"")["agent"]["name"] == ""
    plan = history.plan(text="2026-Q4.jsonl")
    assert (plan.leaves, plan.names) == ({}, ("manifest.json",))


def test_names_that_hold_a_match_are_told_and_stay(history: History) -> None:
    history.file("raw/openclaw/X1234567.md", b"nothing\n")
    history.file("raw/openclaw/link", b"", type="link", target="to/X1234567")
    plan = history.plan(text="X1234567")
    assert plan.leaves == {}
    assert plan.names == ("raw/openclaw/X1234567.md", "raw/openclaw/link")
    assert {hit.kind for hit in plan.hits} == {"name"}


def test_what_is_not_held_is_passed_over(history: History) -> None:
    def absent() -> bytes:
        raise KeyError("artifacts/large.bin")

    history.items.append(PurgeItem(merkle.new_leaf(b"X1234567"), absent, path="artifacts/large.bin"))
    assert history.plan(text="X1234567").leaves == {}


def test_a_body_that_cannot_be_cut_is_told(history: History) -> None:
    item = history.file("artifacts/a.bin", b"\0\1X1234567")
    plan = history.plan(text="X1234567")
    assert (after(plan, item), plan.dropped, plan.files) == (b"", ("artifacts/a.bin",), {"artifacts/a.bin": 1})


def test_one_leaf_under_two_paths_is_cut_for_both(history: History) -> None:
    body = b'{"a":"X1234567","b":"yes"}\n{"c":1}\n'
    first = history.file(LOG, body)
    history.items.append(first._replace(path="raw/openclaw-home/db/main/rows.jsonl"))
    plan = history.plan(text="X1234567")
    assert b"X1234567" not in (after(plan, first) or b"") and after(plan, first) is not None
    assert set(plan.files) == {LOG, "raw/openclaw-home/db/main/rows.jsonl"}


def test_hits_say_where_once_and_masked(history: History) -> None:
    made = history.record(TEXT)
    for number in range(3):
        history.file("raw/openclaw/a.md", f"{number}\na\nX1234567 twice X1234567\n".encode())
    plan = history.plan(wanted=PurgeTerms(patterns=(compile_pattern(r"X\d{7}"),)))
    assert plan.hits == [
        PurgeMatch(made.record_id or "", None, "····67", "record"),
        PurgeMatch("raw/openclaw/a.md", 3, "····67", "file"),
    ]
    assert plan.files == {"raw/openclaw/a.md": 6}


# Vectors ------------------------------------------------------------------------------------------------------------


def _vectors(history: History, *named: PurgeItem, first: float = 0.5) -> dict[str, PurgeItem]:
    listed = [
        RecordVector(PARTITION, item.record_id or "", sample_states.make_embedding([first + number, 0.25]))
        for number, item in enumerate(named)
    ]
    return {path: history.file(path, body) for path, body in pack_vectors(listed).items()}


def test_vectors_go_from_every_version_of_their_files(history: History) -> None:
    secret, other, third = history.record(TEXT), history.record("Likes coffee."), history.record("Likes cake.")
    versions = [_vectors(history, other, secret), _vectors(history, other, secret, third), _vectors(history, third)]
    plan = history.plan(secret.record_id)
    for version, kept in zip(versions, ([other], [other, third], [third]), strict=True):
        state = sample_states.MemoryState()
        for path, item in version.items():
            state.put(path, after(plan, item) or b"")
        found = embeddings.StateVectors(state)
        assert [len(found.of(each.record_id or "")) for each in (secret, *kept)] == [0, *(1 for _ in kept)]
    assert after(plan, versions[2][f"{embeddings.folder_for(PARTITION)}0.bin"]) == embeddings.encode_float32(
        [0.5, 0.25]
    )


def test_of_vector_files_whose_index_is_not_certain_nothing_is_left(history: History) -> None:
    secret, other = history.record(TEXT), history.record("Likes coffee.")
    versions = [_vectors(history, other, secret), _vectors(history, secret, other, first=3.0)]
    plan = history.plan(secret.record_id)
    binary, index = (f"{embeddings.folder_for(PARTITION)}0.{name}" for name in ("bin", "json"))
    assert [after(plan, version[binary]) for version in versions] == [b"", b""]
    assert [json_codec.decode_json(after(plan, version[index]) or b"") for version in versions] == [{"vectors": []}] * 2
    assert plan.dropped == (binary,)


def test_an_index_of_many_is_changed_in_few_places(history: History) -> None:
    secret = history.record(TEXT)
    others = [history.record(f"Fact number {number} of many.") for number in range(60)]
    _vectors(history, *others[:30], secret, *others[30:])
    plan = history.plan(secret.record_id)
    edits = [edit for each in plan.leaves.values() if each is not None for edit in each.edits]
    assert sum(len(edit.insert) for edit in edits) < 200


# Again --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [("X1234567", "Y7654321"), ("Y7654321", "X1234567"), ("blue X1234567", "blue ")])
def test_a_plan_over_an_earlier_purge_counts_in_the_bytes_before_it(history: History, order: tuple[str, str]) -> None:
    body = b'{"a":"blue X1234567 and","n":[12,"blue Y7654321"]}'
    for path in ("raw/openclaw/a.json", "raw/openclaw/a.md"):
        history.file(path, body)
    earlier = history.plan(text=order[0], passage=True)
    known = Redactions([Redaction("one", sample_states.AGENT_ID, RECORDS, "", "", "", leaves=earlier.leaves)])
    left = [item._replace(body=partial(_left, earlier, item), leaf=Leaf(item.leaf.digest)) for item in history.items]
    wanted = PurgeTerms((order[1],))
    later = plan_cuts(lambda: left, sample_states.AGENT_ID, (), wanted, PurgeOptions(passage=True), known)
    for item in history.items[-2:]:
        made = after(later, item) or b""
        assert not any(text.encode() in made for text in order)
        assert merkle.leaf_holds(later.leaves[item.leaf.digest].leaf, made)


def _left(plan: CutPlan, item: PurgeItem) -> bytes:
    return after(plan, item) or b""
