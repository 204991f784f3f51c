"""Captures of an agent that came with an archive do not make its memories again."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.testing.sample_states import make_head, make_record
from lifeboat_core.agents import manage_agents
from lifeboat_core.agents.agent import Agent
from lifeboat_vault.vault import Draft, EntryPut, RecordPut
from support.core.protected import Protected

QUARTER = "memory/partitions/2026-Q4.jsonl"
TIME = "2026-11-01T00:00:00.000Z"
TEA, BOAT = "## Tea\n\nLikes green tea in the morning.\n\n", "## Boat\n\nThe red boat lies in the harbour.\n"


@pytest.fixture
def migrated(tmp_path: Path) -> Protected:
    """Return a workspace that was written from two memories of another runtime."""
    ada = Protected(tmp_path)
    agent = Agent(ids.make_id(ada.context.now()), "ada", "openclaw", ada.workspace)
    context = ada.context
    ada.agent = manage_agents.register_agent(context, agent)
    lines = [
        make_record(
            text,
            created_at=TIME,
            agent_id=agent.id,
            source={"runtime": "zeroclaw", "origin": "sqlite_store", "origin_file": "MEMORY.md"},
            x_kept={"unknown": True},
        )
        for text in (TEA, BOAT)
    ]
    document = make_head(agent.id, raw_sources=["zeroclaw"])
    document["agent"] = {"id": agent.id, "name": "Ada", "source_runtime": "zeroclaw", "source_runtime_version": "0.9"}
    document["partitions"] = [{"file": QUARTER, "from": "2026-10-01", "to": None, "sealed": False}]
    with context.create_vault(agent.id) as vault:
        vault.commit(
            Draft(
                {"manifest.json": EntryPut({}, json_codec.encode_json(document))},
                [RecordPut("create", line["id"], QUARTER, json_codec.encode_json(line)) for line in lines],
            ),
            kind="import",
            writer="elsewhere",
            time=context.now(),
        )
    return ada


def test_memories_in_written_files_are_the_imported_ones(migrated: Protected) -> None:
    before = migrated.memories()
    _, report = manage_agents.protect_workspace(migrated.context, migrated.workspace)
    assert report.sequence == 1
    after = migrated.memories()
    assert {text: after[text] for text in (TEA, BOAT)} == before
    assert [text for text in after if text not in before] == ["# Memory\n\n"]


def test_a_memory_that_was_written_a_little_differently_is_edited_not_doubled(migrated: Protected) -> None:
    before = migrated.memories()[BOAT]
    migrated.write("MEMORY.md", "# Memory\n\n" + TEA + BOAT + "\n")
    manage_agents.protect_workspace(migrated.context, migrated.workspace)
    (after,) = [one for text, one in migrated.memories().items() if "Boat" in text]
    assert after["id"] == before["id"] and after["x_kept"] == {"unknown": True}
    assert after["source"]["runtime"] == "zeroclaw"


def test_a_memory_that_the_files_do_not_hold_stays(migrated: Protected) -> None:
    migrated.write("MEMORY.md", "# Memory\n\n" + TEA)
    manage_agents.protect_workspace(migrated.context, migrated.workspace)
    assert BOAT in migrated.memories()


def test_once_it_stands_in_a_file_its_removal_counts(migrated: Protected) -> None:
    manage_agents.protect_workspace(migrated.context, migrated.workspace)
    migrated.write("MEMORY.md", "# Memory\n\n" + TEA)
    migrated.capture()
    assert BOAT not in migrated.memories() and TEA in migrated.memories()


def test_the_agent_is_of_the_new_runtime_and_keeps_its_history(migrated: Protected) -> None:
    manage_agents.protect_workspace(migrated.context, migrated.workspace)
    document = migrated.document("manifest.json")
    assert document["agent"]["source_runtime"] == "openclaw"
    assert document["agent"].get("source_runtime_version") != "0.9"
    assert document["raw_sources"] == ["zeroclaw", "openclaw"]
