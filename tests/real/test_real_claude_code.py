"""A real Claude Code: it lives, the daemon captures it after each session, it is lost and restored, and goes on with
its memory; its project is moved."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.cli.cli_client import run
from support.real import real_claude_code, real_openclaw
from support.real.captured_by_hook import HookedAgent, capture_by_hook
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
    leaks: list[str]
    settings: tuple[bytes, bytes]
    compacting: int


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _plant_credentials(claude: RealClaudeCode, project: Path) -> None:
    """Put a credential into every place that has one, as far as possible by the program itself."""
    for scope in ("user", "local"):
        server = ("mcp", "add", f"search-{scope}", "--scope", scope, "-e", f"SEARCH={KEY}-{scope}", "--", "/bin/true")
        claude.run(*server, project=project)
    header = ("--transport", "http", "tides", "http://127.0.0.1:9/mcp", "--header", f"X-Access: {KEY}-header")
    claude.run("mcp", "add", "--scope", "user", *header, project=project)
    # The program copies its settings there at most once an hour.
    shutil.copy(claude.user_home / ".claude.json", claude.home / "backups" / ".claude.json.backup.1")
    for name, values in {
        "settings.json": {"env": {"SERVICE_TOKEN": f"{KEY}-of-settings"}},
        "settings.local.json": {"env": {"OTHER_TOKEN": f"{KEY}-of-local-settings"}},
        ".credentials.json": {"claudeAiOauth": {"accessToken": f"{KEY}-of-login"}},
        ".device-keys.json": {"key": f"{KEY}-of-device"},
    }.items():
        (claude.home / name).write_text(json.dumps(values, indent=2))
        (claude.home / name).chmod(0o600)


def _compact(claude: RealClaudeCode, project: Path, hooked: HookedAgent) -> int:
    """Compact a session with the hook for this event alone; return the captures that the hook asked for."""
    settings = claude.home / "settings.json"
    installed = settings.read_bytes()
    values = json.loads(installed)
    del values["hooks"]["SessionEnd"]
    settings.write_text(json.dumps(values, indent=2))
    before = hooked.captures("request")
    with hooked.captured():
        claude.turn("/compact", project, "--continue")
    settings.write_bytes(installed)
    return hooked.captures("request") - before


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
        [memories] = claude.home.glob("projects/*/memory")
        (memories / "MEMORY.md").write_text(INDEX)  # the model would write it with the same tool as the memory
        _plant_credentials(claude, project)
        [found] = run("agents", "discover")["found"]
        assert found["runtime"] == "claude-code"
        settings = claude.home / "settings.json"
        without_hook = settings.read_bytes()
        with capture_by_hook(claude.home, folder / "lifeboat", folder / "stick") as hooked:
            agent = hooked.id
            compacting = 0
            for message in (f"REMEMBER: {REMEMBERED}", f"I use {KEY}-user.", "Good evening."):
                with hooked.captured():
                    claude.turn(message, project)
                compacting = compacting or _compact(claude, project, hooked)
            before = _files(claude.home)
            shutil.rmtree(claude.home)
            (claude.user_home / ".claude.json").unlink()
            hooked.run("restore", agent, "--yes", "--with-sessions")
            after, servers = _files(claude.home), json.loads((claude.user_home / ".claude.json").read_text())
            claude.turn("Where is the boat?", project)
            prompt = claude.last_prompt()
            records = hooked.run("records", "list", agent)["records"]
            there = folder / "hermes" / "home"
            hooked.run("restore", agent, "--runtime", "hermes", "--to", there, "--yes")
            moved = project.rename(folder / "harbour")
            hooked.run("agents", "move-project", agent, project, moved, "--yes")
            claude.turn("Go on.", moved, "--continue")
            continued = claude.last_prompt()
            hooked.run("sync")
            known = hooked.run("records", "list", agent)["records"]
            leaks = hooked.leaks(KEY)
        ends = (without_hook, settings.read_bytes())
        said = (records, prompt, continued, known, _files(there), leaks, ends, compacting)
        yield ClaudeStory(claude, before, after, servers, *said)


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
    for made in (f"{KEY}-user", f"{KEY}-local", f"{KEY}-header"):
        assert made in json.dumps(story.servers)
    for name, made in {
        "settings.json": "settings",
        ".credentials.json": "login",
        ".device-keys.json": "device",
    }.items():
        assert f"{KEY}-of-{made}".encode() in story.after[name]


def test_no_credential_is_in_clear_anywhere(story: ClaudeStory) -> None:
    assert any(f"{KEY}-user".encode() in data for name, data in story.before.items() if name.startswith("backups/"))
    assert story.leaks == []


def test_the_hook_goes_without_a_trace(story: ClaudeStory) -> None:
    before, after = story.settings
    assert after == before


def test_the_program_goes_on_with_its_memory_after_the_loss(story: ClaudeStory) -> None:
    assert INDEX.strip() in story.prompt


def test_the_memory_moves_to_hermes(story: ClaudeStory) -> None:
    assert story.hermes["memories/MEMORY.md"] == REMEMBERED.encode()


def test_a_moved_project_goes_on_with_its_memory_and_its_last_session(story: ClaudeStory) -> None:
    assert INDEX.strip() in story.continued and "Where is the boat?" in story.continued
    assert [record["id"] for record in story.known] == [record["id"] for record in story.memories]


def test_the_hook_captures_the_agent_before_a_session_is_compacted(story: ClaudeStory) -> None:
    assert story.compacting > 0


def test_memories_in_the_directory_of_a_setting_come_back_and_the_program_goes_on_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = real_claude_code.require()
    with real_openclaw.network(tmp_path) as (namespace, log):
        claude = RealClaudeCode(installed, tmp_path / "user", namespace, log)
        project, kept = tmp_path / "boats", claude.user_home / "harbour" / "memory"
        for each in (project, claude.home):
            each.mkdir(parents=True)
        monkeypatch.setenv("HOME", str(claude.user_home))
        monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "lifeboat"))
        (claude.home / "settings.json").write_text(json.dumps({"autoMemoryDirectory": "~/harbour/memory"}))
        claude.turn(f"REMEMBER: {REMEMBERED}", project)
        (kept / "MEMORY.md").write_text(INDEX)
        agent, before = run("agents", "add", claude.home)["id"], _files(kept)
        assert [each["snippet"] for each in run("records", "list", agent)["records"]] == [REMEMBERED]
        for lost in (claude.home, kept):
            shutil.rmtree(lost)
        run("restore", agent, "--yes")
        assert _files(kept) == before and "boat-17.md" in before
        claude.turn("Where is the boat?", project)
        assert INDEX.strip() in claude.last_prompt()
