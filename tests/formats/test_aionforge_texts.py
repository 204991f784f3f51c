"""Aionforge without an instance: parsing of its texts and data, times, ids, and round trips."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifeboat_adapters.item_fates import ItemOutcome, count_outcomes
from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.memory import memory_records
from lifeboat_alf.testing.sample_states import make_record
from lifeboat_formats.aionforge import (
    aionforge_mapping,
    aionforge_times,
    core_blocks,
    instance_address,
    instance_export,
    node_records,
    nodes,
    send_plan,
    text_form,
)
from lifeboat_formats.aionforge.aionforge_format import FORMAT
from lifeboat_formats.aionforge.instance_address import AssertedPrincipal
from lifeboat_formats.aionforge.sent_notes import SentNotes
from lifeboat_formats.aionforge.text_form import UnreadableAnswer
from lifeboat_formats.interchange.errors import SourceRefused
from support.formats import fake_aionforge
from support.formats.aionforge_instances import AGENT, NOW, around, running, state_of

ID = "019a0000-0000-7000-8000-00000000cafe"
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)
FIELDS = sorted({*aionforge_mapping.TIMES, *aionforge_mapping.RELATIONS, *aionforge_mapping.PLAIN})
FIELDS += ["ingested_at", "namespace", "status", "stats", "keywords", "superseded_by", "role", "session_id"]
FIELDS += ["entity_type", "canonical_name", "body", "title", "description"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


# The text form ------------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4))
def test_what_stands_in_a_text_comes_out_as_it_went_in(said: list[tuple[str, str]]) -> None:
    made = [{"id": ID, "kind": "episode", "namespace": name, "ingested_at": "x", "body": body} for name, body in said]
    text = fake_aionforge._wrapped("hits: 1", [fake_aionforge._tag(node, node["body"], []) for node in made])
    found = list(text_form.parse_memories(text))
    assert [(each.attributes["ns"], each.text) for each in found] == said


@settings(max_examples=200)
@given(TEXTS, st.integers(0, 400))
def test_a_text_that_is_cut_off_never_gives_a_memory_that_was_not_there(body: str, end: int) -> None:
    node = {"id": ID, "kind": "episode", "namespace": "n", "ingested_at": "x", "body": body}
    text = fake_aionforge._wrapped("hits: 1", [fake_aionforge._tag(node, body, [])])[:end]
    try:
        found = list(text_form.parse_memories(text))
    except UnreadableAnswer:
        return
    assert [each.text for each in found] in ([], [body])


@settings(max_examples=300)
@given(st.text(alphabet='<memory id="x">/& \n[]_=|ltg;capture0', max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (
        lambda: list(text_form.parse_memories(text)),
        lambda: text_form.parse_figures(text, "search"),
        lambda: text_form.parse_batch_receipts(text, 2),
        lambda: text_form.parse_receipt(text),
        lambda: text_form.parse_created_id(text),
    ):
        try:
            read()
        except UnreadableAnswer:
            continue
    text_form.ids_by_line(text)
    text_form.unescape_text(text)


def test_scanning_takes_time_in_proportion_to_the_text() -> None:
    many = "\n".join(["<memory " + 'a="b" ' * 50 + ">x</memory>"] * 2000)
    assert len(list(text_form.parse_memories(many))) == 2000
    for hostile in ("<memory " * 200_000, "<memory >" * 100_000, "&" * 500_000, "[capture] " * 100_000):
        with contextlib.suppress(UnreadableAnswer):
            list(text_form.parse_memories(f"\n{hostile}"))
        text_form.unescape_text(hostile)


def test_escapes_are_taken_off_once() -> None:
    assert text_form.unescape_text("&amp;lt; &lt;b&gt; &amp;amp; &quot;") == '&lt; <b> &amp; "'


def test_receipts_are_read_in_their_order() -> None:
    text = (
        f"[batch_capture] items=3 new=1 dup=1 err=1\n[capture] {ID} verdict=near_duplicate(0.031) redactions=2"
        f" flags=1[injection] emb=embedded ns=agent:x\nERR_ITEM[1] ERR_CAPTURE: residue of 'a text'\n"
        f"[capture] {ID} verdict=exact_duplicate redactions=0 flags=0 emb=not_requested ns=global"
    )
    first, second, third = text_form.parse_batch_receipts(text, 3)
    assert (first.id, first.verdict, first.redactions, first.flags) == (ID, "near_duplicate", 2, 1)
    assert (second.id, second.error) == ("", "ERR_CAPTURE")
    assert third.verdict == "exact_duplicate"


@pytest.mark.parametrize(
    "text",
    [
        "[batch_capture] items=2 new=2 dup=0 err=0\n[capture] " + ID + " verdict=new",
        "[batch_capture] items=1 new=1 dup=0 err=0\n[capture] nothing verdict=new",
        "[batch_capture] items=1 new=1 dup=0 err=0\nERR_ITEM[5] ERR_CAPTURE: x",
        "disabled",
        "",
    ],
)
def test_receipts_that_do_not_add_up_are_no_receipts(text: str) -> None:
    with pytest.raises(UnreadableAnswer):
        text_form.parse_batch_receipts(text, 1)


def test_a_tool_that_is_switched_off_says_so() -> None:
    assert text_form.is_disabled("[forget] disabled reason=forgetting.enabled=false")
    assert not text_form.is_disabled(f"[pin] {ID} pinned disabled")


# Data ---------------------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(
    JSON
    | st.fixed_dictionaries(
        {"id": st.just(ID), "kind": st.sampled_from([*aionforge_mapping.KINDS, "odd"]), "body": JSON}
    )
)
def test_any_data_is_a_node_or_refused_and_a_node_is_a_record(found: Any) -> None:
    try:
        node = nodes.node_from_data(found)
    except UnreadableAnswer:
        return
    made = node_records.record_from_node(node)
    assert made["content"] and made["temporal"]["created_at"] and made["memory_type"]
    memory_records.check_shape(made, entry="x", line=1)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([*aionforge_mapping.KINDS, "odd"]),
    st.dictionaries(
        st.sampled_from(FIELDS),
        JSON,
        max_size=6,
    ),
)
def test_fields_that_are_nonsense_do_no_harm_and_come_back(kind: str, fields: JsonObject) -> None:
    node = nodes.make_node(ID, kind, fields)
    made = node_records.record_from_node(node)
    memory_records.check_shape(made, entry="x", line=1)
    back = node_records.node_of(json_codec.decode_json(json_codec.encode_json(made)))
    assert back is not None and (back.id, back.kind, back.fields) == (node.id, node.kind, node.fields)
    assert node_records.is_original(made)
    row = node_records.row_of_node(node)
    section = node_records.section_from_node(row)
    assert node_records.row_of_record({"content": section.text, **section.fields}, "root") == row


def test_data_that_was_cut_short_or_is_nested_too_deep_is_refused() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]
    for found in (
        {"id": ID, "kind": "episode", "body": "x", "body_truncated": True},
        {"id": ID, "kind": "episode", "body": deep},
        {"kind": "episode"},
        {"id": ID},
        [],
    ):
        with pytest.raises(UnreadableAnswer):
            nodes.node_from_data(found)


def test_relations_validity_and_stats_are_mapped_where_a_release_sends_them() -> None:
    other = ID.replace("cafe", "beef")
    fields = {
        "ingested_at": "2026-06-07T12:00:00.123456789+02:00[Europe/Berlin]",
        "statement": "Ada works on the harbour.",
        "about": {"valid_from": "2026-01-01T00:00:00Z", "valid_to": "2026-02-01T00:00:00Z"},
        "stats": {"last_access": "2026-03-01T00:00:00Z", "access_count_recent": 4, "is_pinned": True},
        "confidence": 0.75,
        "contradicts": [{"id": other, "detected_by": "rule"}],
        "supports": [other],
        "keywords": ["harbour"],
        "entities": [{"canonical_name": "Ada", "entity_type": "person"}],
    }
    found = nodes.make_node(ID, "fact", fields)
    facts = list(instance_export.records_of([found, nodes.make_node(other, "episode", {"body": "x"})]))
    made = next(each for each in facts if each["id"] == ID)
    assert made["temporal"] == {
        "created_at": "2026-06-07T10:00:00.123Z",
        "valid_from": "2026-01-01T00:00:00.000Z",
        "valid_until": "2026-02-01T00:00:00.000Z",
        "last_accessed_at": "2026-03-01T00:00:00.000Z",
        "access_count": 4,
    }
    relations = {(each["relation"], each["id"]) for each in made["related_records"]}
    assert relations == {("contradicts", other), ("derived_from", other)}
    assert (made["confidence"], made["tags"], made["pinned"]) == (0.75, ["harbour"], True)
    assert made["entities"] == [{"name": "Ada", "type": "person"}]


def test_predecessors_come_first_whatever_their_times_and_circles_end() -> None:
    a, b, c = (ID.replace("cafe", name) for name in ("000a", "000b", "000c"))
    late = {"ingested_at": "2026-06-09T00:00:00Z", "body": "old", "superseded_by": b}
    early = {"ingested_at": "2026-06-08T00:00:00Z", "body": "new"}
    third = {"ingested_at": "2026-06-07T00:00:00Z", "body": "merged", "superseded_by": b}
    found = [nodes.make_node(id, "episode", fields) for id, fields in ((b, early), (a, late), (c, third))]
    made = list(instance_export.records_of(found))
    assert [each["id"] for each in made] == [c, a, b]
    assert made[2]["supersedes"] == a and made[2]["related_records"] == [{"id": c, "relation": "supersedes"}]
    circle = [nodes.make_node(a, "episode", {"supersedes": b}), nodes.make_node(b, "episode", {"supersedes": a})]
    assert len(list(instance_export.records_of(circle))) == 2


# Times, ids, addresses ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-06-07T12:00:00.123456789+00:00[UTC]", "2026-06-07T12:00:00.123Z"),
        ("2026-06-07T12:00:00+02:00[Europe/Berlin][u-ca=iso8601]", "2026-06-07T10:00:00.000Z"),
        ("2026-06-07T12:00:00Z", "2026-06-07T12:00:00.000Z"),
        ("2026-06-07T12:00:00", None),
        ("none", None),
        ("[" * 500, None),
        (None, None),
        (12, None),
    ],
)
def test_times_are_read_without_the_name_of_their_zone(written: Any, read: str | None) -> None:
    assert aionforge_times.normalize_time(written) == read


def test_ids_are_kept_or_follow_from_the_id_that_is_there() -> None:
    version_8 = "8f14e45f-ceea-867f-9d0a-1b2c3d4e5f60"
    assert aionforge_mapping.record_id(ID, None) == ID
    derived = aionforge_mapping.record_id(version_8, "2026-06-07T12:00:00.123456789+00:00[UTC]")
    assert derived == ids.derive_id(1780833600123, f"aionforge\0{version_8}") and ids.is_version_7(derived)


def test_an_address_says_where_and_as_whom() -> None:
    found = instance_address.parse_address(f"http://127.0.0.1:3918#agent={AGENT}&teams=a,%20b")
    assert (found.url, found.principal) == ("http://127.0.0.1:3918/mcp", AssertedPrincipal(AGENT, ("a", "b")))
    told = instance_address.parse_address("stdio:aionforge serve 'std io'", AssertedPrincipal(AGENT))
    assert (told.command, told.principal.agent_id) == (("aionforge", "serve", "std io"), AGENT)
    assert "hidden" not in repr(instance_address.parse_address("https://example.com/mcp", token="hidden"))
    with pytest.raises(SourceRefused):
        instance_address.parse_address("http://example.com/#agent=../../x")


def test_a_soul_that_stands_there_is_not_taken_over() -> None:
    core = nodes.make_node(ID, "core", {"block_kind": "persona", "content": "You are a pilot."})
    other = nodes.make_node(ID.replace("cafe", "beef"), "core", {"block_kind": "persona", "content": "You are kind."})
    first = core_blocks.build_identity([core], "Ada", None)
    assert first["prose"] == {"soul": "You are a pilot."}
    assert core_blocks.build_identity([core], "Ada", first) == first
    kept = core_blocks.build_identity([core], "Ada", {"prose": {"soul": "Mine."}, "x_other": 1})
    assert kept["prose"]["soul"] == "Mine." and kept["x_other"] == 1 and len(kept["prose"]["custom_blocks"]) == 1
    two = core_blocks.build_identity([core, other], "Ada", first)
    assert "soul" not in two["prose"] and len(two["prose"]["custom_blocks"]) == 2


def test_notes_that_are_no_notes_are_left_alone() -> None:
    kept = {"a": "b", "c": [1, 2, 3, 4], "d": [ID, NOW, False, False]}
    sent = SentNotes(
        {f"sent {AGENT} x": kept, "else": 5, f"sent {AGENT} y": None, "sent token z": {"e": kept["d"]}}, AGENT
    )
    assert sent.get("e") is None, "what was sent as somebody else"
    assert sent.get("a") is None and sent.get("c") is None
    found = sent.get("d")
    assert found is not None and found.id == ID


# Round trips --------------------------------------------------------------------------------------------------------


@st.composite
def agents(draw: st.DrawFn) -> list[JsonObject]:
    """Draw the memories of an agent: chains, sessions, kinds and fields of all sorts."""
    made: list[JsonObject] = []
    for place in range(draw(st.integers(1, 6))):
        words = draw(st.text(st.characters(categories=("L", "N", "P", "Zs"), exclude_characters="@"), max_size=30))
        fields: JsonObject = {"memory_type": draw(st.sampled_from(["episodic", "semantic", "preference"]))}
        fields["source"] = {"runtime": "test", "session_id": draw(st.sampled_from(["monday", ID, ""]))}
        if draw(st.booleans()):
            fields["tags"] = ["tag"]
        if made and draw(st.booleans()):
            fields["supersedes"] = made[-1]["id"]
        made.append(make_record(f"Memory {place}: {words}", **fields))
    return made


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(agents(), st.sampled_from(["head", "0.3.0"]))
def test_an_agent_comes_back_from_an_instance_with_all_that_it_can_hold(made: list[JsonObject], profile: str) -> None:
    notes: JsonObject = {}
    state = state_of(made)
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "store.json", profile) as found:
        done = FORMAT.send(state, found.address, {"allow-secrets": True}, around(notes))
        with FORMAT.read(found.address, {}, around(notes)) as reading_back:
            back = {each["id"]: each for each in reading_back.records}
    told = {fate.name: fate for fate in done.fates if fate.kind == "memory"}
    assert told.keys() == {each["id"] for each in made}
    stored = {id for id, fate in told.items() if fate.outcome in (ItemOutcome.ACCEPTED, ItemOutcome.TRANSFORMED)}
    assert stored == back.keys() & told.keys()
    for each in made:
        if each["id"] not in stored:
            continue
        other, fate = back[each["id"]], told[each["id"]]
        if fate.code != "altered":
            assert other["content"] == each["content"]
        assert other["temporal"]["observed_at"] == aionforge_times.normalize_time(each["temporal"]["created_at"])
        assert other["source"].get("session_id", "") == each["source"]["session_id"]
        if each.get("supersedes") in stored:
            assert other.get("supersedes") == each["supersedes"]
        missing = [word for name, word in (("tags", "tags"),) if each.get(name)]
        missing += ["type"] if each["memory_type"] != "episodic" else []
        if fate.code != "altered":
            assert all(word in fate.reason for word in missing), "what is lost is not in the receipt"


def test_losses_and_what_is_sent_tell_the_same() -> None:
    state = state_of([make_record("One.", memory_type="semantic"), make_record("Two.", memory_type="episodic")])
    made = send_plan.plan_sending(state, AssertedPrincipal(AGENT), None)
    assert count_outcomes(send_plan.list_losses(made))["transformed"] == 1 and len(made.items) == 2
