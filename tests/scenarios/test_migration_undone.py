"""An agent that moved into another runtime is taken back: it lives where it lived, as what it was."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from support.cli.cli_client import run
from support.core.migrating import Traveller, Tree, ada_in_openclaw, change, prepared_home, tree_of
from support.prepared_folders import PreparedFolders


class Moved(NamedTuple):
    ada: Traveller
    before: Agent
    memories: dict[str, JsonObject]
    old_tree: Tree
    workspace: Path
    database: Path


@pytest.fixture
def moved(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Moved:
    """The move is made in each test: an undo refuses copies of the files that the restore wrote."""
    ada, old = prepared_home(prepared_folders, monkeypatch, "ada in openclaw", ada_in_openclaw)
    before, memories, tree = ada.agent, ada.memories(), tree_of(old)
    home = tmp_path / "claw"
    ada.adopt("zeroclaw", home / "agents/ada/workspace")
    return Moved(ada, before, memories, tree, home / "agents/ada/workspace", home / "data/memory/brain.db")


def test_the_agent_lives_again_where_it_lived(moved: Moved) -> None:
    run("undo", "Ada")
    assert moved.ada.agent == moved.before


def test_what_the_move_made_is_gone_and_what_was_there_is_as_it_was(moved: Moved) -> None:
    run("undo", "Ada")
    assert not moved.workspace.exists()
    assert not moved.database.exists()
    assert tree_of(moved.before.workspace) == moved.old_tree


def test_the_agent_remembers_what_it_remembered(moved: Moved) -> None:
    run("undo", "Ada")
    assert moved.ada.memories() == moved.memories
    assert moved.ada.sync()["changed"] is False


def test_what_was_learned_in_the_other_runtime_stays_in_a_sequence(moved: Moved) -> None:
    change(
        moved.database,
        ("UPDATE memories SET content = 'Boat 17 sank.' WHERE content LIKE 'Boat 17 %'", ()),
        ("DELETE FROM memories WHERE content LIKE 'Boat 18 %'", ()),
    )
    report = run("undo", "Ada", "--force")
    assert run("verify", "Ada", "--at", str(report["sequence"]))["mismatches"] == []
    assert _said(moved.ada.memories()) == _said(moved.memories)
    assert moved.ada.sync()["changed"] is False


def _said(memories: dict[str, JsonObject]) -> dict[str, JsonObject]:
    """Without the time of the last change, which this is one."""
    return {root: {**memory, "temporal": None} for root, memory in memories.items()}
