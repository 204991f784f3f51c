"""A Claude Code agent as a user has it: cleaned up, purged, with secrets in transcripts, moved to another runtime."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.claude_code.path_spelling import project_slug
from support.adapters import openclaw_workspaces
from support.adapters.profile_installs import KEY, make_claude_code, write_files
from support.cli.cli_client import run

PROJECT = "projects/-srv-ada-boats"
MATTER = "---\nname: {}\ndescription: about {}\nmetadata: \n  node_type: memory\n  type: {}\n---\n\n"


def _contains(folder: Path, secret: str) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def _records(agent: str) -> dict[str, dict[str, Any]]:
    return {each["snippet"]: each for each in run("records", "list", agent)["records"]}


def test_each_kind_of_memory_has_its_type_and_the_index_has_none(isolated_home: Path) -> None:
    made = make_claude_code(isolated_home)
    kinds = {"user": "preference", "feedback": "procedural", "project": "semantic", "reference": "semantic"}
    for kind in kinds:
        write_files(made.workspace, {f"{PROJECT}/memory/{kind}.md": MATTER.format(kind, kind, kind) + f"Of {kind}.\n"})
    agent = run("agents", "add", made.workspace)["id"]
    records = _records(agent)
    assert {kind: records[f"Of {kind}."]["memory_type"] for kind in kinds} == kinds
    assert len(records) == 2 + len(kinds)
    shown = run("records", "show", agent, records["Of user."]["id"])["records"][0]
    assert shown["category"] == "-srv-ada-boats"


def test_a_clean_up_of_memories_is_held(isolated_home: Path) -> None:
    made = make_claude_code(isolated_home)
    files = {f"{PROJECT}/memory/m{number}.md": f"Fact number {number}.\n" for number in range(30)}
    write_files(made.workspace, files)
    agent = run("agents", "add", made.workspace)["id"]
    shutil.rmtree(made.workspace / PROJECT / "memory")
    assert run("sync")["agents"][0]["held"]["reason"] == "32 of 32 memories were removed within a day"
    run("restore", agent, "--at", "0", "--yes")
    assert (made.workspace / PROJECT / "memory/m7.md").read_text() == "Fact number 7.\n"


def test_a_program_that_only_made_its_home_is_no_agent(isolated_home: Path) -> None:
    home = isolated_home / ".claude"
    write_files(home, {".last-cleanup": "x", "projects/-srv-ada/1.jsonl": "{}\n", "backups/x": "x"})
    (home / "projects/-srv-ada/memory").mkdir()
    assert run("agents", "discover")["found"] == []
    assert run("agents", "add", home, expect=1)["error"]["code"] == "not_a_workspace"
    write_files(home, {"projects/-srv-ada/memory/tea.md": "Likes green tea.\n"})
    assert [each["runtime"] for each in run("agents", "discover")["found"]] == ["claude-code"]


def test_a_home_that_a_variable_moves_has_its_settings_inside(
    isolated_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_claude_code(isolated_home)
    home = isolated_home / "elsewhere"
    made.workspace.rename(home)
    (isolated_home / ".claude.json").rename(home / ".claude.json")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    assert [each["workspace"] for each in run("agents", "discover")["found"]] == [str(home)]
    agent = run("agents", "add", home)["id"]
    assert _contains(isolated_home / ".local", KEY) == []
    (home / ".claude.json").unlink()
    run("restore", agent, "--yes")
    assert json.loads((home / ".claude.json").read_text())["mcpServers"]["search"]["env"] == {"SEARCH": f"{KEY}-search"}


def test_secrets_of_settings_are_cut_out_of_transcripts_and_memories(isolated_home: Path) -> None:
    made = make_claude_code(isolated_home)
    secrets = [f"{KEY}-search", f"{KEY}-of-the-login", KEY, f"{KEY}-of-a-copy", f"{KEY}-header"]
    old = {"mcpServers": {"old": {"headers": {"X-Access": secrets[4]}, "env": {"OLD": secrets[3]}}}}
    lines = "".join(json.dumps({"type": "user", "text": f"it is {secret}"}) + "\n" for secret in secrets)
    write_files(
        made.workspace,
        {
            "backups/.claude.json.backup.2": json.dumps(old),
            f"{PROJECT}/4567.jsonl": lines,
            f"{PROJECT}/memory/keys.md": MATTER.format("keys", "keys", "project") + "\n".join(secrets) + "\n",
        },
    )
    run("config", "set", "transcripts", "true")
    agent = run("agents", "add", made.workspace)["id"]
    assert _contains(isolated_home / ".local", KEY) == []
    shutil.rmtree(made.workspace / PROJECT)
    run("restore", agent, "--yes", "--with-sessions")
    assert (made.workspace / PROJECT / "4567.jsonl").read_text() == lines
    assert secrets[0] in (made.workspace / PROJECT / "memory/keys.md").read_text()


def test_secrets_are_learned_from_settings_with_years_of_prompts(isolated_home: Path) -> None:
    made = make_claude_code(isolated_home)
    settings = json.loads((isolated_home / ".claude.json").read_text())
    settings["projects"]["/srv/ada/boats"]["history"] = [{"display": "x" * 1000}] * 6000
    (isolated_home / ".claude.json").write_text(json.dumps(settings))
    write_files(made.workspace, {f"{PROJECT}/memory/keys.md": f"It is {KEY}-search.\n"})
    run("agents", "add", made.workspace)
    assert _contains(isolated_home / ".local", f"{KEY}-search") == []


def test_settings_that_cannot_be_read_are_reported(isolated_home: Path) -> None:
    made = make_claude_code(isolated_home)
    run("agents", "add", made.workspace)
    (isolated_home / ".claude.json").write_text('{"mcpServers": ')
    write_files(made.workspace, {f"{PROJECT}/memory/new.md": f"It is {KEY}-search.\n"})
    report = run("sync", expect=1)["agents"][0]
    assert any(".claude.json is not valid JSON" in why for why in report["unread"].values())
    assert _contains(isolated_home / ".local", f"{KEY}-search") == []


def test_restored_transcripts_keep_their_order(isolated_home: Path) -> None:
    made = make_claude_code(isolated_home)
    times = {"b.jsonl": "2026-11-20T08:00:00.000Z", "a.jsonl": "2026-11-21T08:00:00.000Z"}
    lines = {
        f"{PROJECT}/{name}": json.dumps({"timestamp": time}, separators=(",", ":")) for name, time in times.items()
    }
    write_files(made.workspace, {name: f"{line}\n" for name, line in lines.items()})
    run("config", "set", "transcripts", "true")
    agent = run("agents", "add", made.workspace)["id"]
    for name in times:
        (made.workspace / PROJECT / name).unlink()
    run("restore", agent, "--at", "0", "--yes", "--with-sessions")
    written = [(made.workspace / PROJECT / name).stat().st_mtime_ns for name in times]
    assert written == sorted(written)


def test_a_server_that_is_there_stays_and_a_missing_one_is_added(isolated_home: Path) -> None:
    made = make_claude_code(isolated_home)
    agent = run("agents", "add", made.workspace)["id"]
    own = {"machineID": "y", "numStartups": 7, "mcpServers": {"mine": {"command": "mine"}}}
    settings = isolated_home / ".claude.json"
    settings.write_text(json.dumps(own))
    run("restore", agent, "--at", "0", "--yes")
    found = json.loads(settings.read_text())
    assert (found["machineID"], found["numStartups"], list(found["mcpServers"])) == ("y", 7, ["mine", "search"])


def test_a_purged_memory_is_gone_with_its_description(isolated_home: Path) -> None:
    made = make_claude_code(isolated_home)
    text = MATTER.format("ring", "the hidden ring", "project") + "The ring lies under the oak.\n"
    write_files(made.workspace, {f"{PROJECT}/memory/ring.md": text})
    agent = run("agents", "add", made.workspace)["id"]
    record = _records(agent)["The ring lies under the oak."]["id"]
    run("purge", agent, "--record", record, "--yes")
    back = isolated_home / "back" / ".claude"
    run("restore", agent, "--to", back, "--yes", expect=1)  # without credentials
    assert _contains(back, "hidden ring") == _contains(back, "under the oak") == []


def test_memories_of_another_runtime_become_files_with_front_matter_and_a_line_each(isolated_home: Path) -> None:
    state = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    agent = run("agents", "add", state.workspace)["id"]
    there = isolated_home / ".claude"
    run("restore", agent, "--runtime", "claude-code", "--to", there, "--yes")
    folder = there / "projects" / project_slug(str(isolated_home)) / "memory"
    files = [path for path in folder.iterdir() if path.name != "MEMORY.md"]
    index = (folder / "MEMORY.md").read_text()
    assert files and all(f"]({path.name})" in index for path in files)
    assert len(index.splitlines()) == len(files)
    for path in files:
        first, name, description, metadata, node, kind, last = path.read_text().splitlines()[:7]
        assert (first, name, metadata, node, last) == (
            *("---", f"name: {path.stem}", "metadata: ", "  node_type: memory"),
            "---",
        )
        assert description.startswith("description: ") and kind.strip() in (
            "type: user",
            "type: feedback",
            "type: project",
        )
    adapter = adapter_registry.load_adapter("claude-code")
    sections = adapter.split(f"raw/claude-code/projects/x/memory/{files[0].name}", files[0].read_text())
    assert sections is not None and not sections[0].text.startswith("---")


def test_a_memory_edited_elsewhere_keeps_its_front_matter(isolated_home: Path) -> None:
    made = make_claude_code(isolated_home)
    agent = run("agents", "add", made.workspace)["id"]
    there, back = isolated_home / "hermes", isolated_home / "back" / ".claude"
    run("restore", agent, "--runtime", "hermes", "--to", there, "--adopt", "--yes")
    run("sync")
    notes = there / "memories/MEMORY.md"
    notes.write_text(notes.read_text().replace("in the harbour", "in the old harbour"))
    run("sync")
    run("restore", agent, "--runtime", "claude-code", "--to", back, "--adopt", "--yes", "--with-credentials")
    path = f"{PROJECT}/memory/boats.md"
    before = (made.workspace / path).read_text()
    assert (back / path).read_text() == before.replace("in the harbour", "in the old harbour")
    index = f"{PROJECT}/memory/MEMORY.md"
    assert (back / index).read_text() == (made.workspace / index).read_text()
