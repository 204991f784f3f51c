"""ALF §10.7: principals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import AGENT_ID, TIME, MemoryState, make_identity, make_principals, make_record
from lifeboat_alf.validation.validate_file import validate_archive
from support.alf.archive_files import ArchiveFile
from support.cli.cli_client import run

BOSS = "019a0000-0000-7000-8000-0000000000d1"


def _agent_principal(agent_id: str | None = BOSS) -> JsonObject:
    principal_id = "019a0000-0000-7000-8000-0000000000d2"
    return {
        "id": principal_id,
        "principal_type": "agent",
        "agent_id": agent_id,
        "profile": {
            "id": "019a0000-0000-7000-8000-0000000000d3",
            "agent_id": AGENT_ID,
            "principal_id": principal_id,
            "version": 9,
            "updated_at": TIME,
            "structured": {
                "name": "Boss",
                "principal_type": "agent",
                "communication_preferences": {"formatting": "JSON only"},
            },
        },
    }


def _written(state: MemoryState, path: Path) -> Path:
    with path.open("wb") as out:
        write_snapshot(state, out)
    return path


def test_one_human_user_is_one_principal(agent: Path, export: Callable[..., ArchiveFile]) -> None:
    (only,) = export(agent).json("principals.json")["principals"]
    assert only["principal_type"] == "human"
    assert only.get("agent_id") is None
    assert only["profile"]["structured"]["name"] == "Mira Lindqvist"
    assert only["profile"]["principal_id"] == only["id"]


def test_a_single_principal_becomes_user_md(tmp_path: Path, import_into: Callable[..., Path]) -> None:
    """A snapshot from elsewhere: no native file, only the structured profile."""
    state = MemoryState(raw_sources=[]).put_document("identity.json", make_identity())
    document = make_principals()
    profile = document["principals"][0]["profile"]
    del profile["prose"]
    profile["structured"]["communication_preferences"] = {"tone": "plain"}
    state.put_document("principals.json", document)
    workspace = import_into("new", _written(state, tmp_path / "one.alf"))
    text = (workspace / "USER.md").read_text()
    for said in ("Robin", "Europe/Lisbon", "plain"):
        assert said in text


def test_several_principals_have_their_own_profile_version_and_namespace(
    tmp_path: Path, import_into: Callable[..., Path], export: Callable[..., ArchiveFile]
) -> None:
    human, boss = make_principals()["principals"][0], _agent_principal()
    state = MemoryState().put_document("identity.json", make_identity())
    state.put_document("principals.json", {"principals": [human, boss]})
    spaces = {f"principal_context:{item['id']}": f"Known of {item['principal_type']}." for item in (human, boss)}
    state.add_all(make_record(text, namespace=space, memory_type="preference") for space, text in spaces.items())
    archive = export(import_into("both", _written(state, tmp_path / "two.alf")), "again.alf")
    found = archive.json("principals.json")["principals"]
    assert [(item["id"], item["profile"]["version"]) for item in found] == [(human["id"], 1), (boss["id"], 9)]
    assert found[1] == boss
    known = {(item["namespace"], item["content"]) for item in archive.records}
    assert known >= set(spaces.items())
    assert {space for space, _ in known} == set(spaces)


@pytest.mark.parametrize(("agent_id", "good"), [(BOSS, True), (None, True), ("the boss", False)])
def test_agent_principals_have_an_agent_id_or_null(tmp_path: Path, agent_id: str | None, good: bool) -> None:
    state = MemoryState().put_document("principals.json", {"principals": [_agent_principal(agent_id)]})
    found = validate_archive(_written(state, tmp_path / "agents.alf"))
    assert found.ok
    assert any("principals.json" in warning for warning in found.warnings) is not good
    assert validate_archive(_written(state, tmp_path / "again.alf"), strict=True).ok is good


def test_profiles_are_versioned_on_their_own(agent: Path, export: Callable[..., ArchiveFile]) -> None:
    user = agent / "USER.md"
    user.write_text(user.read_text().replace("Europe/Stockholm", "Europe/Oslo"))
    run("sync")
    archive = export(agent)
    (only,) = archive.json("principals.json")["principals"]
    assert only["profile"]["version"] == 2
    assert archive.identity["version"] == 1
    assert f"history/principals/{only['profile']['id']}/1.json" in archive.bodies
