"""Claude Code with the setting `autoMemoryDirectory`: memories of all projects lie in a folder of the user's choice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lifeboat_core.agents.agent import list_agents
from lifeboat_core.home.context import Context
from lifeboat_daemon.watch import make_watch_plan
from support.adapters.profile_installs import make_claude_code, make_hermes, write_files
from support.cli.cli_client import run

PART = "projects/autoMemoryDirectory/memory"
MATTER = "---\nname: tide\ndescription: about tide\nmetadata: \n  node_type: memory\n  type: user\n---\n\n"
TIDE = MATTER + "High tide is at 7.\n"
INDEX = "- [Tide](tide.md) — when\n"


def _make(home: Path, named: str = "~/notes", folder: str = "notes") -> Path:
    made = make_claude_code(home)
    write_files(home, {f"{folder}/tide.md": TIDE, f"{folder}/MEMORY.md": INDEX, f"{folder}/photo.png": "x"})
    (made.workspace / "settings.json").write_text(json.dumps({"autoMemoryDirectory": named}))
    return made.workspace


def _snippets(agent: str) -> set[str]:
    return {each["snippet"] for each in run("records", "list", agent)["records"]}


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def test_its_memories_are_captured_and_come_back_after_the_loss_of_everything(isolated_home: Path) -> None:
    home = _make(isolated_home)
    agent = run("agents", "add", home)["id"]
    assert "High tide is at 7." in _snippets(agent)
    [found] = [each for each in run("doctor")["findings"] if each["check"] == "left_behind"]
    assert found["level"] == "ok"
    shutil.rmtree(home)
    shutil.rmtree(isolated_home / "notes")
    run("restore", agent, "--yes")
    assert (isolated_home / "notes/tide.md").read_text() == TIDE
    assert _names(isolated_home / "notes") == {"tide.md", "MEMORY.md"}
    assert not (home / PART).exists()
    assert run("sync")["agents"][0]["outcome"] == "unchanged"


def test_the_daemon_watches_the_folder(isolated_home: Path) -> None:
    home = _make(isolated_home)
    run("agents", "add", home)
    context = Context.open()
    [agent] = list_agents(context)
    watched = {Path(each.folder): each.only for each in make_watch_plan.plan_watching(context, agent).folders}
    assert watched[isolated_home / "notes"] == ("*.md",)


def test_a_restore_in_place_replaces_and_removes_memories_and_undo_brings_them_back(isolated_home: Path) -> None:
    home, notes = _make(isolated_home), isolated_home / "notes"
    agent = run("agents", "add", home)["id"]
    write_files(notes, {"tide.md": TIDE.replace("7", "8"), "moor.md": "Moor at the north pier.\n"})
    run("sync")
    run("restore", agent, "--at", "0", "--yes")
    assert (notes / "tide.md").read_text() == TIDE
    assert _names(notes) == {"tide.md", "MEMORY.md", "photo.png"}
    run("undo")
    assert (notes / "tide.md").read_text() == TIDE.replace("7", "8")
    assert (notes / "moor.md").read_text() == "Moor at the north pier.\n"


def test_a_copy_elsewhere_contains_the_memories_and_leaves_the_folder_alone(isolated_home: Path) -> None:
    home, notes = _make(isolated_home), isolated_home / "notes"
    agent = run("agents", "add", home)["id"]
    (notes / "tide.md").unlink()
    run("restore", agent, "--to", isolated_home / "copy", "--with-credentials")
    assert (isolated_home / "copy" / PART / "tide.md").read_text() == TIDE
    assert not (notes / "tide.md").exists()


@pytest.mark.parametrize("is_mapped", [True, False])
def test_a_folder_of_another_users_home_is_mapped_or_named(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch, *, is_mapped: bool
) -> None:
    home = _make(isolated_home, str(isolated_home / "notes"))
    agent = run("agents", "add", home)["id"]
    bob = isolated_home / "bob"
    bob.mkdir()
    monkeypatch.setenv("HOME", str(bob))
    mapped = ("--map", f"{isolated_home}={bob}") if is_mapped else ()
    report = run("restore", agent, "--to", bob / ".claude", "--adopt", "--with-credentials", *mapped)
    place = bob / "notes" if is_mapped else bob / ".claude" / PART
    assert (place / "tide.md").read_text() == TIDE
    said = [each for each in report["warnings"] if "is not inside your home directory" in each]
    assert len(said) == (not is_mapped)


@pytest.mark.parametrize("place", ["outside", "local"])
def test_what_is_not_captured_is_named_with_the_command_that_protects_it(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    folder = isolated_home.with_name(f"{isolated_home.name}-shared")
    made = make_claude_code(isolated_home)
    write_files(folder, {"tide.md": TIDE})
    settings = json.dumps({"autoMemoryDirectory": str(folder)})
    if place == "outside":
        (made.workspace / "settings.json").write_text(settings)
    else:
        project = isolated_home / "boats"
        write_files(project, {".claude/settings.local.json": settings})
        (isolated_home / ".claude.json").write_text(json.dumps({"projects": {str(project): {}}}))
    agent = run("agents", "add", made.workspace)["id"]
    assert "High tide is at 7." not in _snippets(agent)
    [found] = [each for each in run("doctor")["findings"] if each["check"] == "left_behind"]
    assert (found["level"], f"{folder} (setting autoMemoryDirectory)" in found["result"]) == ("warning", True)
    assert found["fix"] == f"lifeboat agents add {folder} --runtime markdown"


def test_a_memory_of_another_runtime_arrives_where_the_program_reads_it(isolated_home: Path) -> None:
    hermes = make_hermes(isolated_home)
    agent = run("agents", "add", hermes.workspace)["id"]
    home = _make(isolated_home)
    run("restore", agent, "--runtime", "claude-code", "--to", home, "--adopt", "--yes")
    new = _names(isolated_home / "notes") - {"tide.md", "MEMORY.md", "photo.png"}
    assert new and all(name.startswith("memory-") for name in new)
    assert not (home / PART).exists()


def test_a_purge_reaches_the_folder(isolated_home: Path) -> None:
    home = _make(isolated_home)
    agent = run("agents", "add", home)["id"]
    [memory] = [each["id"] for each in run("records", "list", agent)["records"] if "tide is" in each["snippet"]]
    run("purge", agent, "--record", memory, "--workspace", "--yes")
    assert (isolated_home / "notes/tide.md").read_text() == ""
