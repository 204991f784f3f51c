"""The proposals screen on a real home: what is accepted happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_core.agents.agent import find_agent
from lifeboat_core.grants import proposals
from lifeboat_core.grants.proposals import ProposalBook, Request
from lifeboat_core.home.context import Context
from lifeboat_tui.screens.proposals_screen import ProposalsScreen
from support.cli import cli_client
from support.tui.live import live, shows

pytestmark = pytest.mark.anyio


async def test_an_accepted_restore_writes_the_file_and_is_listed_no_more(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
    file = workspace / "MEMORY.md"
    file.write_text("# Memory\n\n## Rent\n\nPay the rent.\n")
    cli_client.run("agents", "add", workspace, "--name", "ada")
    first = file.read_text()
    file.write_text(first.replace("Pay", "Never pay"))
    cli_client.run("sync")
    context = Context.open()
    ada = find_agent(context, "ada")
    asked = Request(proposals.RESTORE_FILE, 0, path="MEMORY.md", reason="please")

    def propose(book: ProposalBook) -> ProposalBook:
        return proposals.add_proposal(book, asked, now=context.now(), session="s-1", client="", agent_name="ada")

    with context.vault(ada.id) as vault:
        proposals.change_book(vault, propose, proposals.MADE)
    async with live(agent="ada") as pilot:
        pilot.app.push_screen(ProposalsScreen(ada.id))
        await shows(pilot, "-Never pay the rent.")
        await pilot.press("a")
        await shows(pilot, "Accept proposal 1?")
        await pilot.press("tab", "enter")
        await shows(pilot, "The agent has no open proposals.")
    assert file.read_text() == first
    with context.vault(ada.id) as vault:
        assert [one.state for one in proposals.read_book(vault).proposals] == [proposals.ACCEPTED]
