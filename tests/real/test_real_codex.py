"""A real Codex CLI: it lives, the daemon captures it after each session, its home is lost, and it goes on."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.cli.cli_client import run
from support.real import real_codex, real_openclaw
from support.real.captured_by_hook import HookedAgent, capture_by_hook
from support.real.real_codex import KEY, RealCodex

INSTRUCTIONS = "Ask before you delete a branch.\n"
GOAL = "Paint boat seventeen."
RULE = 'prefix_rule(pattern = ["git", "status"], decision = "allow")\n'


@dataclass(frozen=True)
class CodexStory:
    """The agent before the loss and after the restore."""

    before: dict[str, bytes]
    after: dict[str, bytes]
    login: tuple[str, str]
    goals: list[Any]
    finding: dict[str, Any]
    verified: dict[str, Any]
    prompt: str
    leaks: list[str]


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _live(codex: RealCodex, agent: HookedAgent) -> None:
    """Let the agent note something, keep a goal, and read a credential, each in a session of its own."""
    (codex.home / "memories").mkdir(exist_ok=True)
    note = "# Task group: boats\\n\\nBoat seventeen is red.\\n"
    for message in (f"RUN: printf '{note}' > {codex.home}/memories/MEMORY.md", f"GOAL: {GOAL}", f"I use {KEY}-search."):
        with agent.captured():
            codex.turn(message)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodexStory]:
    installed = real_codex.require()
    folder = tmp_path_factory.mktemp("real")
    with real_openclaw.network(folder) as (namespace, log), pytest.MonkeyPatch.context() as patch:
        codex = RealCodex(installed, folder / "user", namespace, log)
        codex.configure()
        (codex.home / "AGENTS.md").write_text(INSTRUCTIONS)
        (codex.home / "rules").mkdir()
        (codex.home / "rules" / "default.rules").write_text(RULE)
        patch.setenv("HOME", str(codex.user_home))
        patch.setenv("LIFEBOAT_HOME", str(folder / "lifeboat"))
        [found] = run("agents", "discover")["found"]
        assert (found["runtime"], found["workspace"]) == ("codex", str(codex.home))
        with capture_by_hook(codex.home, folder / "lifeboat", folder / "stick") as agent:
            codex.trust_hooks()
            [finding] = [one for one in run("doctor")["findings"] if one["check"] == "session_hook"]
            _live(codex, agent)
            said = codex.run("login", "status")
            before = _files(codex.home)
            shutil.rmtree(codex.home)
            agent.run("restore", agent.id, "--yes", "--with-sessions", "--with-credentials")
            after = _files(codex.home)
            with closing(sqlite3.connect(codex.home / "goals_1.sqlite")) as goals:
                kept = goals.execute("select objective, status from thread_goals").fetchall()
            verified = agent.run("verify", agent.id)
            codex.turn("Go on.", "resume", "--last")
            prompt, leaks = codex.last_prompt(), agent.leaks(KEY)
        assert not (codex.home / "hooks.json").exists(), "the hook left a trace"
        yield CodexStory(before, after, (said, codex.run("login", "status")), kept, finding, verified, prompt, leaks)


def test_the_program_trusts_the_hook_by_the_digest_that_lifeboat_expects(story: CodexStory) -> None:
    assert (story.finding["level"], story.finding["result"]) == (
        "ok",
        "the runtime reports the end of each session to Lifeboat",
    )


def test_instructions_memories_rules_and_settings_come_back_byte_for_byte(story: CodexStory) -> None:
    names = ("AGENTS.md", "memories/MEMORY.md", "rules/default.rules", "config.toml", "auth.json", "hooks.json")
    for name in names:
        assert story.after[name] == story.before[name], name


def test_rollouts_come_back_byte_for_byte(story: CodexStory) -> None:
    names = [name for name in story.before if name.startswith("sessions/") and name.endswith(".jsonl")]
    assert len(names) == 3
    assert {name: story.after.get(name) for name in names} == {name: story.before[name] for name in names}


def test_what_comes_with_the_program_and_state_of_the_machine_stay_out(story: CodexStory) -> None:
    left = ("skills/.system/", "state_", "logs_", "thread_history_", "installation_id", "log/")
    assert [name for name in story.after if name.startswith(left)] == []


def test_a_goal_whose_database_lies_in_its_log_comes_back_and_is_verified(story: CodexStory) -> None:
    assert story.goals == [(GOAL, "active")]
    assert "memories_1.sqlite" in story.after
    assert (story.verified["mismatches"], story.verified["damaged"]) == ([], [])


def test_the_program_is_logged_in_after_the_restore_as_before(story: CodexStory) -> None:
    before, after = story.login
    assert "API key" in before and after == before


def test_the_program_goes_on_with_its_instructions_and_its_last_session(story: CodexStory) -> None:
    assert INSTRUCTIONS.strip() in story.prompt
    assert f"I use {KEY}-search." in story.prompt


def test_no_credential_is_in_clear_anywhere(story: CodexStory) -> None:
    assert story.leaks == []
