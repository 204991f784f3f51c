"""The proposals screen."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import msgspec
import pytest
from textual.pilot import Pilot

from lifeboat_core.errors import GrantError
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.proposals_screen import ProposalsScreen
from support.tui.histories import ada_of, file
from support.tui.pilots import SIZES, dashboard, notes, press, recorded, settled, text_of

pytestmark = pytest.mark.anyio

PROPOSALS = [
    {
        "number": 3,
        "kind": "restore_file",
        "sequence": 4,
        "path": "MEMORY.md",
        "reason": "\x1b[2J[bold]Accept this at once",
        "client": "codex",
        "made_at": "2026-11-20T17:00:00.000Z",
    },
    {
        "number": 4,
        "kind": "restore_memory",
        "sequence": 2,
        "memory": "m-1",
        "reason": "the user asked",
        "made_at": "2026-11-20T18:00:00.000Z",
    },
    {"number": 5, "kind": "label", "sequence": 7, "label": "before the move", "made_at": "2026-11-20T19:00:00.000Z"},
]
PREVIEWS = {
    3: file("MEMORY.md", "changed", "@@ -1,1 +1,1 @@", "-Pay the rent", "+Never pay"),
    4: {"memory": "m-1", "now": "Likes tea.\nThe memory then:", "then": None},
    5: None,
}


def _link(found: list[dict[str, object]] | None = None) -> RecordedLink:
    """Return a link on which ada has open proposals, which the status counts."""
    link = recorded()
    ada, proposals = ada_of(link), PROPOSALS if found is None else found
    listed = [{"agent": ada, "name": "ada", "state": "open", **one} for one in proposals]
    link.answers(["proposals", "list", ada], {"proposals": listed})
    for one in listed:
        document = {**one, "preview": PREVIEWS[one["number"]]}  # type: ignore[index]
        link.answers(["proposals", "show", ada, str(one["number"])], document)
    link.answers(["proposals", "accept"], {"made_sequence": 9})
    link.answers(["proposals", "reject"], {"proposals": []})
    status = link.remembered()
    assert status is not None
    counted = [
        {**one, "proposals": len(listed), "newest_proposal": 5} if one["id"] == ada else one for one in status["agents"]
    ]
    link.answers(["status"], {**status, "agents": counted})
    return link


@contextlib.asynccontextmanager
async def _shown(link: RecordedLink, **options: object) -> AsyncIterator[Pilot[None]]:
    async with dashboard(link, **options) as pilot:  # type: ignore[arg-type]
        pilot.app.push_screen(ProposalsScreen(ada_of(link)))
        await settled(pilot)
        yield pilot


def _asked(link: RecordedLink, decision: str) -> list[tuple[str, ...]]:
    return [words[3:] for words, _ in link.asked if words[:2] == ("proposals", decision)]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_proposal_is_shown_with_what_it_would_change(size: tuple[int, int]) -> None:
    async with _shown(_link(), size=size) as pilot:
        said = text_of(pilot)
        assert "3 open proposals" in said and "restore MEMORY.md from sequence 4" in said
        assert "-Pay the rent" in said and "+Never pay" in said


async def test_words_of_the_agent_are_quoted_and_steer_neither_terminal_nor_markup() -> None:
    async with _shown(_link()) as pilot:
        said = text_of(pilot)
        assert "\x1b" not in said and '[bold]Accept this at once"' in said
        assert 'reason given by the agent: "' in said and 'a client that calls itself "codex"' in said


async def test_no_line_of_a_memory_looks_like_one_of_the_screen() -> None:
    async with _shown(_link()) as pilot:
        await press(pilot, "down")
        lines = [line.strip("│╭╮ ") for line in text_of(pilot).splitlines()]
        assert [line for line in lines if line.startswith("The memory")] == [
            "The memory now:",
            "The memory then: (deleted)",
        ]
        assert "- Likes tea." in lines and "- The memory then:" in lines


async def test_accepting_asks_first_with_cancel_in_focus() -> None:
    link = _link()
    async with _shown(link) as pilot:
        await press(pilot, "a", "enter")
        assert _asked(link, "accept") == []
        await press(pilot, "a")
        assert "restore MEMORY.md from sequence 4" in text_of(pilot)
        await press(pilot, "tab", "enter")
        assert _asked(link, "accept") == [("3", "--yes")]
        assert notes(pilot)[-1] == "Proposal 3 was carried out (sequence 9)."


async def test_a_name_has_no_preview_and_can_be_accepted() -> None:
    link = _link()
    async with _shown(link) as pilot:
        await press(pilot, "down", "down")
        assert "name sequence 7: before the move" in text_of(pilot) and "No file changes." in text_of(pilot)
        await press(pilot, "a", "tab", "enter")
        assert _asked(link, "accept") == [("5", "--yes")]


async def test_rejecting_changes_nothing_and_loads_the_list_again() -> None:
    link = _link()
    async with _shown(link) as pilot:
        link.answers(["proposals", "list", ada_of(link)], {"proposals": []})
        await press(pilot, "r")
        assert _asked(link, "reject") == [("3",)] and _asked(link, "accept") == []
        assert notes(pilot)[-1] == "Proposal 3 rejected. Nothing was changed."
        assert "The agent has no open proposals." in text_of(pilot)


async def test_a_failed_accept_is_said_and_the_list_is_loaded_again() -> None:
    link = _link()
    async with _shown(link) as pilot:
        link.fails(["proposals", "accept"], GrantError.PROPOSAL_DECIDED("proposal 3 of ada is rejected"))
        link.answers(["proposals", "list", ada_of(link)], {"proposals": []})
        await press(pilot, "a", "tab", "enter")
        assert "proposal 3 of ada is rejected" in text_of(pilot)
        assert "The agent has no open proposals." in text_of(pilot)


async def test_a_proposal_that_cannot_be_carried_out_can_only_be_rejected() -> None:
    link = _link()
    gone = {"agent": ada_of(link), "state": "open", **PROPOSALS[0], "preview": None}
    why = "warning: it cannot be carried out now: the file was purged"
    link.answers(["proposals", "show", ada_of(link), "3"], gone, notes=(why,))
    async with _shown(link) as pilot:
        assert why in text_of(pilot)
        await press(pilot, "a")
        assert notes(pilot)[-1].startswith("Accept: it cannot be carried out now") and _asked(link, "accept") == []
        await press(pilot, "r")
        assert _asked(link, "reject") == [("3",)]


async def test_a_readonly_dashboard_shows_proposals_and_decides_nothing() -> None:
    link = _link()
    async with _shown(link, readonly=True) as pilot:
        assert "restore MEMORY.md from sequence 4" in text_of(pilot)
        await press(pilot, "a", "r")
        assert _asked(link, "accept") == [] and _asked(link, "reject") == []
        assert "--readonly" in notes(pilot)[-1]


async def test_a_new_proposal_in_the_status_loads_the_list_again() -> None:
    link = _link()
    async with _shown(link) as pilot:
        before = len(_asked(link, "list"))
        pilot.app.screen.handle_event({"event": "status"})  # type: ignore[attr-defined]
        await settled(pilot)
        assert len(_asked(link, "list")) == before
        status = pilot.app.status  # type: ignore[attr-defined]
        agents = tuple(msgspec.structs.replace(one, newest_proposal=6) for one in status.agents)
        pilot.app.status = msgspec.structs.replace(status, agents=agents)  # type: ignore[attr-defined]
        pilot.app.screen.handle_event({"event": "status"})  # type: ignore[attr-defined]
        await settled(pilot)
        assert len(_asked(link, "list")) == before + 1


async def test_p_on_the_dashboard_opens_the_proposals_of_the_agent_that_has_some() -> None:
    async with dashboard(_link(), agent="ada") as pilot:
        assert "Press p to see what the agent proposes" in " ".join(text_of(pilot).split())
        await press(pilot, "p")
        assert isinstance(pilot.app.screen, ProposalsScreen)


async def test_p_says_why_not_without_proposals_and_in_the_demo() -> None:
    async with dashboard(recorded(), agent="ada") as pilot:
        await press(pilot, "p")
        assert notes(pilot)[-1] == "Proposals: the agent has no open proposals"
    async with dashboard(recorded(is_demo=True), agent="ada") as pilot:
        await press(pilot, "p")
        assert notes(pilot)[-1] == "Proposals: the demo has no proposals"
