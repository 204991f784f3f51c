"""Viewing takes no lock for long: each screen can be opened while another process syncs, and both succeed."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from lifeboat_core.agents.agent import find_agent
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.grants import proposals
from lifeboat_core.grants.proposals import ProposalBook, Request
from lifeboat_core.home.context import Context
from lifeboat_tui.screens.proposals_screen import ProposalsScreen
from lifeboat_tui.screens.screen_registry import PLACES
from support.cli import cli_client
from support.tui.live import live, shows
from support.tui.pilots import settled, text_of

pytestmark = pytest.mark.anyio
VIEWS = tuple(name for name in PLACES if name not in ("restore", "purge", "setup"))
"""Screens that only show something."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
    (folder / "MEMORY.md").write_text("# Memory\n\n## Boat\n\nThe red boat needs paint.\n")
    cli_client.run("agents", "add", folder, "--name", "ada")
    return folder


async def start_sync() -> asyncio.subprocess.Process:
    command = (sys.executable, "-c", "import lifeboat_cli; lifeboat_cli.main()", "sync", "--json")
    return await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)


@pytest.mark.parametrize("screen", VIEWS)
async def test_a_screen_opens_while_another_process_syncs_and_both_succeed(screen: str, workspace: Path) -> None:
    memories = workspace / "MEMORY.md"
    memories.write_text(memories.read_text() + f"\n## {screen}\n\nSeen on {screen}.\n")
    process = await start_sync()
    async with live(screen=screen, agent="ada") as pilot:
        for _ in range(3):
            await pilot.press("ctrl+r")
            await settled(pilot)
        out, said = await process.communicate()
        assert process.returncode == 0, (out, said)
        assert "Another command is using this agent" not in text_of(pilot)


async def test_proposals_are_shown_while_another_command_holds_the_lock_of_the_agent(workspace: Path) -> None:
    context = Context.open()
    ada = find_agent(context, "ada")
    asked = Request(proposals.RESTORE_FILE, 0, path="MEMORY.md", reason="please")

    def propose(book: ProposalBook) -> ProposalBook:
        return proposals.add_proposal(book, asked, now=context.now(), session="s-1", client="", agent_name="ada")

    with context.vault(ada.id) as vault:
        proposals.change_book(vault, propose, proposals.MADE)
    with agent_lock(context, ada.id, "compare"):
        async with live(agent="ada") as pilot:
            pilot.app.push_screen(ProposalsScreen(ada.id))
            await shows(pilot, "unchanged MEMORY.md")
            assert "Another command is using this agent" not in text_of(pilot)


async def test_sync_waits_for_a_lock_that_another_command_holds_and_says_for_which(workspace: Path) -> None:
    context = Context.open()
    with agent_lock(context, find_agent(context, "ada").id, "compare"):
        process = await start_sync()
        assert process.stderr is not None
        line = (await process.stderr.readline()).decode()
    out, _ = await process.communicate()
    assert line.startswith("Waiting for process ") and "(compare)" in line
    assert process.returncode == 0, out
