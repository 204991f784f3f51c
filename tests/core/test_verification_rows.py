"""The restore drill of an agent whose memories are rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.memory_stores import DatabaseWrite
from lifeboat_adapters.zeroclaw import ADAPTER
from lifeboat_adapters.zeroclaw.restore import table_definitions
from lifeboat_core.errors import DiskFull
from lifeboat_core.verify import samples_and_drills
from lifeboat_core.verify.samples_and_drills import Drill
from support.adapters.zeroclaw_installs import CREATED, GENERATIONS
from support.core.zeroclaw_protected import ProtectedClaw, files_with

SECRET = "sk-ant-api03-FAKEfakeFAKEfakeFAKEfake"


@pytest.fixture
def claw(tmp_path: Path) -> ProtectedClaw:
    made = ProtectedClaw(tmp_path)
    made.install.remember("berth", "The boat lies at berth seven.")
    made.install.remember("tide", "The tide turns at noon.")
    made.add()
    return made


def drilled(claw: ProtectedClaw) -> Drill:
    return samples_and_drills.drill_vault(claw.context, claw.agent)


def spoil(monkeypatch: pytest.MonkeyPatch, *statements: str, name: str = "brain.db") -> None:
    """Every database of this name that is written gets damaged in this way."""
    plan = ADAPTER.databases.plan_writes

    def spoiled(write: DatabaseWrite) -> DatabaseWrite:
        def make(target: Path) -> None:
            write.write(target)
            with closing(sqlite3.connect(target)) as connection, connection:
                for statement in statements:
                    connection.execute(statement)

        return replace(write, write=make) if write.path.name == name else write

    def planned(*given: Any) -> list[DatabaseWrite]:
        return [spoiled(write) for write in plan(*given)]

    monkeypatch.setattr(type(ADAPTER.databases), "plan_writes", staticmethod(planned))


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_memory_is_made_a_row_and_compared(tmp_path: Path, generation: str) -> None:
    made = ProtectedClaw(tmp_path, generation)
    made.install.remember("berth", "The boat lies at berth seven.")
    made.add()
    found = drilled(made)
    assert found.mismatches == []
    assert found.rows >= len(made.memories())


def test_a_memory_that_a_restore_would_not_write_is_named(claw: ProtectedClaw, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, "DELETE FROM memories WHERE key = 'berth'")
    lost = claw.memories()["The boat lies at berth seven."]["id"]
    assert drilled(claw).mismatches == [f"the database row of the memory {lost} differs from the captured state"]


def test_a_memory_that_would_come_back_otherwise_is_named_and_not_said(
    claw: ProtectedClaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(monkeypatch, "UPDATE memories SET importance = 0.123 WHERE key = 'tide'")
    (said,) = drilled(claw).mismatches
    assert claw.memories()["The tide turns at noon."]["id"] in said
    assert "noon" not in said


def test_a_memory_with_a_cut_is_compared_cut(claw: ProtectedClaw) -> None:
    config = claw.install.home / "config.toml"
    config.write_text(f'{config.read_text()}\n[web_search]\nbrave_api_key = "{SECRET}"\n')
    claw.install.remember("key", f"The key is {SECRET}, says the pilot.")
    claw.capture()
    found = drilled(claw)
    assert found.mismatches == []
    assert found.rows >= 3
    assert not files_with(claw.context.home.folder, [SECRET])


def knowing(claw: ProtectedClaw) -> None:
    """What it knows beside its memories: a node and another one, joined."""
    with closing(sqlite3.connect(claw.install.home / "knowledge.db")) as connection, connection:
        connection.executescript(table_definitions.KNOWLEDGE)
        for id in ("n1", "n2"):
            connection.execute(
                "INSERT INTO nodes (id, node_type, title, content, tags, created_at, updated_at)"
                " VALUES (?, 'lesson', 'Ropes', 'Wet ropes swell.', '', ?, ?)",
                (id, CREATED, CREATED),
            )
    claw.capture()


def test_what_an_agent_knows_beside_its_memories_is_compared_too(claw: ProtectedClaw) -> None:
    before = drilled(claw)
    knowing(claw)
    found = drilled(claw)
    assert found.mismatches == []
    assert found.rows == before.rows + 2


def test_a_row_of_another_table_that_would_not_come_back_is_named(
    claw: ProtectedClaw, monkeypatch: pytest.MonkeyPatch
) -> None:
    knowing(claw)
    spoil(monkeypatch, "DELETE FROM nodes WHERE id = 'n1'", name="knowledge.db")
    assert drilled(claw).mismatches == [
        "the row raw/zeroclaw-home/db/knowledge/nodes.jsonl#1 differs from the captured state"
    ]


def test_a_database_that_cannot_be_made_is_what_is_wrong(claw: ProtectedClaw, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, "INSERT INTO no_such_table VALUES (1)")
    (said,) = drilled(claw).mismatches
    assert said.startswith("brain.db cannot be created")


def test_a_drill_of_rows_leaves_nothing_behind(claw: ProtectedClaw) -> None:
    drilled(claw)
    assert not [one for one in claw.context.home.folder.rglob("brain.db*")]


def test_a_full_disk_says_nothing_about_the_copy(claw: ProtectedClaw, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(
        monkeypatch, "PRAGMA max_page_count = 1", "CREATE TABLE more (a)", "INSERT INTO more VALUES (zeroblob(999999))"
    )
    with pytest.raises(DiskFull):
        drilled(claw)
