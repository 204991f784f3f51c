"""ALF §10.8: the roster of sub-agents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from archive_files import ArchiveFile

from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing import MemoryState, identity

Json = dict[str, Any]
ROSTER: list[Json] = [
    {
        "agent_id": "019a0000-0000-7000-8000-0000000000e1",
        "name": "Research Assistant",
        "description": "Reads a lot.",
        "capabilities": [{"name": "web_research", "description": "Deep research", "priority": 1}],
        "model_hints": {"primary_model": "example/large", "last_model": "example/small"},
        "routing_hints": "For anything with sources.",
        "status": "active",
        "last_invoked_at": "2026-02-20T11:00:00Z",
        "performance_notes": "Over-cites now and then.",
    },
    {"agent_id": None, "name": "Typist", "capabilities": [], "status": "unavailable"},
]


def _with_roster(tmp_path: Path) -> Path:
    path = tmp_path / "manager.alf"
    state = MemoryState().put_document("identity.json", identity(sub_agents=ROSTER))
    with path.open("wb") as out:
        write_snapshot(state, out)
    return path


def _roster(archive: ArchiveFile) -> list[Json]:
    roster: list[Json] = archive.identity["structured"]["sub_agents"]
    return roster


def test_the_roster_of_a_managing_agent_is_exported(agent: Path, export: Callable[..., ArchiveFile]) -> None:
    roster = {item["name"]: item for item in _roster(export(agent))}
    assert {"Scout", "Scribe", "Rover"} <= set(roster)
    scout = roster["Scout"]
    assert "Research" in scout["routing_hints"]
    assert scout["model_hints"]["primary_model"] == "orchard/oak-2"
    assert scout["capabilities"]
    assert roster["Rover"]["model_hints"]["primary_model"] == "meadow/mini-1"


def test_the_roster_survives_an_import_on_a_new_host(
    tmp_path: Path, import_into: Callable[..., Path], export: Callable[..., ArchiveFile]
) -> None:
    workspace = import_into("host", _with_roster(tmp_path))
    said = "".join(path.read_text() for path in workspace.glob("*.md"))
    assert "Research Assistant" in said
    assert _roster(export(workspace, "again.alf")) == ROSTER


def test_sub_agents_without_an_id_live_beside_those_with_one(
    tmp_path: Path, import_into: Callable[..., Path], export: Callable[..., ArchiveFile]
) -> None:
    roster = _roster(export(import_into("host", _with_roster(tmp_path)), "again.alf"))
    assert [item["agent_id"] for item in roster] == [ROSTER[0]["agent_id"], None]


def test_model_hints_survive(
    agent: Path, export: Callable[..., ArchiveFile], import_into: Callable[..., Path], tmp_path: Path
) -> None:
    made = _roster(export(import_into("made", _with_roster(tmp_path)), "made-again.alf"))
    assert made[0]["model_hints"] == ROSTER[0]["model_hints"]
