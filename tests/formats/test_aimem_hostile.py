"""Hostile bundles, requests and tenants: what they cannot reach, take over, or exhaust."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_formats.aimem import brain_routes as profile
from lifeboat_formats.aimem.wire import bundle_signatures
from lifeboat_formats.aimem.wire.bundle_model import BundleRefused
from support.endpoint.served_apps import ServedApp, bearer
from support.endpoint.served_apps import served as served  # a fixture
from support.formats import aimem_bundles as made
from support.formats.aimem_states import apply, codes, counts, only, planned, records_of, taken
from support.formats.aimem_states import bundle_of as written
from support.formats.brain_servers import LINES, BrainServer, contents
from support.formats.brain_servers import brain as brain  # a fixture

LATER = "2026-05-01T09:30:00Z"
VICTIM = "01900000-0000-7000-8000-00000000beef"


def one(local: str = "c1", content: str = "The shop opens at nine.", **changes: Any) -> JsonObject:
    return made.bundle(chunks=[made.chunk(local, content, **changes)])


def victim(**changes: Any) -> MemoryState:
    """Return a state with a memory whose id an attacker knows."""
    state = MemoryState()
    state.add({**sample_states.make_record("Pays by invoice.", **changes), "id": VICTIM})
    return state


# What a bundle says of its records in our own words -------------------------------------------------------------------


@pytest.mark.parametrize("status", ["deleted", "archived", "superseded"])
def test_a_bundle_cannot_bring_memories_that_nobody_sees(status: str) -> None:
    assert only(taken(one(x_alf={"status": status})))["status"] == "active"


def test_a_bundle_cannot_delete_what_it_may_update() -> None:
    state = taken(one())
    plan = apply(state, planned(state, one(created_at=LATER, content="Gone.", x_alf={"status": "deleted"})))
    assert counts(plan)["updated"] == 1
    assert (only(state)["status"], only(state)["content"]) == ("active", "Gone.")


@pytest.mark.parametrize(
    "said",
    [
        {"id": VICTIM},
        {"agent_id": VICTIM},
        {"supersedes": VICTIM},
        {"content": "Something else."},
        {"related_records": [{"id": VICTIM, "relation": "related_to"}]},
        {"entities": [{"name": "X", "type": "person"}]},
        {"embeddings": [sample_states.make_embedding([1.0])]},
        {"pinned": True},
        {"missing_at_source": True},
        {"x_aimem": {"is_pinned": True, "id": "urn:aimem:a:b"}},
        {"x_alf": {"status": "deleted"}},
    ],
    ids=lambda said: next(iter(said)),
)
@pytest.mark.parametrize("where", ["x_alf", "ext", "chunk"])
def test_a_bundle_cannot_set_what_its_chunk_does_not_say(said: JsonObject, where: str) -> None:
    if where == "chunk":
        members = {name: value for name, value in said.items() if name not in ("id", "content", "x_alf")}
    else:
        members = {"x_alf": said if where == "x_alf" else {"ext": said}}
    plain = only(taken(one()))
    found = only(taken(one(**members)))
    foreign, own = found.pop("x_aimem"), plain.pop("x_aimem")
    foreign.pop("unknown", None)
    assert (found, foreign) == (plain, own)


@pytest.mark.parametrize(
    "said",
    [
        {"status": 5},
        {"source": {"runtime": ["x"]}},
        {"temporal": {}},
        {"temporal": {"created_at": "soon"}},
        {"temporal": {"created_at": "2026-04-01T09:30:00Z", "valid_from": "never"}},
        {"confidence": 7},
        {"namespace": None},
        {"memory_type": "preference"},
        {"raw_source_format": "text"},
        {"ext": ["x"]},
        {"part": {"n": 1, "of": 10**9, "sha256": "x"}},
        "text",
        [],
        None,
    ],
    ids=str,
)
def test_what_fits_no_record_is_not_believed(said: Any) -> None:
    found = only(taken(one(x_alf=said)))
    assert (found["memory_type"], found["status"], found["namespace"]) == ("semantic", "active", "default")
    assert found["temporal"] == {"created_at": "2026-04-01T09:30:00Z"}


def test_a_type_that_is_not_protected_stays_so_whatever_is_said_of_it() -> None:
    found = taken(one(x_alf={"memory_type": "preference", "category": "decision", "ext": {"pinned": True}}))
    assert counts(planned(found, one(content="Newer.", created_at=LATER)))["updated"] == 1


# Ids that others have -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ours", [{}, {"x_alf": {}}], ids=["plain", "as ours"])
@pytest.mark.parametrize("local", [VICTIM, VICTIM.upper()])
def test_an_id_that_a_memory_has_is_that_memory_and_not_a_new_one_over_it(local: str, ours: JsonObject) -> None:
    state = victim()
    before = records_of(state)[VICTIM]
    apply(state, planned(state, one(local, "Mine now.", created_at="2001-01-01T00:00:00Z", **ours)))
    assert records_of(state)[VICTIM] == before


def test_a_protected_memory_is_not_changed_by_whoever_knows_its_id() -> None:
    state = victim(memory_type="preference")
    plan = planned(state, one(VICTIM, "Mine now.", created_at="2099-01-01T00:00:00Z", x_alf={}))
    assert codes(plan) == ["dna_protected"] and not plan.updates and not plan.inserts


def test_no_memory_is_superseded_by_a_bundle() -> None:
    state = victim()
    field = {"field": "supersedes"}
    ends = [made.chunk("c1", "Newer."), made.chunk(VICTIM, "Pays by invoice.", created_at="2001-01-01T00:00:00Z")]
    edge = made.edge("c1", VICTIM, edge_type="x-supersedes", x_alf=field)
    plan = apply(state, planned(state, made.bundle(chunks=ends, edges=[edge])))
    assert [record.get("supersedes") for record in plan.inserts] == [None]
    assert any(chunk["content"] == "Pays by invoice." for chunk in written(state).chunks)


def test_two_names_for_one_id_are_two_memories_and_none_is_lost() -> None:
    named = {"id": f"urn:aimem:one:{VICTIM}"}, {"id": f"urn:aimem:two:{VICTIM}"}
    chunks = [made.chunk(content=f"From {each['id']}.", x_alf={}, **each) for each in named]
    plan = planned(MemoryState(), made.bundle(chunks=chunks))
    assert len({record["id"] for record in plan.inserts}) == counts(plan)["inserted"] == 2


def test_the_id_that_follows_from_a_name_is_not_taken_away_by_a_claim() -> None:
    chunk = made.chunk("c1", "Whose id follows from its name.")
    derived = only(taken(made.bundle(chunks=[chunk])))["id"]
    thief = made.chunk(derived, "Claims it.", x_alf={})
    plan = planned(MemoryState(), made.bundle(chunks=[thief, chunk]))
    found = {record["content"]: record["id"] for record in plan.inserts}
    assert found["Whose id follows from its name."] == derived
    assert len(set(found.values())) == 2


def test_a_long_memory_and_a_short_one_of_one_id_are_two() -> None:
    def part(number: int) -> JsonObject:
        return made.chunk(id=f"urn:aimem:long:{VICTIM}.p{number}", content=f"Part {number}.")

    tie = {**made.edge(edge_type="x-part-of", weight=1.0), "source_id": part(2)["id"], "target_id": part(1)["id"]}
    short = made.chunk(id=f"urn:aimem:short:{VICTIM}", content="Short.", x_alf={})
    plan = planned(MemoryState(), made.bundle(chunks=[part(1), part(2), short], edges=[tie]))
    assert {record["content"] for record in plan.inserts} == {"Part 1.Part 2.", "Short."}
    assert len({record["id"] for record in plan.inserts}) == 2


def test_two_names_of_one_memory_add_their_edges_both() -> None:
    state = victim()
    ends = [made.chunk(f"{VICTIM}", "Pays by invoice.", id=f"urn:aimem:{each}:{VICTIM}") for each in ("one", "two")]
    said = records_of(state)[VICTIM]["temporal"]["created_at"]
    ends = [{**each, "created_at": said, "tags": [], "zone": None} for each in ends]
    others = [made.chunk("a", "A."), made.chunk("b", "B.")]
    edges = [
        {**made.edge("x", "a"), "source_id": ends[0]["id"]},
        {**made.edge("x", "b"), "source_id": ends[1]["id"]},
    ]
    plan = apply(state, planned(state, made.bundle(chunks=[*ends, *others], edges=edges)))
    assert plan.summary["edges_inserted"] == len(records_of(state)[VICTIM]["related_records"]) == 2


# A refused chunk ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protected", [True, False])
def test_a_chunk_that_is_refused_adds_nothing_to_what_is_here(protected: bool) -> None:
    kind = "preference" if protected else "fact"
    state = taken(one(memory_type=kind))
    moment = LATER if protected else "2026-04-01T09:30:00Z"
    other = made.bundle(
        chunks=[made.chunk("c1", "Poison.", memory_type=kind, created_at=moment), made.chunk("c2", "Two.")],
        edges=[made.edge("c1", "c2"), made.edge("c2", "c1")],
        entities=[made.entity("e1", "Mallory", kind="person")],
        chunk_entities=[made.link("c1", "e1")],
    )
    plan = planned(state, other)
    assert codes(plan) == ["dna_protected" if protected else "idempotency_conflict"]
    assert plan.updates == []
    assert (plan.summary["edges_inserted"], plan.summary["chunk_entities_inserted"]) == (1, 0)
    assert sum(1 for fate in plan.fates if fate.outcome.value == "rejected") == 3


def test_edges_of_a_refused_chunk_that_are_here_already_are_told_so() -> None:
    bundle = made.sample()
    state = taken(bundle)
    changed = made.bundle(
        **{name: bundle[name] for name in ("embedding_dim", "embedding_model", "edges", "entities", "chunk_entities")},
        chunks=[{**each, "tags": ["other"]} for each in bundle["chunks"]],
    )
    plan = planned(state, changed)
    assert set(codes(plan)) == {"field_conflict"} and plan.updates == []
    assert plan.summary["edges_skipped"] == len(bundle["edges"]) > 0


# What would use up memory or time -------------------------------------------------------------------------------------


def test_one_long_entity_that_everybody_names_is_refused() -> None:
    count = 500
    bundle = made.bundle(
        chunks=[made.chunk(f"c{number}", f"Number {number}.") for number in range(count)],
        entities=[made.entity("e1", "N" * 200_000)],
        chunk_entities=[made.link(f"c{number}", "e1") for number in range(count)],
    )
    with pytest.raises(BundleRefused) as caught:
        planned(MemoryState(), bundle)
    assert (caught.value.format_code, caught.value.status, caught.value.where) == ("too_large", 413, "chunk_entities")


def test_many_links_to_entities_of_usual_size_are_taken() -> None:
    count = 3000
    bundle = made.bundle(
        chunks=[made.chunk(f"c{number}", f"Number {number}.") for number in range(count)],
        entities=[made.entity("e1", "N" * 300)],
        chunk_entities=[made.link(f"c{number}", "e1") for number in range(count)],
    )
    assert planned(MemoryState(), bundle).summary["chunk_entities_inserted"] == count


def test_a_memory_with_many_edges_is_taken_again_in_time() -> None:
    count = 1500
    bundle = made.bundle(
        chunks=[made.chunk(f"c{number}", f"Number {number}.") for number in range(count)],
        edges=[made.edge("c0", f"c{number}") for number in range(1, count)]
        + [made.edge(f"c{number}", "c0") for number in range(1, count)],
        entities=[made.entity(f"e{number}", f"Name {number}") for number in range(count)],
        chunk_entities=[made.link("c0", f"e{number}") for number in range(count)],
    )
    state = taken(bundle)
    start = time.process_time()
    plan = planned(state, bundle)
    passed = time.process_time() - start
    assert plan.summary["edges_skipped"] == 2 * (count - 1) and not plan.updates
    assert passed < 20, "each edge must not cost a pass over all of them"


def test_a_long_memory_that_many_point_to_is_read_once() -> None:
    hub = made.chunk("hub", "word " * 100_000)
    others = [made.chunk(f"c{number}", f"Number {number}.") for number in range(800)]
    state = taken(made.bundle(chunks=[hub, *others]))
    edges = [made.edge(f"c{number}", "hub") for number in range(800)]
    start = time.process_time()
    plan = planned(state, made.bundle(chunks=[hub, *others], edges=edges))
    assert plan.summary["edges_inserted"] == 800 and time.process_time() - start < 10


def test_memories_of_every_quarter_since_the_year_one_are_refused(brain: BrainServer) -> None:
    agent = brain.agent()
    chunks = [
        made.chunk(f"c{year}-{month}", "Long ago.", created_at=f"{year:04}-{month:02}-01T00:00:00Z")
        for year in range(1, 300)
        for month in (1, 4, 7, 10)
    ]
    answer = brain.send(made.bundle(chunks=chunks))
    assert answer.status_code == 422 and "quarters" in answer.json()["detail"]
    assert brain.head(agent) is None
    assert brain.taken(made.bundle(chunks=chunks[:400]))["inserted"] == 400
    assert brain.send(made.bundle(chunks=chunks[400:])).status_code == 422


@pytest.mark.parametrize(
    "moment",
    [
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999999Z",
        "1969-12-31T23:59:59.999Z",
        "2024-02-29T00:00:00+00:00",
        "0000-01-01T00:00:00Z",
        "2026-06-30T23:59:60Z",
        "2026-06-30T24:00:00Z",
    ],
)
def test_odd_times_are_taken_whole_or_refused_whole(brain: BrainServer, moment: str) -> None:
    agent = brain.agent()
    answer = brain.send(one(created_at=moment))
    assert answer.status_code in (200, 422), answer.text
    if answer.status_code == 200:
        (chunk,) = brain.exported()["chunks"]
        assert chunk["created_at"] == moment
        assert brain.taken(one(created_at=moment))["skipped"] == 1
    else:
        assert brain.head(agent) is None


def test_what_is_kept_counts_against_the_room_of_a_tenant(tmp_path: Path) -> None:
    from lifeboat_endpoint import endpoint_config as endpoint_settings

    app = ServedApp(tmp_path)
    file = tmp_path / "data" / endpoint_settings.FILE
    said = json.loads(file.read_bytes())
    file.write_text(json.dumps({**said, "limits": {"tenant_bytes": 600_000}}))
    with app.again().running() as client:
        server = BrainServer(app, client)
        agent = server.agent()
        bundle = made.bundle(
            chunks=[made.chunk(f"c{number}", "A.") for number in range(200)],
            entities=[made.entity("e1", "N" * 10_000)],
            chunk_entities=[made.link(f"c{number}", "e1") for number in range(200)],
        )
        assert len(made.document(bundle)) < 200_000
        assert server.send(bundle).status_code == 507
        assert server.head(agent) is None
        app.server.endpoint.close_thread()


def test_a_document_that_calls_itself_a_stream_is_refused(brain: BrainServer) -> None:
    agent = brain.agent()
    answer = brain.send(one(content="x" * 900_000, x_other="y" * 900_000), media_type=LINES)
    assert answer.status_code == 413 and "aimem-bundle+json" in answer.json()["fix"]
    assert brain.head(agent) is None


def test_a_signature_over_more_than_stands_in_memory_is_refused(
    brain: BrainServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lifeboat_endpoint.server.format_routes import FormatCall

    agent = brain.agent()
    monkeypatch.setattr(FormatCall, "largest_document", property(lambda _: 1000))
    body = made.stream(one(content="x" * 5000))
    answer = brain.send(body, media_type=LINES, headers={"AIMEM-Signature": "AAAA"})
    assert answer.status_code == 413 and "signature=skip" in answer.json()["fix"]
    assert brain.head(agent) is None
    assert brain.taken(body, media_type=LINES)["inserted"] == 1


def test_entities_that_no_memory_names_are_kept_also_by_themselves(brain: BrainServer) -> None:
    agent = brain.agent()
    bundle = made.bundle(entities=[made.entity("e1", "Alone")])
    assert brain.taken(bundle)["entities_inserted"] == 1
    head = brain.head(agent)
    assert [each["name"] for each in brain.exported()["entities"]] == ["Alone"]
    assert brain.taken(bundle)["entities_inserted"] == 0
    assert brain.head(agent) == head


# Other tenants, other agents ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["export", "export/stream", "import"])
def test_another_tenant_s_agent_is_not_there(brain: BrainServer, path: str) -> None:
    agent = brain.agent()
    brain.taken(one())
    before = brain.head(agent)
    other = {**bearer(brain.served.new_token(tenant="office")), "Content-Type": "application/json"}
    for wanted in (agent, agent.upper(), "ada", f" {agent}", f"../{agent}"):
        query: Any = {"params": {"agent": wanted}, "headers": other}
        if path == "import":
            answer = brain.client.post("/v1/brain/import", content=made.document(one(content="Poison.")), **query)
        else:
            answer = brain.client.get(f"/v1/brain/{path}", **query)
        assert answer.status_code == 404, (wanted, answer.text)
        assert "nine" not in answer.text
    assert brain.head(agent) == before


def test_the_tenant_that_a_bundle_names_opens_nothing(brain: BrainServer) -> None:
    first, second = brain.agent("ada"), brain.agent("bela")
    brain.taken(one(), agent=first)
    before = brain.head(first)
    body = made.bundle(chunks=[made.chunk("c9", "Poison.")], tenant_id=first)
    assert brain.taken(body, agent=second)["agent"] == second
    assert brain.head(first) == before
    assert contents(brain.exported(agent=first)) == {"The shop opens at nine."}


def test_the_same_names_in_two_agents_are_two_memories(brain: BrainServer) -> None:
    first, second = brain.agent("ada"), brain.agent("bela")
    brain.taken(one(), agent=first)
    before = brain.head(first)
    (theirs,) = brain.records(first)
    poison = one(theirs["id"], "Poison.", created_at="2099-01-01T00:00:00Z", x_alf={})
    assert brain.taken(poison, agent=second)["inserted"] == 1
    assert (brain.head(first), brain.records(first)) == (before, [theirs])
    assert {record["agent_id"] for record in brain.records(second)} == {second}


def test_where_a_memory_says_it_came_from_writes_no_file(brain: BrainServer) -> None:
    agent = brain.agent()
    said = {"source": {"runtime": "zeroclaw", "origin_file": "../../../../tmp/poison.md", "origin": "x"}}
    brain.taken(one(x_alf=said))
    with brain.space().vault(agent) as vault:
        paths = [entry.path for entry in vault.state().entries()]
    assert not any(".." in path or "poison" in path for path in paths)


# Signatures -----------------------------------------------------------------------------------------------------------


def test_a_signature_of_an_older_bundle_does_not_carry_a_newer_one(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(one())
    head = brain.head(agent)
    old = brain.fetch()
    forged = {**old.json(), "chunks": [made.chunk("c7", "Poison.")]}
    answer = brain.send(
        made.sealed({name: value for name, value in forged.items() if name != "checksum"}),
        headers={"AIMEM-Signature": old.headers["aimem-signature"]},
    )
    assert answer.status_code == 422 and answer.json()["code"] == "signature_invalid"
    assert brain.head(agent) == head


def test_a_replayed_bundle_with_its_signature_changes_nothing(brain: BrainServer) -> None:
    agent = brain.agent()
    brain.taken(one())
    old = brain.fetch()
    brain.taken(one(content="The shop opens at ten.", created_at=LATER))
    head = brain.head(agent)
    summary = brain.taken(old.content, headers={"AIMEM-Signature": old.headers["aimem-signature"]})
    assert (summary["inserted"], summary["updated"], brain.head(agent)) == (0, 0, head)
    assert contents(brain.exported()) == {"The shop opens at ten."}


@pytest.mark.parametrize("keys", ["AAAA", "***", base64.b64encode(b"\xa0").decode(), "\x81" * 40])
def test_keys_that_are_none_are_refused(brain: BrainServer, keys: str) -> None:
    agent = brain.agent()
    exported = brain.fetch()
    sent = {"AIMEM-Signature": exported.headers["aimem-signature"], profile.PUBLIC_KEY_HEADER: keys.encode("latin-1")}
    answer = brain.send(exported.content, headers=sent)
    assert answer.status_code == 422 and answer.json()["code"] == "signature_invalid"
    assert brain.head(agent) is None


# What was erased ------------------------------------------------------------------------------------------------------


def test_a_part_of_an_erased_long_memory_does_not_come_back_by_itself(brain: BrainServer) -> None:
    brain.agent()
    text = "The secret of the house.\n\n" * 3000
    brain.taken(one(content=text))
    old = brain.exported()
    assert len(old["chunks"]) == 2
    (agent,) = brain.space().agent_ids()
    brain.purge(agent, text)
    half = {**old, "chunks": old["chunks"][1:], "edges": []}
    plain = {**half, "chunks": [{k: v for k, v in each.items() if k != "x_alf"} for each in half["chunks"]]}
    for sent in (old, half, plain):
        bundle = made.sealed({name: value for name, value in sent.items() if name != "checksum"})
        summary = brain.taken(bundle)
        assert summary["inserted"] == 0, summary
        assert {each["code"] for each in summary["chunks_rejected_conflict"]} == {"erased"}
    assert contents(brain.exported()) == set()


@pytest.mark.parametrize("producer", ["alf-test", "alf-other", "example-com"])
@pytest.mark.parametrize("is_upper", [False, True])
def test_an_erased_memory_does_not_come_back_under_another_namespace(
    brain: BrainServer, producer: str, is_upper: bool
) -> None:
    agent = brain.agent()
    brain.taken(one())
    (record,) = brain.records(agent)
    brain.purge(agent, record["content"])
    local = record["id"].upper() if is_upper else record["id"]
    said: tuple[JsonObject, ...] = ({}, {"x_alf": {}})
    for ours in said:
        chunk = made.chunk(id=f"urn:aimem:{producer}:{local}", content="It is back.", **ours)
        summary = brain.taken(made.bundle(chunks=[chunk]))
        assert [each["code"] for each in summary["chunks_rejected_conflict"]] == ["erased"]
    assert contents(brain.exported()) == set()


def test_a_memory_that_was_deleted_came_back_and_was_erased_stays_away() -> None:
    state = taken(one())
    first = only(state)
    state.update({**first, "status": "deleted"})
    plan = apply(state, planned(state, one()))
    (second,) = plan.inserts
    assert second["id"] != first["id"]
    state = MemoryState()
    state.add({**first, "agent_id": sample_states.AGENT_ID, "status": "deleted"})
    again = planned(state, one(), erased={f"urn:aimem:x:{second['id']}"})
    assert codes(again) == ["erased"] and not again.inserts
    assert ids.is_version_7(second["id"]) and json_codec.encode_json(second)


# Keys -----------------------------------------------------------------------------------------------------------------


def test_a_key_of_the_same_name_is_not_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    mallory, trusted = (Ed25519PrivateKey.generate() for _ in range(2))
    theirs, ours = (bundle_signatures.ed25519_key(each.public_key().public_bytes_raw()) for each in (mallory, trusted))
    monkeypatch.setattr(bundle_signatures.PublicKey, "kid", b"the same")
    protected = cbor2.dumps({1: -8, 4: b"the same"})
    signed = mallory.sign(cbor2.dumps(["Signature1", protected, b"", b"payload"]))
    signature = cbor2.dumps(cbor2.CBORTag(18, [protected, {}, None, signed]))
    with pytest.raises(bundle_signatures.SignatureRefused) as caught:
        bundle_signatures.verify_detached(signature, [b"payload"], [ours])
    assert caught.value.format_code == "signature_invalid"
    for keys in ([ours, theirs], [theirs, ours]):
        assert bundle_signatures.verify_detached(signature, [b"payload"], keys) == theirs
