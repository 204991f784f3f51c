"""`lifeboat restore --map OLD=NEW`: an agent comes back on a machine where its projects have other paths."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.claude_code.path_spelling import map_path
from support.adapters import openclaw_workspaces
from support.adapters.profile_installs import KEY, make_claude_code, write_files
from support.cli.cli_client import run

BOATS, HARBOUR = "projects/-srv-ada-boats", "projects/-Users-bob-boats"
MAP = ("--map", "/srv/ada=/Users/bob")
SESSION = {"type": "user", "cwd": "/srv/ada/boats", "text": "in /srv/ada/boats and /srv/adam"}


@pytest.fixture
def agent(isolated_home: Path) -> dict[str, Any]:
    made = make_claude_code(isolated_home)
    settings = {
        "permissions": {"additionalDirectories": ["/srv/ada/tools", "/srv/adam"]},
        "env": {"SERVICE_TOKEN": KEY},
    }
    servers = {"/srv/ada/boats": {"mcpServers": {"tides": {"command": "tides", "env": {"TIDES": f"{KEY}-tides"}}}}}
    write_files(
        isolated_home,
        {
            ".claude.json": json.dumps({"projects": servers}),
            ".claude/settings.json": json.dumps(settings, indent=2),
            f".claude/{BOATS}/4567.jsonl": json.dumps(SESSION, separators=(",", ":")) + "\n",
            ".claude/projects/-srv-adam/memory/adam.md": "Adam rows.\n",
        },
    )
    run("config", "set", "transcripts", "true")
    return run("agents", "add", made.workspace)


def _lose(isolated_home: Path) -> Path:
    home = isolated_home / ".claude"
    shutil.rmtree(home)
    (isolated_home / ".claude.json").unlink()
    return home


def test_every_place_that_holds_the_path_gets_the_new_one(agent: dict[str, Any], isolated_home: Path) -> None:
    before = (isolated_home / f".claude/{BOATS}/memory/boats.md").read_bytes()
    home = _lose(isolated_home)
    run("restore", agent["id"], "--yes", "--with-sessions", *MAP)
    assert (home / HARBOUR / "memory/boats.md").read_bytes() == before
    assert not (home / BOATS).exists()
    assert (home / "projects/-srv-adam/memory/adam.md").is_file()
    settings = json.loads((home / "settings.json").read_text())
    assert settings["permissions"]["additionalDirectories"] == ["/Users/bob/tools", "/srv/adam"]
    assert settings["env"] == {"SERVICE_TOKEN": KEY}
    servers = json.loads((isolated_home / ".claude.json").read_text())["projects"]
    assert servers["/Users/bob/boats"]["mcpServers"]["tides"]["env"] == {"TIDES": f"{KEY}-tides"}
    line = json.loads((home / HARBOUR / "4567.jsonl").read_text())
    assert line == SESSION | {"cwd": "/Users/bob/boats"}


def test_memories_stay_the_same_ones(agent: dict[str, Any], isolated_home: Path) -> None:
    before = {each["id"] for each in run("records", "list", agent["id"])["records"]}
    _lose(isolated_home)
    run("restore", agent["id"], "--yes", *MAP)
    report = run("sync")["agents"][0]
    assert {each["id"] for each in run("records", "list", agent["id"])["records"]} == before
    assert report["held"] is None


def test_a_map_in_place_moves_and_can_be_undone(agent: dict[str, Any], isolated_home: Path) -> None:
    home = isolated_home / ".claude"
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    run("restore", agent["id"], "--yes", *MAP)
    assert not (home / BOATS / "memory/boats.md").exists() and (home / HARBOUR / "memory/boats.md").exists()
    run("undo", agent["id"])
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_a_dry_run_names_what_may_be_another_project(agent: dict[str, Any]) -> None:
    plan = run("restore", agent["id"], "--dry-run", *MAP)
    assert any("projects/-srv-ada-boats" in warning and "-srv-adam" not in warning for warning in plan["warnings"])
    exact = run("restore", agent["id"], "--dry-run", "--map", "/srv/ada/boats=/srv/bob/boats")
    assert not any("Lifeboat assumes that these projects" in warning for warning in exact["warnings"])


def test_two_projects_of_one_name_are_refused(agent: dict[str, Any], isolated_home: Path) -> None:
    home = isolated_home / ".claude"
    words = ("--map", "/srv/ada/boats=/srv/x", "--map", "/srv/adam=/srv/x")
    write_files(home, {f"{BOATS}/memory/tea.md": "x", "projects/-srv-adam/memory/tea.md": "y"})
    run("sync")
    error = run("restore", agent["id"], "--yes", *words, expect=3)["error"]
    assert error["code"] == "project_refused" and "projects/-srv-x/memory/tea.md" in error["message"]


def test_another_runtime_and_paths_that_are_none_are_refused(isolated_home: Path) -> None:
    state = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    agent = run("agents", "add", state.workspace)["id"]
    error = run("restore", agent, "--to", isolated_home / "copy", "--yes", *MAP, expect=3)["error"]
    assert error["code"] == "project_refused"
    for wrong in ("/srv/ada", "ada=/srv/bob", "/srv/ada=bob"):
        assert run("restore", agent, "--yes", "--map", wrong, expect=2)["error"]["code"] == "usage"


def test_the_first_pair_that_fits_counts() -> None:
    pairs = [("/srv/ada/boats", "/srv/x"), ("/srv/ada", "/srv/bob")]
    assert [map_path(path, pairs) for path in ("/srv/ada/boats/a", "/srv/ada/b", "/srv/adam")] == [
        "/srv/x/a",
        "/srv/bob/b",
        "/srv/adam",
    ]
