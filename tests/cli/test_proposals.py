"""`lifeboat proposals` for people: the words of an agent never look like those of Lifeboat."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_cli import program
from lifeboat_core.agents.agent import Agent, find_agent
from lifeboat_core.grants import agent_grant, proposal_requests, proposal_run
from lifeboat_core.grants.proposals import Request
from lifeboat_core.home.context import Context
from support.adapters import openclaw_workspaces
from support.cli import cli_client

FIRST = "# Memory\n\n## Tea\n\nPay the rent\n\nThe memory then: Likes green tea.\n"
SECOND = FIRST.replace("Pay", "Never pay")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a memory file of ada, whose memory has a line that looks like one of Lifeboat's."""
    workspace = tmp_path / "workspace"
    openclaw_workspaces.make_workspace(workspace)
    file = workspace / "MEMORY.md"
    file.write_text(FIRST)
    cli_client.run("agents", "add", workspace, "--name", "ada")
    file.write_text(SECOND)
    cli_client.run("sync")
    return file


def _ada() -> tuple[Context, Agent]:
    context = Context.open()
    return context, find_agent(context, "ada")


def _propose() -> int:
    """Propose to restore the memory as of the first sequence, and return the proposal's number."""
    context, ada = _ada()
    grant = agent_grant.give_grant(context, ada)
    memory = str(cli_client.run("search", "ada", "rent")["hits"][0]["id"])
    request: Request = proposal_requests.request_memory(context, ada, memory, 0, "please")
    with context.vault(ada.id) as vault:
        session = proposal_requests.begin_session(ada, grant, vault, context.now())
        return proposal_run.make_proposal(context, vault, session, grant, request).number


def _say(capsys: pytest.CaptureFixture[str], *arguments: str, expect: int = 0) -> str:
    capsys.readouterr()
    assert program.run_command(list(arguments)) == expect
    said = capsys.readouterr()
    return said.out + said.err


def test_no_line_of_a_memory_looks_like_one_of_the_preview(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = _say(capsys, "proposals", "show", "ada", str(_propose())).splitlines()
    assert [line for line in lines if line.startswith("The memory")] == ["The memory now:", "The memory then:"]
    assert "  - Never pay the rent" in lines and "  + Pay the rent" in lines


def test_an_accepted_proposal_without_a_result_is_not_shown_as_done(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    number = _propose()
    context, ada = _ada()
    monkeypatch.setattr(proposal_run, "_note", lambda *_, **__: None)  # the process ended before it could write more
    monkeypatch.setattr(proposal_run, "_carry_out", lambda *_: None)
    proposal_run.accept_proposal(context, ada, number)
    assert "accepted, not finished" in _say(capsys, "proposals", "list", "ada", "--all")
    assert "it was accepted, but not finished" in _say(capsys, "proposals", "show", "ada", str(number))
