from __future__ import annotations

from typing import Any

import pytest

from lifeboat_alf.common import ids, times
from lifeboat_formats.aicf import aicf_mapping
from lifeboat_formats.aicf.records import file_memories
from support.formats import aicf_files


def _records(text: str | bytes, file: str = "a.aicf") -> list[dict[str, Any]]:
    return [record for _, record in file_memories.read_memories(text, file).memories()]


def _one(text: str) -> dict[str, Any]:
    (found,) = _records(text)
    return found


def _by_category(name: str) -> dict[str, dict[str, Any]]:
    return {each["category"]: each for each in reversed(_records(aicf_files.FILES[name]))}


def test_a_conversation_is_an_episode_of_its_time() -> None:
    found = _by_category("D1-specified")["aicf:conversation"]
    assert found["memory_type"] == "episodic"
    assert found["temporal"]["observed_at"] == found["temporal"]["valid_from"] == "2026-02-03T07:00:00.000Z"
    assert found["source"]["interaction_id"] == "talk_1" and found["source"]["session_id"] == "boat_7"
    assert found["x_aicf"]["timestamp_end"].startswith("2026-02-03T08") and "valid_until" not in found["temporal"]
    assert "topic:mooring_plan" in found["tags"] and found["x_aicf"]["messages"] == 12
    assert {each["role"] for each in found["entities"]} == {"participant"}


def test_the_state_elaborates_on_its_conversation() -> None:
    found = _by_category("D1-specified")
    conversation, state = found["aicf:conversation"], found["aicf:state"]
    assert state["memory_type"] == "summary"
    assert state["related_records"] == [{"id": conversation["id"], "relation": "elaborates_on"}]


def test_insights_derive_from_the_conversation_and_are_known_since_its_end() -> None:
    found = _by_category("D1-specified")
    insight, conversation = found["aicf:insight"], found["aicf:conversation"]
    assert {"id": conversation["id"], "relation": "derived_from"} in insight["related_records"]
    assert insight["temporal"]["observed_at"][:13] == conversation["x_aicf"]["timestamp_end"][:13]
    assert insight["x_aicf"]["observed"] == "inferred"


@pytest.mark.parametrize(("cell", "expected"), [("HIGH", 0.9), ("medium", 0.6), ("LOW", 0.3), ("0.42", 0.42)])
def test_confidence_is_a_number(cell: str, expected: float) -> None:
    assert _one(f"@INSIGHTS\n@INSIGHTS a|GENERAL|HIGH|{cell}\n")["confidence"] == expected


@pytest.mark.parametrize("cell", ["sure", "7", "-1", "nan"])
def test_a_word_that_is_no_confidence_is_kept_and_is_no_number(cell: str) -> None:
    found = _one(f"@INSIGHTS\n@INSIGHTS a|GENERAL|HIGH|{cell}\n")
    assert "confidence" not in found and found["x_aicf"]["confidence"] == cell


@pytest.mark.parametrize(
    ("confidence", "level"), [(1, "HIGH"), (0.75, "HIGH"), (0.74, "MEDIUM"), (0.45, "MEDIUM"), (0, "LOW")]
)
def test_a_number_is_a_level_again(confidence: float, level: str) -> None:
    assert aicf_mapping.level_of(confidence) == level


def test_the_type_may_stand_in_any_later_cell() -> None:
    assert _one("@INSIGHTS\n@INSIGHTS a|memory_type=procedural|GENERAL|LOW|HIGH\n")["memory_type"] == "procedural"
    assert _one("@INSIGHTS\n@INSIGHTS a|GENERAL|LOW|HIGH\n")["memory_type"] == "semantic"
    assert _one("@INSIGHTS\n@INSIGHTS a|GENERAL|LOW|HIGH|memory_type=dream\n")["memory_type"] == "semantic"


def test_an_unknown_category_is_kept_as_it_is() -> None:
    assert "category:INFRASTRUCTURE" in _one("@INSIGHTS\n@INSIGHTS a|INFRASTRUCTURE|LOW|HIGH\n")["tags"]


def test_a_decision_has_its_rationale_behind_it() -> None:
    found = _one("@DECISIONS\n@DECISIONS paint it|HIGH|LOW|it rots\n")
    assert found["content"] == "paint it\n\nRationale: it rots" and found["tags"] == ["impact:HIGH"]


@pytest.mark.parametrize(
    ("text", "kind", "content"),
    [
        ("@STATE:user\nuser:preferred_tea=green\n", "preference", "preferred tea: green"),
        ("@STATE:user\nuser:login_count=3\n", "semantic", "login count: 3"),
        ("@STATE:app\napp:model=small\n", "semantic", "model: small"),
        ("@STATE:session\nuser:tea=green\n", "semantic", "tea: green"),
    ],
)
def test_each_key_of_a_user_or_an_application_is_a_memory(text: str, kind: str, content: str) -> None:
    found = _one(text)
    assert (found["memory_type"], found["content"]) == (kind, content)


def test_a_state_of_the_turn_is_no_memory() -> None:
    assert _records("@STATE:temp\ntemp:step=3\n") == []
    assert _records("@STATE\ntemp:step=3\n") == []


