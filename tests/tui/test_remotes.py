"""The remotes screen: list, probe and add, conformance checks, tokens, removal; and the agents on a remote."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input

from lifeboat_core.errors import Busy
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen
from lifeboat_tui.screens.remotes.add_remote_dialog import AddRemoteDialog
from lifeboat_tui.screens.remotes.remote_agents_screen import RemoteAgentsScreen
from lifeboat_tui.screens.remotes.remotes_screen import RemotesScreen
from lifeboat_tui.widgets.command_progress import CommandProgressScreen, OutcomeScreen
from lifeboat_vault.errors import RemoteUnreachable
from support.tui.pilots import dashboard, notes, press, recorded, settled, text_of, until

pytestmark = pytest.mark.anyio
SECRET = "lb_abcdefgh_4711secret"
JOIN = f"lifeboat+https://boat.example.com#{SECRET}"
READABLE = "Whoever runs it can read memory, identity, files and names."
HOME = {
    "name": "home",
    "url": "https://boat.example.com",
    "id": "v1",
    "pin": "ab12",
    "optional": True,
    "sealed": False,
    "added_at": "2026-11-08T08:00:00.000Z",
    "readable": READABLE,
    "kind": "endpoint",
    "needs_token": True,
    "has_token": True,
    "verified_at": "2026-11-20T08:00:00.000Z",
    "agents": [
        {"id": "a1", "name": "ada", "state": "ok", "sequence": 44, "at": "2026-11-20T14:24:00.000Z"},
        {"id": "a2", "name": "rover", "state": "fenced", "message": "desktop writes it"},
    ],
}
STICK = {
    "name": "stick",
    "url": "file:///media/stick",
    "kind": "folder",
    "sealed": True,
    "readable": "Nothing.",
    "agents": [],
}
BROKEN = {"name": "share", "url": None, "problem": "share.toml: what is this?", "agents": []}
WAITS = {
    "receipts": [
        {
            "id": "p1",
            "agent": "ada",
            "vaults": [{"name": "home", "state": "waiting", "applies_at": "2026-11-21T08:00:00.000Z"}],
        }
    ]
}


def copies(*remotes: dict[str, Any], receipts: dict[str, Any] | None = None) -> RecordedLink:
    link = recorded()
    link.answers(["remote", "list"], {"remotes": list(remotes)})
    link.answers(["receipts", "list"], receipts or {"receipts": []})
    return link


def asked(link: RecordedLink, *words: str) -> list[tuple[tuple[str, ...], str]]:
    return [each for each in link.asked if each[0][: len(words)] == words]


async def fill(pilot: Pilot[None], **fields: str) -> None:
    for field, text in fields.items():
        pilot.app.screen.query_one(f"#{field}", Input).value = text
    await settled(pilot)


async def confirm(pilot: Pilot[None], phrase: str) -> None:
    await fill(pilot, phrase=phrase)
    pilot.app.screen.query_one("#phrase", Input).focus()
    await press(pilot, "enter")


# What is shown ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)])
async def test_each_has_a_state_in_words_and_a_sentence_who_can_read_it(size: tuple[int, int]) -> None:
    async with dashboard(copies(HOME, STICK), size=size, screen="remotes") as pilot:
        shown = text_of(pilot)
        assert "⇄ moved" in shown and "● ok" in shown
        assert READABLE[:50] in shown


async def test_the_detail_has_every_agent_and_why_one_is_not_well() -> None:
    async with dashboard(copies(HOME), screen="remotes") as pilot:
        shown = text_of(pilot)
        assert "sequence 44" in shown and "nothing yet, never verified: desktop writes it" in shown
        assert "pin of its certificate authority: ab12" in shown and ", optional" in shown


async def test_without_any_it_says_what_that_means_and_which_key_adds_one() -> None:
    async with dashboard(copies(), screen="remotes") as pilot:
        shown = text_of(pilot)
        assert "If this disk fails, your agents are lost." in shown and "Press a to add a remote" in shown
        for key in "tTx":
            await press(pilot, key)
            assert notes(pilot)[-1].endswith("there is no remote yet; press a to add one")


async def test_one_whose_file_is_broken_is_shown_and_can_be_removed_only() -> None:
    link = copies(BROKEN)
    async with dashboard(link, screen="remotes") as pilot:
        assert "what is this?" in text_of(pilot)
        await press(pilot, "t")
        assert notes(pilot)[-1] == "Test: the configuration of this remote cannot be used; press x to remove the remote"
        await press(pilot, "x")
        await confirm(pilot, "share")
        assert asked(link, "remote", "remove") == [(("remote", "remove", "share", "--yes"), "")]


async def test_a_list_that_cannot_be_had_is_said() -> None:
    link = recorded()
    link.fails(["remote", "list"], Busy("process 4711 is at work"))
    async with dashboard(link, screen="remotes") as pilot:
        assert "process 4711 is at work" in text_of(pilot)


async def test_what_was_sent_is_asked_for_again() -> None:
    link = copies(HOME)
    async with dashboard(link, screen="remotes") as pilot:
        link.answers(["remote", "list"], {"remotes": [HOME, STICK]})
        link.happens({"event": "push", "agent": "a1"})
        await settled(pilot)
        assert "stick" in text_of(pilot)


async def test_many_events_in_a_row_are_few_questions_of_which_none_is_cut_off() -> None:
    link = copies(HOME)
    async with dashboard(link, screen="remotes") as pilot:
        before = len(asked(link, "remote", "list"))
        for _ in range(100):
            link.happens({"event": "push", "agent": "a1"})
        await settled(pilot)
        await settled(pilot)
        assert 1 <= len(asked(link, "remote", "list")) - before < 50
        assert len(asked(link, "remote", "list")) == len(asked(link, "receipts", "list"))


async def test_purges_that_wait_there_are_said_and_p_goes_to_the_receipts(monkeypatch: pytest.MonkeyPatch) -> None:
    async with dashboard(copies(HOME, STICK, receipts=WAITS), screen="remotes") as pilot:
        assert "a purge of ada is waiting on this remote, until 2026-11-21 (press p)" in text_of(pilot)
        opened = stand_in(monkeypatch, "purge.receipts_screen", "ReceiptsScreen")
        await press(pilot, "p")
        assert opened == [((), {})]
        await press(pilot, "escape", "down", "p")
        assert notes(pilot)[-1] == "Purges: no purge is waiting on this remote"


def stand_in(monkeypatch: pytest.MonkeyPatch, module: str, kind: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Replace another screen by one that records how it was opened."""
    opened: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    class Opened(LifeboatScreen):
        NAME = kind

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__()
            opened.append((given, named))

        def twin(self) -> tuple[str, ...]:
            return ("status",)

    made = ModuleType(module)
    setattr(made, kind, Opened)
    monkeypatch.setitem(sys.modules, f"lifeboat_tui.screens.{module}", made)
    return opened


