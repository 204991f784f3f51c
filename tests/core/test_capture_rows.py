"""Rows of a memory database become memories, and each change of a row becomes the matching change of its memory."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from support.adapters.zeroclaw_installs import EARLY_GENERATIONS, GENERATIONS, packed, stable
from support.core.zeroclaw_protected import ProtectedClaw
from support.prepared_folders import PreparedFolders

LATELY = "2026-11-10T08:00:00+00:00"
"""A time in the open period."""


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> ProtectedClaw:
    """Return an agent with two memories in the open period."""
    return prepared_folders.restore("agent with two rows", _agent_with_two_rows)


def _agent_with_two_rows(folder: Path) -> ProtectedClaw:
    made = ProtectedClaw(folder)
    made.install.remember("tea", "Likes green tea", created_at=LATELY)
    made.install.remember("boat", "The red boat", created_at=LATELY)
    made.add()
    return made


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_rows_of_every_generation_are_memories(tmp_path: Path, generation: str) -> None:
    ada = ProtectedClaw(tmp_path, generation)
    ada.install.remember("tea", "Likes green tea", category="daily")
    ada.add()
    record = ada.memories()["Likes green tea"]
    assert record["raw_source_format"]["zeroclaw"]["row"]["id"] == stable("default", "tea")
    assert record["memory_type"] == "episodic"


def test_a_memory_keeps_the_time_of_its_row(ada: ProtectedClaw) -> None:
    assert ada.memories()["Likes green tea"]["temporal"]["created_at"] == "2026-11-10T08:00:00.000Z"


def test_nothing_changed_makes_no_sequence(ada: ProtectedClaw) -> None:
    assert not ada.capture().changed


def test_a_new_row_is_one_new_memory(ada: ProtectedClaw) -> None:
    ada.install.remember("dog", "A dog called Rex", created_at=LATELY)
    assert ada.capture().records == {"created": 1}
    assert set(ada.memories()) == {"Likes green tea", "The red boat", "A dog called Rex"}


def test_an_edited_row_keeps_its_memory(ada: ProtectedClaw) -> None:
    before = ada.memories()["The red boat"]
    ada.install.execute("update memories set content = 'The blue boat' where key = 'boat'")
    assert ada.capture().records == {"updated": 1}
    after = ada.memories()["The blue boat"]
    assert (after["id"], after["temporal"]["created_at"]) == (before["id"], before["temporal"]["created_at"])


def test_an_edited_row_of_an_ended_period_has_a_successor(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    ada.install.remember("boat", "The red boat")
    ada.add()
    before = ada.memories()["The red boat"]
    ada.install.execute("update memories set content = 'The blue boat'")
    ada.capture()
    assert ada.memories()["The blue boat"]["supersedes"] == before["id"]
    assert set(ada.memories()) == {"The blue boat"}


def test_bookkeeping_of_a_row_follows_while_its_period_is_open(ada: ProtectedClaw) -> None:
    ada.install.execute("update memories set updated_at = '2026-11-12T09:00:00+00:00' where key = 'boat'")
    assert ada.capture().records == {"updated": 1}
    row = ada.memories()["The red boat"]["raw_source_format"]["zeroclaw"]["row"]
    assert row["updated_at"] == "2026-11-12T09:00:00+00:00"


def test_bookkeeping_of_a_row_appends_nothing_to_an_ended_period(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    ada.install.remember("boat", "The red boat")
    ada.add()
    ada.install.execute("update memories set updated_at = '2026-11-12T09:00:00+00:00', importance = 0.9")
    assert not ada.capture().changed
    ada.lose_caches()
    assert not ada.capture().changed


def test_a_row_of_an_ended_period_with_another_id_has_a_successor(tmp_path: Path) -> None:
    """A restore writes rows under their ids, so the newest record must have the present id."""
    ada = ProtectedClaw(tmp_path)
    ada.install.remember("tea", "Likes green tea", created_at="2026-02-10T08:00:00+00:00")
    ada.add()
    before = ada.memories()["Likes green tea"]
    ada.install.execute("update memories set id = 'another' where key = 'tea'")
    assert ada.capture().records == {"updated": 1}
    after = ada.memories()["Likes green tea"]
    assert (after["supersedes"], after["raw_source_format"]["zeroclaw"]["row"]["id"]) == (before["id"], "another")


def test_what_was_not_worth_a_successor_comes_with_the_next_one(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    ada.install.remember("boat", "The red boat")
    ada.add()
    ada.install.execute("update memories set importance = 0.9")
    ada.capture()
    ada.install.execute("update memories set content = 'The blue boat'")
    ada.capture()
    assert ada.memories()["The blue boat"]["raw_source_format"]["zeroclaw"]["row"]["importance"] == 0.9


def test_a_row_that_goes_takes_its_memory_along(ada: ProtectedClaw) -> None:
    ada.install.execute("delete from memories where key = 'tea'")
    assert ada.capture().records == {"deleted": 1}
    assert ada.statuses() == {"Likes green tea": "deleted", "The red boat": "active"}


def test_a_row_that_is_written_again_under_another_id_is_the_same_memory(ada: ProtectedClaw) -> None:
    before = ada.memories()["Likes green tea"]["id"]
    ada.install.execute("update memories set id = 'another', content = 'Likes black tea' where key = 'tea'")
    ada.capture()
    assert ada.memories()["Likes black tea"]["id"] == before


def test_a_key_that_is_made_again_revives_its_memory(ada: ProtectedClaw) -> None:
    before = ada.memories()["Likes green tea"]["id"]
    ada.install.execute("delete from memories where key = 'tea'")
    ada.capture()
    ada.install.remember("tea", "Likes white tea", id="third", created_at=LATELY)
    assert ada.capture().records == {"created": 1}
    assert ada.memories()["Likes white tea"]["id"] == before


def test_a_key_of_an_ended_period_revives_with_its_new_text(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    ada.install.remember("tea", "Likes green tea")
    ada.add()
    first = ada.memories()["Likes green tea"]["id"]
    ada.install.execute("delete from memories")
    ada.capture()
    assert ada.memories() == {}
    ada.install.remember("tea", "Likes white tea", id="third")
    ada.capture()
    assert set(ada.memories()) == {"Likes white tea"}
    chain = {record["id"]: record.get("supersedes") for record in ada.records()}
    at = ada.memories()["Likes white tea"]["id"]
    while chain[at]:
        at = chain[at]
    assert at == first


def test_a_superseded_row_is_a_superseded_memory(ada: ProtectedClaw) -> None:
    ada.install.execute("update memories set superseded_by = ? where key = 'tea'", stable("default", "boat"))
    ada.capture()
    assert ada.statuses()["Likes green tea"] == "superseded"
    ada.install.execute("update memories set superseded_by = null where key = 'tea'")
    ada.capture()
    assert ada.statuses()["Likes green tea"] == "active"


def test_a_superseded_row_that_goes_is_deleted(ada: ProtectedClaw) -> None:
    ada.install.execute("update memories set superseded_by = ? where key = 'tea'", stable("default", "boat"))
    ada.capture()
    ada.install.execute("delete from memories where key = 'tea'")
    ada.capture()
    assert ada.statuses()["Likes green tea"] == "deleted"


def test_a_pinned_row_that_goes_is_archived(ada: ProtectedClaw) -> None:
    ada.install.execute("update memories set pinned = 1 where key = 'tea'")
    ada.capture()
    ada.install.execute("delete from memories where key = 'tea'")
    ada.capture()
    assert ada.statuses()["Likes green tea"] == "archived"


def test_a_preference_that_goes_is_archived(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    ada.install.remember("tea", "Likes green tea", kind='{"semantic":"preference"}', created_at=LATELY)
    ada.add()
    ada.install.execute("delete from memories")
    ada.capture()
    assert ada.statuses() == {"Likes green tea": "archived"}


def test_most_rows_gone_is_held(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    for number in range(30):
        ada.install.remember(f"key-{number}", f"Fact number {number}", created_at=LATELY)
    ada.add()
    ada.install.execute("delete from memories where key <> 'key-0'")
    assert ada.capture().held is not None


def test_a_type_stays_as_it_was_made(ada: ProtectedClaw) -> None:
    ada.install.execute("update memories set category = 'project', content = 'Tea' where key = 'tea'")
    ada.capture()
    record = ada.memories()["Tea"]
    assert record["memory_type"] == "summary"
    assert record["raw_source_format"]["zeroclaw"]["row"]["category"] == "project"


def test_agents_of_one_database_see_only_their_own_rows(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path / "one", agents=("ada", "bo"), alias="ada")
    bo = ProtectedClaw(tmp_path / "two", alias="bo", install=ada.install)
    ada.install.remember("tea", "Ada likes tea", alias="ada", created_at=LATELY)
    ada.install.remember("tea", "Bo likes coffee", alias="bo", created_at=LATELY)
    ada.add()
    bo.add()
    assert (set(ada.memories()), set(bo.memories())) == ({"Ada likes tea"}, {"Bo likes coffee"})
    ada.install.execute("update memories set content = 'Bo likes milk' where content like 'Bo %'")
    assert not ada.capture().changed
    assert bo.capture().records == {"updated": 1}


def test_a_note_and_a_row_of_the_same_text_are_two_memories(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    note = ada.install.workspace() / "memory" / "2026-11-10.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("Likes green tea")
    ada.install.remember("tea", "Likes green tea", created_at=LATELY)
    ada.add()
    found = [one for one in ada.records() if one["content"] == "Likes green tea"]
    assert len(found) == 2
    ada.install.execute("delete from memories")
    ada.capture()
    left = [one["source"]["origin_file"] for one in ada.records() if one["status"] == "active"]
    assert "memory/2026-11-10.md" in left


def test_a_note_of_the_text_of_a_row_does_not_take_its_memory(ada: ProtectedClaw) -> None:
    note = ada.install.workspace() / "memory" / "2026-11-10.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("Likes green tea")
    assert ada.capture().records == {"created": 1}
    ada.lose_caches()
    note.write_text("Likes green tea\n\nAnd cake.\n")
    ada.capture()
    assert ada.memories()["Likes green tea"]["status"] == "active"


def test_a_forgotten_memory_stays_forgotten_while_its_row_is_there(ada: ProtectedClaw) -> None:
    from lifeboat_core.agents import manage_agents
    from lifeboat_core.memories import edit_records

    agent = manage_agents.load_agent(ada.context, ada.agent.id)
    edit_records.forget_records(ada.context, agent, [ada.memories()["Likes green tea"]["id"]])
    ada.install.execute("update memories set importance = 0.9 where key = 'tea'")
    ada.capture()
    ada.lose_caches()
    ada.capture()
    assert "Likes green tea" not in ada.memories()


def test_a_forgotten_memory_with_another_text_is_another_memory(ada: ProtectedClaw) -> None:
    from lifeboat_core.agents import manage_agents
    from lifeboat_core.memories import edit_records

    old = ada.memories()["Likes green tea"]["id"]
    edit_records.forget_records(ada.context, manage_agents.load_agent(ada.context, ada.agent.id), [old])
    ada.install.execute("update memories set content = 'Likes black tea' where key = 'tea'")
    ada.capture()
    assert ada.memories()["Likes black tea"]["id"] != old


def test_a_pin_of_the_user_survives_an_edit_of_the_row(ada: ProtectedClaw) -> None:
    from lifeboat_core.agents import manage_agents
    from lifeboat_core.memories import edit_records

    edit_records.pin_records(
        ada.context, manage_agents.load_agent(ada.context, ada.agent.id), [ada.memories()["Likes green tea"]["id"]]
    )
    ada.install.execute("update memories set content = 'Likes black tea' where key = 'tea'")
    ada.capture()
    assert ada.memories()["Likes black tea"]["pinned"] is True


def test_columns_that_nobody_knows_are_carried(ada: ProtectedClaw) -> None:
    ada.install.execute("alter table memories add column mood text")
    ada.install.execute("update memories set mood = 'calm' where key = 'tea'")
    ada.capture()
    assert ada.memories()["Likes green tea"]["raw_source_format"]["zeroclaw"]["row"]["mood"] == "calm"


def test_a_new_column_alone_changes_no_memory(ada: ProtectedClaw) -> None:
    ada.install.execute("alter table memories add column mood text")
    assert not ada.capture().changed


def test_values_are_compared_with_their_types(ada: ProtectedClaw) -> None:
    ada.install.execute("update memories set content = 'likes green tea' where key = 'tea'")
    assert ada.capture().records == {"updated": 1}


def test_odd_values_are_captured_once_and_then_the_same(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    with closing(ada.install.connect()) as connection, connection:
        known = connection.execute("select id from agents").fetchone()[0]
        odd = [
            ("\u2603 'quoted\" \x00 nul", "snow"),
            ("a" * 200_000, "long"),
            (sqlite3.Binary(b"\xff\xfe not text"), "bytes"),
            ("", "empty"),
            ("   ", "blank"),
        ]
        for number, (content, key) in enumerate(odd):
            connection.execute(
                "insert into memories(id, key, content, created_at, updated_at, importance, agent_id)"
                " values (?, ?, ?, 'yesterday', '', 9e999, ?)",
                (f"id-{number}", key, content, known),
            )
    ada.add()
    assert len(ada.memories()) == 5
    assert not ada.capture().changed
    ada.lose_caches()
    assert not ada.capture().changed


@pytest.mark.parametrize("generation", [GENERATIONS[-1], EARLY_GENERATIONS[-1]])
def test_a_restore_of_the_lost_caches_finds_nothing_new(tmp_path: Path, generation: str) -> None:
    ada = ProtectedClaw(tmp_path, generation)
    for number in range(5):
        ada.install.remember(f"key-{number}", f"Fact {number}", embedding=packed(1.0, float(number)))
    ada.add()
    shadow = ada.shadow()
    ada.lose_caches()
    assert not ada.capture().changed
    assert ada.shadow() == shadow


def test_a_row_that_went_while_the_caches_were_lost_is_gone(ada: ProtectedClaw) -> None:
    ada.install.execute("delete from memories where key = 'tea'")
    ada.install.remember("dog", "A dog called Rex", created_at=LATELY)
    ada.lose_caches()
    report = ada.capture()
    assert report.records == {"deleted": 1, "created": 1}


def test_ids_are_stable(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    for number in range(3):
        ada.install.remember(f"key-{number}", "The same text", created_at=LATELY)
    ada.add()
    before = {
        one["id"]: one["raw_source_format"]["zeroclaw"]["row"]["key"]
        for one in ada.records()
        if "raw_source_format" in one
    }
    ada.lose_caches()
    ada.install.execute("update memories set content = content || '!' where key = 'key-1'")
    ada.capture(full=True)
    after = {
        one["id"]: one["raw_source_format"]["zeroclaw"]["row"]["key"]
        for one in ada.records()
        if "raw_source_format" in one
    }
    assert after == before
