"""A real Claude Code: it lives, is captured, lost and restored, and goes on with its memory; its project is moved."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.cli.cli_client import run
from support.real import real_claude_code, real_openclaw
from support.real.real_claude_code import KEY, RealClaudeCode

REMEMBERED = "Boat seventeen lies at the north pier."
INDEX = "- [Boat 17](boat-17.md) — where boat 17 lies\n"


@dataclass(frozen=True)
class ClaudeStory:
    """The agent before the loss and after the restore, and what other runtimes made of it."""

    claude: RealClaudeCode
    before: dict[str, bytes]
    after: dict[str, bytes]
    servers: dict[str, object]
    memories: list[dict[str, object]]
    prompt: str
    continued: str
    known: list[dict[str, object]]
    hermes: dict[str, bytes]
    lifeboat: Path


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _plant_credentials(claude: RealClaudeCode, project: Path) -> None:
    """Put a credential into every place that has one, as far as possible by the program itself."""
    for scope in ("user", "local"):
        server = ("mcp", "add", f"search-{scope}", "--scope", scope, "-e", f"SEARCH={KEY}-{scope}", "--", "/bin/true")
        claude.run(*server, project=project)
    (claude.home / "settings.json").write_text(json.dumps({"env": {"SERVICE_TOKEN": f"{KEY}-of-settings"}}))
    (claude.home / ".credentials.json").write_text(json.dumps({"claudeAiOauth": {"accessToken": f"{KEY}-of-login"}}))
    for name in ("settings.json", ".credentials.json"):
        (claude.home / name).chmod(0o600)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClaudeStory]:
    installed = real_claude_code.require()
    folder = tmp_path_factory.mktemp("real")
    with real_openclaw.network(folder) as (namespace, log), pytest.MonkeyPatch.context() as patch:
        claude = RealClaudeCode(installed, folder / "user", namespace, log)
        project = folder / "boats"
        for each in (claude.user_home, project):
            each.mkdir()
        patch.setenv("HOME", str(claude.user_home))
        patch.setenv("LIFEBOAT_HOME", str(folder / "lifeboat"))
        patch.setenv("PATH", "/usr/bin:/bin")
        claude.turn("Good morning.", project)
        assert run("agents", "discover")["found"] == []  # the program made its home, and there is nothing in it
        claude.turn(f"REMEMBER: {REMEMBERED}", project)
        [memory] = claude.home.glob("projects/*/memory/boat-17.md")
        memory.with_name("MEMORY.md").write_text(INDEX)  # the model would write it with the same tool
        _plant_credentials(claude, project)
        [found] = run("agents", "discover")["found"]
        assert found["runtime"] == "claude-code"
        agent = run("agents", "add", found["workspace"])["id"]
        run("config", "set", "transcripts", "true")
        run("sync")
        claude.turn("Good evening.", project)
        run("sync")
        settings = claude.user_home / ".claude.json"
        before = _files(claude.home)
        shutil.rmtree(claude.home)
        settings.unlink()
        run("restore", agent, "--yes", "--with-sessions")
        after, servers = _files(claude.home), json.loads(settings.read_text())
        claude.turn("Where is the boat?", project)
        prompt = claude.last_prompt()
        memories = run("records", "list", agent)["records"]
        there = folder / "hermes" / "home"
        run("restore", agent, "--runtime", "hermes", "--to", there, "--yes")
        moved = project.rename(folder / "harbour")
        run("agents", "move-project", agent, project, moved, "--yes")
        claude.run("-p", "Go on.", "--continue", "--permission-mode", "acceptEdits", project=moved)
        continued = claude.last_prompt()
        run("sync")
        known = run("records", "list", agent)["records"]
        yield ClaudeStory(
            claude, before, after, servers, memories, prompt, continued, known, _files(there), folder / "lifeboat"
        )


def test_the_memory_that_the_program_wrote_is_the_only_memory(story: ClaudeStory) -> None:
    assert [record["snippet"] for record in story.memories] == [REMEMBERED]
    [file] = [data for name, data in story.after.items() if name.endswith("boat-17.md")]
    assert b"metadata: \n  node_type: memory\n" in file, "the program writes front matter in another way"


def test_everything_but_the_state_of_the_machine_comes_back_byte_for_byte(story: ClaudeStory) -> None:
    assert {name for name in story.after if story.after[name] != story.before.get(name)} == set()
    machine = ("backups/", ".last-cleanup", "telemetry/", "sessions/", "cache/", "shell-snapshots/")
    assert [name for name in story.before.keys() - story.after.keys() if not name.startswith(machine)] == []
    assert any(name.endswith(".jsonl") for name in story.after), "no transcript came back"


def test_servers_and_credentials_come_back(story: ClaudeStory) -> None:
    for made in (f"{KEY}-user", f"{KEY}-local"):
        assert made in json.dumps(story.servers)
    assert f"{KEY}-of-settings".encode() in story.after["settings.json"]
    assert f"{KEY}-of-login".encode() in story.after[".credentials.json"]


def test_no_credential_lies_in_clear_in_the_home_of_lifeboat(story: ClaudeStory) -> None:
    assert [name for name, data in _files(story.lifeboat).items() if KEY.encode() in data] == []


def test_the_program_goes_on_with_its_memory_after_the_loss(story: ClaudeStory) -> None:
    assert INDEX.strip() in story.prompt


def test_the_memory_moves_to_hermes(story: ClaudeStory) -> None:
    assert story.hermes["memories/MEMORY.md"] == REMEMBERED.encode()


def test_a_moved_project_goes_on_with_its_memory_and_its_last_session(story: ClaudeStory) -> None:
    assert INDEX.strip() in story.continued and "Where is the boat?" in story.continued
    assert [record["id"] for record in story.known] == [record["id"] for record in story.memories]