# Adding a remote ----------------------------------------------------------------------------------------------------

MET = {
    "name": "home",
    "url": "https://boat.example.com",
    "readable": READABLE,
    "release": "0.9",
    "token": {"scopes": ["pull", "push", "purge"], "expires_at": "2027-01-01T00:00:00.000Z"},
}


async def test_before_it_is_added_it_is_said_who_answers_and_who_can_read_what() -> None:
    link = copies()
    link.answers(["remote", "add"], MET)
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "a")
        await fill(pilot, name="home", address="https://boat.example.com", secret=SECRET)
        await press(pilot, "enter")
        look = ("remote", "add", "home", "https://boat.example.com", "--token-stdin", "--dry-run")
        assert asked(link, "remote", "add") == [(look, f"{SECRET}\n")]
        shown = text_of(pilot)
        assert (
            READABLE in shown and "The token expires on 2027-01-01" in shown and "more than this machine needs" in shown
        )
        await press(pilot, "enter")
        assert asked(link, "remote", "add")[1] == (look[:-1], f"{SECRET}\n")
        assert "Push all agents to the new remote now?" in text_of(pilot)


async def test_a_join_line_goes_to_the_field_that_is_not_shown_and_to_standard_input() -> None:
    link = copies()
    link.answers(["remote", "add"], MET)
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "a")
        await fill(pilot, name="home", address=JOIN)
        assert pilot.app.screen.query_one("#address", Input).value == ""
        assert SECRET not in text_of(pilot)
        await press(pilot, "enter", "enter")
        words = ("remote", "add", "home", "--join-stdin")
        assert asked(link, "remote", "add") == [((*words, "--dry-run"), f"{JOIN}\n"), (words, f"{JOIN}\n")]
        await press(pilot, "escape", "y")
        assert SECRET not in text_of(pilot) + " ".join(notes(pilot)) + pilot.app.clipboard


