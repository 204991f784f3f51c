"""An agent of OpenClaw moves into ZeroClaw, lives there, and comes home."""

from __future__ import annotations

import tomllib
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from lifeboat_adapters.adapter_registry import load_adapter
from lifeboat_adapters.zeroclaw.credentials import secret_encryption
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from support.adapters.zeroclaw_installs import make_install
from support.cli.cli_client import run
from support.core.migrating import (
    GOALS,
    LARGE,
    MOORINGS,
    SECOND,
    Traveller,
    Tree,
    ada_in_openclaw,
    change,
    found_by,
    prepared_home,
    rows_of,
    tree_of,
)
from support.prepared_folders import PreparedFolders

EARLY = """schema_version = 2
default_provider = "anthropic"

[memory]
backend = "sqlite"
"""


class Moved(NamedTuple):
    """Ada in ZeroClaw: where she came from and what she was, and where she is."""

    ada: Traveller
    old: Path
    old_tree: Tree
    memories: dict[str, JsonObject]
    head: int
    workspace: Path
    home: Path
    database: Path
    report: JsonObject


@pytest.fixture
def at_home(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> tuple[Traveller, Path]:
    """Ada in OpenClaw, and her workspace."""
    return prepared_home(prepared_folders, monkeypatch, "ada in openclaw", ada_in_openclaw)


@pytest.fixture(params=["current", "early"])
def moved(request: pytest.FixtureRequest, prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Moved:
    build = partial(_moved_to_zeroclaw, layout=request.param)
    return prepared_home(prepared_folders, monkeypatch, f"ada moved to zeroclaw {request.param}", build)


def _moved_to_zeroclaw(user: Path, folder: Path, layout: str) -> Moved:
    ada, old = ada_in_openclaw(user, folder)
    tree, memories, head = tree_of(old), ada.memories(), ada.head
    home = folder / "claw"
    if layout == "early":
        home.mkdir()
        (home / "config.toml").write_text(EARLY)
        workspace, database = home / "workspace", home / "workspace/memory/brain.db"
    else:
        workspace, database = home / "agents/ada/workspace", home / "data/memory/brain.db"
    report = ada.adopt("zeroclaw", workspace)
    return Moved(ada, old, tree, memories, head, workspace, home, database, report)


def test_the_agent_is_rich(at_home: tuple[Traveller, Path]) -> None:
    ada, _ = at_home
    found = ada.memories().values()
    assert len(found) == MOORINGS
    assert {each["memory_type"] for each in found} == {"semantic", "episodic", "procedural", "preference", "summary"}
    assert sum(bool(each["related_records"]) for each in found) >= 10
    assert len(ada.secrets()) >= 5
    assert len(ada.document("principals.json")["principals"]) == 2


# There -------------------------------------------------------------------------------------------------------------


def test_it_is_the_same_agent_in_another_runtime(moved: Moved) -> None:
    agent = moved.ada.agent
    assert (agent.runtime, agent.workspace) == ("zeroclaw", moved.workspace)
    assert agent.id == moved.report["agent"]
    assert [each["sequence"] for each in run("timeline", "Ada")["entries"]][-1] == 0
    assert moved.ada.document("manifest.json")["agent"]["source_runtime"] == "zeroclaw"


def test_every_memory_stands_in_the_database_once(moved: Moved) -> None:
    wanted = sorted(each["content"].strip() for each in moved.memories.values())
    assert sorted(row["content"].strip() for row in rows_of(moved.database)) == wanted


def test_the_runtimes_own_full_text_finds_them(moved: Moved) -> None:
    assert [text.strip() for text in found_by(moved.database, '"Boat 17"')] == ["Boat 17 lies at berth 3."]


def test_no_memory_changed_by_moving(moved: Moved) -> None:
    assert moved.ada.memories() == moved.memories


def test_a_capture_after_it_finds_nothing_new(moved: Moved) -> None:
    assert moved.ada.sync()["changed"] is False


def test_identity_and_principal_are_there_in_the_runtimes_own_form(moved: Moved) -> None:
    said = "".join(path.read_text() for path in sorted(moved.workspace.glob("*.md")))
    said += (moved.home / "config.toml").read_text()
    for text in ("Juniper", "Harbour pilot", "Robin", "Curious and kind", *GOALS):
        assert text in said


def test_both_principals_stay_in_the_state(moved: Moved) -> None:
    found = {each["id"]: each for each in moved.ada.document("principals.json")["principals"]}
    assert found[SECOND]["profile"]["structured"]["name"] == "Jonas"
    assert len(found) == 2


def test_artifacts_and_skills_travel(moved: Moved) -> None:
    assert (moved.workspace / "charts/large.tif").read_bytes() == LARGE
    assert (moved.workspace / "charts/inner harbour.csv").read_bytes() == b"east,north\n1,2\n"
    assert (moved.workspace / "skills/tides/SKILL.md").is_file()


def test_credentials_work_under_the_names_of_the_target(moved: Moved) -> None:
    config = tomllib.loads((moved.home / "config.toml").read_text())
    key = secret_encryption.read_key(moved.home)
    assert key is not None
    found = {secret_encryption.decrypt_secret(value, key) for value in _encrypted(config)}
    assert "sk-example-orchard-0000-not-a-real-key" in found
    assert "1234567890:EXAMPLE-telegram-bot-token-not-real" in found


def _encrypted(value: object) -> list[str]:
    if isinstance(value, dict):
        return [one for each in value.values() for one in _encrypted(each)]
    if isinstance(value, list):
        return [one for each in value for one in _encrypted(each)]
    return [value] if isinstance(value, str) and value.startswith("enc2:") else []


def test_no_credential_stands_there_in_clear(moved: Moved) -> None:
    text = b"".join(tree_of(moved.home).values())
    assert [value for value in moved.ada.secrets().values() if value.encode() in text] == []


def test_what_the_other_runtime_left_stays_in_the_state(moved: Moved) -> None:
    assert "raw/openclaw/SOUL.md" in moved.ada.paths("raw/openclaw/")
    assert "raw/openclaw-home/openclaw.json" in moved.ada.paths("raw/openclaw-home/")


def test_the_old_folder_is_not_touched(moved: Moved) -> None:
    assert tree_of(moved.old) == moved.old_tree


# And back ----------------------------------------------------------------------------------------------------------


def test_unchanged_it_comes_back_byte_for_byte(moved: Moved, tmp_path: Path) -> None:
    fresh = tmp_path / "home again"
    moved.ada.adopt("openclaw", fresh)
    assert tree_of(fresh) == moved.old_tree
    assert moved.ada.memories() == moved.memories


def test_it_comes_back_into_the_folder_that_it_left(moved: Moved) -> None:
    moved.ada.adopt("openclaw", moved.old)
    assert tree_of(moved.old) == moved.old_tree
    assert moved.ada.memories() == moved.memories
    assert moved.ada.agent.runtime == "openclaw"
    assert moved.ada.sync()["changed"] is False


@pytest.mark.parametrize("into", ["old", "fresh"])
def test_an_edit_an_addition_and_a_deletion_come_back_as_exactly_these(moved: Moved, into: str, tmp_path: Path) -> None:
    change(
        moved.database,
        (
            "UPDATE memories SET content = ?, updated_at = ? WHERE content LIKE ?",
            ("Boat 30 has gone to sea.", "2026-11-21T09:00:00+01:00", "Boat 30 %"),
        ),
        ("DELETE FROM memories WHERE content LIKE ?", ("Boat 45 %",)),
        *_added(moved.database),
    )
    assert moved.ada.sync()["records"] == {"created": 1, "updated": 1, "deleted": 1}
    target = moved.old if into == "old" else tmp_path / "home again"
    moved.ada.adopt("openclaw", target)
    assert _changes(moved.memories, moved.ada.memories()) == {
        "edited": [("Boat 30 lies at berth 2.", "Boat 30 has gone to sea.")],
        "added": ["The buoy is green now."],
        "gone": ["Boat 45 lies at berth 3."],
    }
    text = "".join(data.decode() for name, data in tree_of(target).items() if name.endswith(".md"))
    assert ("gone to sea" in text, "buoy is green" in text, "Boat 45 " in text) == (True, True, False)
    assert moved.ada.sync()["changed"] is False


@pytest.mark.parametrize("into", ["old", "fresh"])
def test_a_skill_and_an_artifact_that_were_deleted_there_do_not_come_back(
    moved: Moved, into: str, tmp_path: Path
) -> None:
    gone = {"skills/tides/SKILL.md", "charts/inner harbour.csv"}
    for name in gone:
        (moved.workspace / name).unlink()
    moved.ada.sync()
    target = moved.old if into == "old" else tmp_path / "home again"
    moved.ada.adopt("openclaw", target)
    assert moved.old_tree.keys() - tree_of(target).keys() == gone
    assert {name: data for name, data in moved.old_tree.items() if name not in gone} == tree_of(target)
    assert moved.ada.sync()["changed"] is False


def _added(database: Path) -> list[tuple[str, tuple[str, ...]]]:
    (row, *_) = rows_of(database)
    columns = {
        "id": "7d3b4a52-0000-4000-8000-00000000feed",
        "key": "buoy",
        "content": "The buoy is green now.",
        "category": "core",
        "created_at": "2026-11-21T10:00:00+01:00",
        "updated_at": "2026-11-21T10:00:00+01:00",
    }
    if "agent_id" in row:
        columns["agent_id"] = row["agent_id"]
    marks = ", ".join("?" * len(columns))
    return [(f"INSERT INTO memories ({', '.join(columns)}) VALUES ({marks})", tuple(columns.values()))]


def _changes(before: dict[str, JsonObject], after: dict[str, JsonObject]) -> JsonObject:
    both = before.keys() & after.keys()
    edited = [id for id in both if before[id]["content"].strip() != after[id]["content"].strip()]
    return {
        "edited": [(before[id]["content"].strip(), after[id]["content"].strip()) for id in edited],
        "added": [after[id]["content"].strip() for id in after.keys() - before.keys()],
        "gone": [before[id]["content"].strip() for id in before.keys() - after.keys()],
    }


# A copy ------------------------------------------------------------------------------------------------------------


def test_without_adopt_nothing_of_the_agent_changes(at_home: tuple[Traveller, Path], tmp_path: Path) -> None:
    ada, old = at_home
    before = ada.agent, ada.head, tree_of(old)
    run("restore", "Ada", "--runtime", "zeroclaw", "--to", tmp_path / "copy")
    assert (ada.agent, ada.head, tree_of(old)) == before
    assert len(rows_of(tmp_path / ".zeroclaw/data/memory/brain.db")) == MOORINGS


def test_a_dry_run_writes_nothing_and_counts_the_rows(at_home: tuple[Traveller, Path], tmp_path: Path) -> None:
    found = run("restore", "Ada", "--runtime", "zeroclaw", "--to", tmp_path / "copy", "--dry-run")
    assert not (tmp_path / "copy").exists()
    assert not (tmp_path / ".zeroclaw").exists()
    assert any(item["name"].endswith("memory/brain.db") and item["action"] == "create" for item in found["items"])


def test_an_unknown_runtime_is_named(at_home: tuple[Traveller, Path], tmp_path: Path) -> None:
    found = run("restore", "Ada", "--runtime", "nosuchclaw", "--to", tmp_path / "copy", expect=1)
    assert found["error"]["code"] == "unknown_runtime"


def test_a_home_that_does_not_know_the_agent_is_told_of_it_also_without_credentials(
    at_home: tuple[Traveller, Path], tmp_path: Path
) -> None:
    made = make_install(tmp_path / "claw")
    before = (made.home / "config.toml").read_text()
    run("restore", "Ada", "--runtime", "zeroclaw", "--to", made.home / "agents/ada/workspace")
    config = tomllib.loads((made.home / "config.toml").read_text())
    assert set(config["agents"]) == {"default", "ada"}
    assert tomllib.loads(before)["agents"]["default"] == config["agents"]["default"]
    assert _encrypted(config) == []


def test_the_sequence_with_the_credentials_is_kept_where_an_agent_is_adopted_without_them(
    at_home: tuple[Traveller, Path], tmp_path: Path
) -> None:
    ada, _ = at_home
    head = ada.head
    run("restore", "Ada", "--runtime", "zeroclaw", "--to", tmp_path / "claw/agents/ada/workspace", "--adopt")
    with Context.open().vault(ada.agent.id) as vault:
        assert "credentials" in [pin.reason for pin in vault.sequence(head).pins]


def test_a_runtime_that_is_at_work_is_not_written_under(
    at_home: tuple[Traveller, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        load_adapter("zeroclaw").placement.__class__, "running", lambda self, installation: "zeroclaw, process 17"
    )
    command = ("restore", "Ada", "--runtime", "zeroclaw", "--to", tmp_path / "claw/agents/ada/workspace")
    found = run(*command, expect=3)
    assert found["error"]["code"] == "runtime_running"
    assert "17" in found["error"]["message"]
    assert not (tmp_path / "claw").exists()


def test_the_workspace_of_an_agent_takes_no_files_of_another_runtime(at_home: tuple[Traveller, Path]) -> None:
    ada, _ = at_home
    before = tree_of(ada.agent.workspace)
    found = run("restore", "Ada", "--runtime", "zeroclaw", "--yes", expect=3)
    assert found["error"]["code"] == "target_refused"
    assert found["error"]["fix"] == "lifeboat restore Ada --runtime zeroclaw --to NEW-FOLDER"
    assert tree_of(ada.agent.workspace) == before