def test_links_are_relations_of_the_first_memory() -> None:
    text = "@CONVERSATION:a\nmessages=1\n\n@CONVERSATION:b\nmessages=2\n\n@LINKS\n@LINKS a->b|causal_relationship\n"
    one, other = _records(text)
    assert one["related_records"] == [{"id": other["id"], "relation": "caused"}]
    assert one["x_aicf"]["links"] == [["b", "causal_relationship"]]


def test_supersedes_of_a_file_retires_nothing() -> None:
    text = "@INSIGHTS\n@INSIGHTS a|b|c|d\n@INSIGHTS e|b|c|d\n@LINKS\n@LINKS insight_002->insight_001|supersedes\n"
    one, other = _records(text)
    assert other["related_records"] == [{"id": one["id"], "relation": "supersedes"}]
    assert "supersedes" not in other and one["status"] == "active"


def test_a_link_to_nothing_is_told_and_kept() -> None:
    found = file_memories.read_memories("@CONVERSATION:a\nmessages=1\n@LINKS\n@LINKS a->z|depends_on\n", "a.aicf")
    assert [(link.item.raw, link.is_resolved) for link in found.relations.links] == [("a->z|depends_on", False)]
    assert all("related_records" not in record for record in found.records.values())


@pytest.mark.parametrize(
    ("model", "ours"),
    [
        ("text-embedding-3-large", "openai/text-embedding-3-large"),
        ("gemini-1", "google/gemini-1"),
        ("bge-m3", "BAAI/bge-m3"),
        ("me/mine", "me/mine"),
        ("other", "unknown/other"),
    ],
)
def test_a_vector_belongs_to_the_memory_that_it_names(model: str, ours: str) -> None:
    text = f"@CONVERSATION:a\nmessages=1\n\n@EMBEDDING:a\nmodel={model}\ndimension=2\nvector=0.5,-1e-3\n"
    (vector,) = _one(text)["embeddings"]
    assert (vector["model"], vector["vector"], vector["dimensions"]) == (ours, [0.5, -0.001], 2)
    assert aicf_mapping.aicf_model_name(ours) == model


@pytest.mark.parametrize("said", ["dimension=1536\nvector=0.1,0.2,...", "dimension=3\nvector=0.1,0.2", "vector=a,b"])
def test_a_vector_that_is_not_written_out_is_none(said: str) -> None:
    found = file_memories.read_memories(f"@CONVERSATION:a\nmessages=1\n\n@EMBEDDING:a\nmodel=m\n{said}\n", "a.aicf")
    assert all("embeddings" not in record for record in found.records.values())
    assert found.relations.vectors[0].problem


def test_a_summary_names_what_it_was_made_of() -> None:
    conversation = "@CONVERSATION:a\nmessages=1\n\n"
    text = f"{conversation}@CONSOLIDATION:c\nsource_items=a|z\nconsolidated_at=2026-01-02T03:04:05Z\nkey_facts=x|y\n"
    one, summary = _records(text)
    assert summary["content"] == "x\ny" and summary["temporal"]["created_at"] == "2026-01-02T03:04:05.000Z"
    assert summary["related_records"] == [{"id": one["id"], "relation": "derived_from"}]


def test_a_section_that_nobody_knows_is_a_memory_of_its_lines() -> None:
    found = _one("@MYSTERY:x\nhello=1\nand | more\n")
    assert (found["category"], found["content"]) == ("aicf:unknown:MYSTERY", "hello=1\nand | more")


def test_an_archived_session_is_archived() -> None:
    assert _one("@SESSION:s\nstatus=archived\n")["status"] == "archived"
    assert _one("@SESSION:s\nstatus=completed\n")["status"] == "active"


@pytest.mark.parametrize("name", sorted(aicf_files.FILES))
def test_the_same_file_gives_the_same_memories_each_with_an_id_of_its_own(name: str) -> None:
    first, again = _records(aicf_files.FILES[name]), _records(aicf_files.FILES[name])
    assert first == again
    assert len({each["id"] for each in first}) == len(first)
    assert all(ids.is_version_7(each["id"]) for each in first)
    for each in first:
        assert times.parse_time(each["temporal"]["created_at"]).year < 2026 or "2026" in aicf_files.FILES[name].decode()


def test_ids_are_of_a_file_and_do_not_follow_line_numbers() -> None:
    text = "1|@INSIGHTS\n2|@INSIGHTS a|b|c|d\n"
    moved = "1|\n2|@INSIGHTS\n3|@INSIGHTS a|b|c|d\n"
    assert _one(text)["id"] == _one(moved)["id"]
    assert _records(text, "b.aicf")[0]["id"] != _one(text)["id"]


def test_equal_rows_are_two_memories() -> None:
    one, other = _records("@INSIGHTS\n@INSIGHTS a|b|c|d\n@INSIGHTS a|b|c|d\n")
    assert one["id"] != other["id"]


def test_every_kind_of_memory_stands_in_the_tables() -> None:
    rows = [row for table in aicf_mapping.build_mapping_tables() for row in table.rows]
    shown = "\n".join(f"{row.theirs} {row.ours}" for row in rows)
    assert all(f"`{kind.category}`" in shown for kind in aicf_mapping.KINDS.values())
    assert all(theirs in shown and ours in shown for theirs, ours in aicf_mapping.RELATIONS.items())
    assert all(str(value) in shown for value in aicf_mapping.LEVELS.values())