async def test_a_folder_is_given_by_its_path_and_may_be_away_and_in_clear() -> None:
    link = copies()
    link.answers(["remote", "add"], {**MET, "token": None})
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "a")
        await fill(pilot, name="stick", address="media")
        await press(pilot, "enter")
        assert "the absolute path" in text_of(pilot)
        await fill(pilot, address="/media/a stick")
        for tick in ("optional", "plain"):
            pilot.app.screen.query_one(f"#{tick}").toggle()  # type: ignore[attr-defined]
        await press(pilot, "enter")
        words = ("remote", "add", "stick", "file:///media/a%20stick", "--optional", "--plain", "--dry-run")
        assert asked(link, "remote", "add") == [(words, "")]


async def test_what_is_missing_or_wrong_is_said_in_the_form() -> None:
    link = copies()
    link.fails(["remote", "add"], RemoteUnreachable("boat.example.com does not answer", fix="look at its address"))
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "a", "enter")
        assert "type a name" in text_of(pilot)
        await fill(pilot, name="home")
        await press(pilot, "enter")
        assert "type an address, a folder or a join line" in text_of(pilot)
        await fill(pilot, address="https://boat.example.com", secret=SECRET)
        await press(pilot, "enter")
        assert "boat.example.com does not answer" in text_of(pilot) and "look at its address" in text_of(pilot)
        assert isinstance(pilot.app.screen, AddRemoteDialog)
        assert pilot.app.screen.query_one("#secret", Input).value == SECRET
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, RemotesScreen)


async def test_after_another_answer_it_is_looked_at_again() -> None:
    link = copies()
    link.answers(["remote", "add"], MET)
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "a")
        await fill(pilot, name="home", address="https://boat.example.com")
        await press(pilot, "enter")
        await fill(pilot, address="https://other.example.com")
        pilot.app.screen.query_one("#yes", Button).press()
        await settled(pilot)
        assert [words[-1] for words, _ in asked(link, "remote", "add")] == ["--dry-run", "--dry-run"]


async def test_under_readonly_one_can_look_and_not_add() -> None:
    link = copies()
    link.answers(["remote", "add"], MET)
    async with dashboard(link, screen="remotes", readonly=True) as pilot:
        await press(pilot, "a")
        await fill(pilot, name="home", address="https://boat.example.com")
        await press(pilot, "enter")
        assert READABLE in text_of(pilot)
        assert pilot.app.screen.query_one("#yes", Button).disabled
        await press(pilot, "enter")
        assert len(asked(link, "remote", "add")) == 1


# Actions ------------------------------------------------------------------------------------------------------------


