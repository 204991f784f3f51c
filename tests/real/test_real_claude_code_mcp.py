"""A real Claude Code calls each tool of `lifeboat mcp` and gets its own past; a revoked grant ends that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lifeboat_cli.mcp.stdio_server import TOOLS
from support.cli.cli_client import run
from support.real import real_claude_code, real_openclaw
from support.real.real_claude_code import RealClaudeCode

FORMER = "Boat seventeen lies at the north pier."
LATER = "Boat seventeen lies at the south pier."


@dataclass(frozen=True)
class AskingClaude:
    """A Claude Code whose memory changed once, with the server among its MCP servers."""

    claude: RealClaudeCode
    project: Path
    config: Path
    memory: Path
    memory_id: str
    lifeboat: Path

    def call(self, tool: str, **arguments: Any) -> str:
        """Let the model call a tool of the server, and return what the program sent to the model as its result."""
        message = f"CALL: mcp__lifeboat__{tool} {json.dumps(arguments)}"
        server = ("--mcp-config", str(self.config), "--strict-mcp-config", "--allowedTools", "mcp__lifeboat")
        self.claude.run("-p", message, *server, project=self.project)
        bodies = [json.loads(line)["body"] for line in self.claude.log.read_text().splitlines()]
        results = [
            part
            for body in bodies
            for message in body.get("messages", [])
            for part in (message["content"] if isinstance(message["content"], list) else [])
            if part.get("type") == "tool_result"
        ]
        assert results, f"the program called no tool; tools: {[tool['name'] for tool in bodies[-1].get('tools', [])]}"
        content = results[-1]["content"]
        return content if isinstance(content, str) else "\n".join(str(part.get("text")) for part in content)


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskingClaude]:
    installed = real_claude_code.require()
    folder = tmp_path_factory.mktemp("real")
    with real_openclaw.network(folder) as (namespace, log), pytest.MonkeyPatch.context() as patch:
        claude = RealClaudeCode(installed, folder / "user", namespace, log)
        project = folder / "boats"
        for each in (claude.user_home, project):
            each.mkdir()
        patch.setenv("HOME", str(claude.user_home))
        patch.setenv("LIFEBOAT_HOME", str(folder / "lifeboat"))
        claude.turn(f"REMEMBER: {FORMER}", project)
        agent = run("agents", "add", claude.home, "--name", "Claude")["id"]
        [memory] = claude.home.glob("projects/*/memory/boat-17.md")
        memory.write_text(memory.read_text().replace(FORMER, LATER))
        run("sync")
        config = folder / "mcp.json"
        server = run("agents", "grant", agent)["server"]
        config.write_text(json.dumps({"mcpServers": {"lifeboat": {**server, "type": "stdio"}}}))
        found = run("search", agent, "boat")["hits"][0]["id"]
        yield AskingClaude(claude, project, config, memory, found, folder / "lifeboat")


@pytest.fixture(autouse=True)
def same_home(asking: AskingClaude, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands of each test work on the home of the module."""
    monkeypatch.setenv("HOME", str(asking.claude.user_home))
    monkeypatch.setenv("LIFEBOAT_HOME", str(asking.lifeboat))


def test_each_tool_is_called_and_answers_with_the_agents_own_past(asking: AskingClaude) -> None:
    name = asking.memory.relative_to(asking.claude.home).as_posix()
    asked: dict[str, tuple[dict[str, Any], str]] = {
        "timeline": ({}, '<sequence number="1"'),
        "diff": ({"first": 0}, f"+ {LATER}"),
        "changes_since": ({"time": "2020-01-01"}, f"- {FORMER}"),
        "search": ({"words": "boat"}, LATER),
        "get_memory": ({"id": asking.memory_id}, FORMER),
        "propose_label": ({"label": "the south pier"}, "Proposal 1 waits for the user"),
        "propose_restore_file": ({"path": name, "sequence": 0}, "Proposal 2 waits for the user"),
        "propose_restore_memory": ({"id": asking.memory_id, "sequence": 0}, "Proposal 3 waits for the user"),
        "propose_undo": ({"id": asking.memory_id}, "not_own_edit"),
        "list_proposals": ({}, "3 of 3 proposals are open"),
    }
    assert asked.keys() == TOOLS.keys()
    answers = {tool: asking.call(tool, **arguments) for tool, (arguments, _) in asked.items()}
    assert {tool: answers[tool] for tool, (_, wanted) in asked.items() if wanted not in answers[tool]} == {}
    assert LATER in asking.memory.read_text()
    assert {one["client"] for one in run("proposals")["proposals"]} == {"claude-code"}
    run("proposals", "accept", "Claude", "3", "--yes")
    assert FORMER in asking.memory.read_text()


def test_a_revoked_grant_serves_nothing_to_the_program(asking: AskingClaude) -> None:
    run("agents", "revoke", "Claude")
    asking.claude.run(
        *("-p", "CALL: mcp__lifeboat__timeline {}", "--mcp-config", str(asking.config), "--strict-mcp-config"),
        project=asking.project,
    )
    last = json.loads(asking.claude.last_prompt())
    assert not [tool["name"] for tool in last.get("tools", []) if tool["name"].startswith("mcp__lifeboat")]
