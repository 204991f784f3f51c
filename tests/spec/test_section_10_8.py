"""ALF §10.8: the roster of sub-agents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import MemoryState, make_identity
from support.adapters.openclaw_workspaces import StateFolder
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run

ROSTER: list[JsonObject] = [
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

AGENTS_MD = """# AGENTS.md

## Sub-agents

| Agent | Use for | Model | Capabilities |
|---|---|---|---|
| Scout | Research with sources | example/large | web research, fact checks |
"""


def _with_roster(tmp_path: Path) -> Path:
    path = tmp_path / "manager.alf"
    document = make_identity(sub_agents=ROSTER)
    del document["prose"]  # structured only, as other runtimes leave it
    state = MemoryState(raw_sources=[]).put_document("identity.json", document)
    with path.open("wb") as out:
        write_snapshot(state, out)
    return path


def _roster(archive: ArchiveFile) -> list[JsonObject]:
    roster: list[JsonObject] = archive.identity["structured"]["sub_agents"]
    return roster


def test_the_roster_of_a_managing_agent_is_exported(openclaw: StateFolder, export: Callable[..., ArchiveFile]) -> None:
    (openclaw.workspace / "AGENTS.md").write_text(AGENTS_MD)
    run("agents", "add", openclaw.workspace)
    roster = {item["name"]: item for item in _roster(export(openclaw.workspace))}
    assert set(roster) == {"Scout", "Rover"}
    scout = roster["Scout"]
    assert scout["routing_hints"] == "Research with sources"
    assert scout["model_hints"] == {"primary_model": "example/large", "last_model": "example/large"}
    assert {item["name"] for item in scout["capabilities"]} == {"web research", "fact checks"}
    assert roster["Rover"]["model_hints"]["primary_model"]


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
    export: Callable[..., ArchiveFile], import_into: Callable[..., Path], tmp_path: Path
) -> None:
    made = _roster(export(import_into("made", _with_roster(tmp_path)), "made-again.alf"))
    assert made[0]["model_hints"] == ROSTER[0]["model_hints"]