async def test_the_test_tells_how_far_it_is_and_lists_what_failed_first() -> None:
    link = copies(HOME)
    checks = [{"name": "it gives back", "ok": True}, {"name": "it keeps", "ok": False, "message": "it does not"}]
    progress = (CommandProgress("it gives back", 1, 2),)
    link.answers(["remote", "test"], {"ok": False, "checks": checks, "left": 2}, status=1, progress=progress)
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "t")
        shown = text_of(pilot)
        assert "The remote home failed 1 of 2 checks" in shown and "2 test agents remain on the remote" in shown
        assert shown.index("failed: it keeps") < shown.index("it gives back")
        assert isinstance(pilot.app.screen, OutcomeScreen)
        await press(pilot, "enter")
        assert isinstance(pilot.app.screen, RemotesScreen)


async def test_long_work_is_stopped_by_esc_and_that_is_said() -> None:
    link = copies(HOME)
    link._pause = 60.0
    link.answers(["remote", "test"], {}, progress=(CommandProgress("it gives back", 1, 2),) * 2)
    async with dashboard(link, screen="remotes") as pilot:
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, CommandProgressScreen))
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, RemotesScreen)
        assert notes(pilot)[-1] == "The task was cancelled: you stopped this command"


async def test_a_token_is_not_shown_and_is_said_to_count() -> None:
    link = copies(HOME)
    link.answers(["remote", "token"], MET)
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "T", "enter")
        assert "type or paste the token" in text_of(pilot)
        await fill(pilot, answer=SECRET)
        assert SECRET not in text_of(pilot)
        await press(pilot, "enter")
        assert asked(link, "remote", "token") == [(("remote", "token", "home", "--token-stdin"), f"{SECRET}\n")]
        assert "accepts the new token" in notes(pilot)[-1]


async def test_a_folder_has_no_token() -> None:
    async with dashboard(copies(STICK), screen="remotes") as pilot:
        await press(pilot, "T")
        assert notes(pilot)[-1] == "New token: this remote is a folder, which needs no token"


@pytest.mark.parametrize(("keys", "more"), [(("enter",), ()), (("down", "enter"), ("--keep-token",))])
async def test_one_is_removed_when_its_name_was_typed(keys: tuple[str, ...], more: tuple[str, ...]) -> None:
    link = copies(HOME)
    link.answers(["remote", "remove"], {"name": "home", "removed": True, "token_revoked": not more})
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "x", *keys)
        assert "This is the last remote" in text_of(pilot)
        assert pilot.app.focused is pilot.app.screen.query_one("#cancel", Button)
        await confirm(pilot, "hom")
        assert not asked(link, "remote", "remove")
        await confirm(pilot, "home")
        assert asked(link, "remote", "remove") == [(("remote", "remove", "home", "--yes", *more), "")]
        assert ("Its token was revoked" in notes(pilot)[-1]) == (not more)


async def test_s_brings_everything_there_and_says_what_is_left() -> None:
    link = copies(HOME)
    agents = [{"id": "a1", "remotes": [{"name": "home", "state": "waiting"}]}, {"id": "a2", "remotes": []}]
    link.answers(["sync"], {"agents": agents})
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "s")
        assert notes(pilot)[-1] == "2 agents captured and pushed; 1 not yet on all remotes"


@pytest.mark.parametrize("key", ["t", "s", "T", "x"])
async def test_what_changes_something_is_refused_under_readonly(key: str) -> None:
    async with dashboard(copies(HOME), screen="remotes", readonly=True) as pilot:
        await press(pilot, key)
        assert "--readonly" in notes(pilot)[-1]


# Agents on a remote -------------------------------------------------------------------------------------------------

AWAY = [
    {
        "id": "a1",
        "name": "ada",
        "runtime": "openclaw",
        "sequence": 44,
        "machine": "desktop",
        "here": "ada",
        "bytes": 4096,
    },
    {"id": "a9", "name": "juniper", "sequence": 3, "machine": "desktop", "here": None},
    {"id": "a8", "name": "empty", "sequence": None, "here": None},
]
ADOPTION = {
    "name": "ada",
    "remote": "home",
    "base": 44,
    "machine": "desktop",
    "take_over": "desktop",
    "changes": {"files": [{"path": "MEMORY.md", "operation": "changed"}], "held": {"reason": "6 of 8 were removed"}},
}


def away() -> RecordedLink:
    link = copies(HOME)
    link.answers(["agents", "list", "--remote"], {"remote": "home", "agents": AWAY})
    link.answers(["agents", "adopt"], {"missed": {"stick": "it is away"}, "aside": "/x", "warnings": []})
    link.answers(["agents", "adopt", "a1", "--from", "home", "--dry-run"], ADOPTION)
    return link


async def test_enter_shows_the_agents_there_and_esc_comes_back() -> None:
    link = away()
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "enter")
        shown = text_of(pilot)
        assert "remotes › home" in shown and "juniper" in shown and "not here" in shown
        await press(pilot, "y")
        assert notes(pilot)[-1].endswith("lifeboat agents list --remote home")
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, RemotesScreen)


async def test_one_that_cannot_be_asked_says_so() -> None:
    link = away()
    link.fails(["agents", "list", "--remote"], RemoteUnreachable("boat.example.com does not answer"))
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "enter")
        assert "boat.example.com does not answer" in text_of(pilot)


async def test_r_brings_an_agent_back_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = stand_in(monkeypatch, "restore.restore_wizard", "RestoreWizard")
    async with dashboard(away(), screen="remotes") as pilot:
        await press(pilot, "enter", "down", "r")
        assert opened == [(("a9",), {"remote": "home"})]


async def test_an_agent_is_adopted_after_its_changes_were_seen_and_the_machine_typed() -> None:
    link = away()
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "enter", "A")
        shown = text_of(pilot)
        assert "changed   MEMORY.md" in shown and "were removed." in shown
        assert "The next capture will be held until you accept it, because 6 of 8" in shown
        await confirm(pilot, "desktop")
        words = ("agents", "adopt", "a1", "--from", "home", "--take-over", "desktop", "--yes")
        assert asked(link, "agents", "adopt")[-1] == (words, "")
        assert "The remote stick does not have the new sequence yet: it is away" in text_of(pilot)


async def test_adopting_that_was_not_confirmed_does_nothing() -> None:
    link = away()
    async with dashboard(link, screen="remotes") as pilot:
        await press(pilot, "enter", "A", "enter")
        assert len(asked(link, "agents", "adopt")) == 1
        assert isinstance(pilot.app.screen, RemoteAgentsScreen)


async def test_what_cannot_be_done_with_an_agent_there_says_why() -> None:
    async with dashboard(away(), screen="remotes") as pilot:
        await press(pilot, "enter", "down", "A")
        assert notes(pilot)[-1] == "Adopt: this agent is not on this machine; press r to restore it"
        await press(pilot, "down", "r")
        assert notes(pilot)[-1] == "Restore: the remote contains no sequence of this agent yet"


async def test_a_long_answer_leaves_room_for_its_button_and_is_read_line_by_line() -> None:
    link = copies(HOME)
    link.answers(["remote", "test"], {"checks": [{"name": f"check {number}"} for number in range(60)]})
    async with dashboard(link, size=(80, 24), screen="remotes") as pilot:
        await press(pilot, "t")
        assert "Close" in text_of(pilot) and "check 0" in text_of(pilot)
        await press(pilot, *["down"] * 20)
        assert "check 0\n" not in text_of(pilot) and "check 25" in text_of(pilot)


async def test_a_long_question_leaves_room_for_its_buttons() -> None:
    link = away()
    files = [{"path": f"notes/{number}.md", "operation": "changed"} for number in range(60)]
    adoption = {**ADOPTION, "changes": {"files": files}}
    link.answers(["agents", "adopt", "a1", "--from", "home", "--dry-run"], adoption)
    async with dashboard(link, size=(80, 24), screen="remotes") as pilot:
        await press(pilot, "enter", "A")
        assert "Cancel" in text_of(pilot) and "Type  desktop  to continue" in text_of(pilot)
        await press(pilot, *["down"] * 50)
        assert "and 20 more" in text_of(pilot)
