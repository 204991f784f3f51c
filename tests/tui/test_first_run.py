"""The first run that protects agents, driven by keys on recorded answers: every page, its keys, and its failures."""

from __future__ import annotations

import re

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import AgentError, NotRunning, WordsError
from lifeboat_keys.errors import KeyLocked
from lifeboat_tui.link import LinkStage, LinkStatus
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.dashboard_screen import DashboardScreen
from lifeboat_tui.screens.first_run import words_page
from lifeboat_tui.screens.first_run.first_run_wizard import FirstRunWizard
from support.tui.first_run_home import (
    ADA,
    KEY_ID,
    NOW,
    REVEAL,
    ROVER,
    WORDS,
    asked,
    choose,
    driven,
    fill,
    found,
    go_to,
    key,
    knows_stick,
    machine,
    status,
    steps,
)
from support.tui.pilots import SIZES, dashboard, press, settled, text_of, until


def _run(link: RecordedLink | None = None, **options: object):  # type: ignore[no-untyped-def]
    return dashboard(link or machine(), screen="setup", **options)


def _clipboard(pilot: Pilot[None]) -> str:
    return pilot.app.clipboard


# The purpose ------------------------------------------------------------------------------------------------------


@driven
async def test_the_two_ways_are_told_first() -> None:
    async with _run() as pilot:
        said = text_of(pilot)
        assert "Protect the agents on this machine" in said and "Restore my agent" in said
        await press(pilot, "ctrl+l")
        assert "Protect the agents" in text_of(pilot), "this step cannot be left out"


@driven
async def test_esc_leaves_the_first_run_for_the_dashboard() -> None:
    async with _run() as pilot:
        await choose(pilot, "protect")
        await press(pilot, "escape")
        assert "WHAT DO YOU WANT" in text_of(pilot)
        await press(pilot, "escape")
        assert isinstance(pilot.app.screen, DashboardScreen)


@driven
async def test_a_dashboard_that_only_looks_begins_nothing() -> None:
    link = machine()
    async with _run(link, readonly=True) as pilot:
        await press(pilot, "enter")
        assert "WHAT DO YOU WANT" in text_of(pilot)
        assert asked(link, "agents", "discover") == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("step", range(1, 7))
@driven
async def test_every_page_fits_and_has_its_button(size: tuple[int, int], step: int) -> None:
    async with _run(size=size) as pilot:
        await go_to(pilot, "protect", step)
        said = text_of(pilot)
        assert re.search("(Protect|Continue|Show the words|Add|Open the dashboard)\\s*$", said, re.MULTILINE)
        assert ("1 Agents" in said) and max(map(len, said.splitlines())) <= size[0]


# Agents -----------------------------------------------------------------------------------------------------------


@driven
async def test_agents_that_were_found_are_marked_and_enter_protects_them() -> None:
    link = machine()
    async with _run(link) as pilot:
        await choose(pilot, "protect")
        assert "2 agents are not protected" in text_of(pilot)
        await press(pilot, "down", "space", "enter")
        assert [words for words, _ in link.asked if words[:2] == ("agents", "add")] == [("agents", "add", ADA)]
        assert "› key" in text_of(pilot).splitlines()[0]


@driven
async def test_a_folder_that_was_not_found_is_protected_as_typed() -> None:
    link = machine((("agents", "discover"), {"found": []}))
    async with _run(link) as pilot:
        await choose(pilot, "protect")
        assert "No agent was found on this machine" in text_of(pilot)
        await fill(pilot, "folder", "/srv/elsewhere")
        await press(pilot, "enter")
        assert ("agents", "add", "/srv/elsewhere") in [words for words, _ in link.asked]


@driven
async def test_an_agent_that_fails_keeps_no_other_from_being_protected_and_is_named() -> None:
    link = machine()
    link.fails(("agents", "add", ADA), AgentError.LOOKS_LIKE("it looks like ada at stick", fix="lifeboat help"))
    async with _run(link) as pilot:
        await choose(pilot, "protect")
        await press(pilot, "enter")
        assert ("agents", "add", ROVER) in [words for words, _ in link.asked]
        said = text_of(pilot)
        assert "it looks like ada at stick" in said and "lifeboat help" in said and "2 agents are not protected" in said


@driven
async def test_agents_that_are_protected_already_are_not_added_again() -> None:
    link = machine((("agents", "discover"), {"found": [found("ada", ADA, "ada")]}))
    async with _run(link) as pilot:
        await choose(pilot, "protect")
        assert "All agents found on this machine are protected" in text_of(pilot)
        await press(pilot, "enter")
        assert asked(link, "agents", "add") == []


# The key ----------------------------------------------------------------------------------------------------------


@driven
async def test_a_key_in_an_open_file_is_wrapped_with_a_passphrase_that_is_never_shown() -> None:
    link = machine((("keys", "init", "--store", "passphrase", "--passphrase-stdin"), {"store": "passphrase"}))
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 2)
        assert "that only its permissions protect" in text_of(pilot)
        await fill(pilot, "passphrase", "boat-canary-1")
        await fill(pilot, "again", "boat-canary-1")
        assert "canary" not in text_of(pilot)
        await press(pilot, "enter")
        assert asked(link, "keys", "init", "--store") == ["boat-canary-1\n"]
        assert asked(link, "keys", "unlock") == ["boat-canary-1\n"]
        assert "canary" not in str([words for words, _ in link.asked])
        assert "Your key consists of 24 words" in text_of(pilot)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [("long-enough", "otherwise", "the two passphrases differ"), ("short", "short", "8 char")],
)
@driven
async def test_a_passphrase_that_will_not_do_is_refused(first: str, second: str, said: str) -> None:
    link = machine()
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 2)
        await fill(pilot, "passphrase", first)
        await fill(pilot, "again", second)
        await press(pilot, "enter")
        assert said in text_of(pilot) and asked(link, "keys", "init") == []


@driven
async def test_where_there_is_no_key_going_on_makes_it_and_shows_no_word() -> None:
    link = machine((("keys", "status"), key(key_id=None, state="needs_key", store="keyring")))
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 2)
        assert "You have no key yet" in text_of(pilot)
        await press(pilot, "ctrl+n")
        assert asked(link, *REVEAL) == [""] and WORDS[0] not in text_of(pilot)


@driven
async def test_a_key_in_the_keyring_asks_for_no_passphrase() -> None:
    async with _run(machine((("keys", "status"), key(store="keyring")))) as pilot:
        await go_to(pilot, "protect", 2)
        assert "desktop keyring" in text_of(pilot) and "Passphrase" not in text_of(pilot)


@driven
async def test_a_key_that_cannot_be_used_keeps_its_page() -> None:
    link = machine((("keys", "status"), key(state="error", note="others can read its file")))
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 2)
        await press(pilot, "ctrl+n")
        assert "others can read its file" in text_of(pilot) and asked(link, "keys", "init") == []


# The recovery words -----------------------------------------------------------------------------------------------


async def _places(pilot: Pilot[None]) -> list[int]:
    return [int(place) for place in re.findall(r"Word (\d+)", text_of(pilot))]


async def _answer(pilot: Pilot[None], *, wrong: bool = False) -> None:
    for number, place in enumerate(await _places(pilot)):
        await fill(pilot, f"answer-{number}", "wrong" if wrong else WORDS[place - 1])
    await press(pilot, "enter")


@driven
async def test_words_are_shown_only_when_asked_for_and_three_of_them_prove_them() -> None:
    link = machine()
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 3)
        assert WORDS[0] not in text_of(pilot) and asked(link, *REVEAL) == []
        await press(pilot, "ctrl+n")
        assert all(f"{place:>2}. {word}" in text_of(pilot) for place, word in enumerate(WORDS, 1))
        await press(pilot, "ctrl+n")
        assert not any(word in text_of(pilot) for word in WORDS)
        places = await _places(pilot)
        assert len(set(places)) == 3
        await _answer(pilot)
        assert asked(link, "keys", "prove") == ["".join(f"{place} {WORDS[place - 1]}\n" for place in places)]
        assert "A remote (on another machine" in text_of(pilot)


@driven
async def test_words_are_hidden_after_a_moment_and_shown_again_with_w(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words_page, "SHOWN_FOR", 0.01)
    async with _run() as pilot:
        await go_to(pilot, "protect", 3)
        await press(pilot, "w")
        await until(pilot, lambda: "The words are hidden" in text_of(pilot))
        assert not any(word in text_of(pilot) for word in WORDS)
        monkeypatch.setattr(words_page, "SHOWN_FOR", 60.0)
        await press(pilot, "w")
        assert WORDS[23] in text_of(pilot)
        await press(pilot, "ctrl+l", "escape")
        assert not any(word in text_of(pilot) for word in WORDS), "leaving the page takes them away"


@driven
async def test_wrong_words_prove_nothing_and_others_are_asked_for() -> None:
    link = machine()
    link.fails(
        ("keys", "prove", "--answers-stdin"),
        WordsError.WORDS_NOT_PROVEN("at least one of the words is wrong"),
    )
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 3)
        await press(pilot, "ctrl+n", "ctrl+n")
        await _answer(pilot, wrong=True)
        assert "at least one of the words is wrong" in text_of(pilot)
        assert len(await _places(pilot)) == 3
        assert not any(field.value for field in pilot.app.screen.query(Input))


@driven
async def test_words_that_were_proven_are_not_shown_again() -> None:
    link = machine((("keys", "status"), key(proven_at=NOW)))
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 3)
        await press(pilot, "w")
        assert "You proved on 2026-11-22" in text_of(pilot) and asked(link, *REVEAL) == []
        await press(pilot, "ctrl+n")
        assert "A remote (on another machine" in text_of(pilot)


@driven
async def test_a_locked_key_asks_for_its_passphrase_before_its_words() -> None:
    link = machine()
    link.fails(REVEAL, KeyLocked("it is encrypted with a passphrase"))
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 3)
        await pilot.press("w")
        await until(pilot, lambda: "Passphrase of your key" in text_of(pilot))
        await pilot.press(*"canary")
        link.answers(REVEAL, {}, text=" ".join(WORDS))
        assert "canary" not in text_of(pilot)
        await press(pilot, "enter")
        assert asked(link, "keys", "unlock") == ["canary\n"] and WORDS[0] in text_of(pilot)


@driven
async def test_w_is_only_for_the_step_of_the_words() -> None:
    link = machine()
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 5)
        await press(pilot, "w")
        assert asked(link, *REVEAL) == []


# The remote -------------------------------------------------------------------------------------------------------


@driven
async def test_a_folder_becomes_a_second_copy_and_everything_is_brought_there() -> None:
    link = machine()
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 4)
        await fill(pilot, "address", "/media/stick")
        pilot.app.screen.query_one("#away").toggle()  # type: ignore[attr-defined]
        link.answers(*knows_stick())
        await press(pilot, "ctrl+n")
        commands = [words for words, _ in link.asked]
        assert ("remote", "add", "stick", "file:///media/stick", "--optional") in commands and ("sync",) in commands
        said = text_of(pilot)
        assert "Captures are pushed to the remotes that you added: stick" in said and "Nobody can read it." in said
        await press(pilot, "ctrl+n")
        assert "The service is so." in text_of(pilot)


@driven
async def test_a_token_goes_to_standard_input_only() -> None:
    link = machine()
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 4)
        await fill(pilot, "address", "https://boat.example.com")
        await fill(pilot, "secret", "token-canary")
        await fill(pilot, "name", "harbour")
        assert "canary" not in text_of(pilot)
        await press(pilot, "enter")
        expected = ("remote", "add", "harbour", "https://boat.example.com", "--token-stdin")
        assert (expected, "token-canary\n") in link.asked


@driven
async def test_a_join_line_in_the_wrong_field_is_hidden_at_once() -> None:
    link = machine()
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 4)
        pilot.app.screen.query_one("#address", Input).value = "lifeboat+https://canary@boat.example.com/"
        await settled(pilot)
        assert "canary" not in text_of(pilot)
        await press(pilot, "ctrl+n")
        assert (("remote", "add", "home", "--join-stdin"), "lifeboat+https://canary@boat.example.com/\n") in link.asked


@driven
async def test_a_refused_token_is_said_and_can_be_given_again() -> None:
    link = machine()
    link.fails(("remote", "add"), LifeboatError("it lets in only who shows a token", fix="lifeboat remote add home"))
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 4)
        await fill(pilot, "address", "https://boat.example.com")
        await press(pilot, "ctrl+n")
        assert "it lets in only who shows a token" in text_of(pilot)
        assert pilot.app.screen.query_one("#address", Input).value == "https://boat.example.com"


@driven
async def test_without_anything_typed_nothing_is_asked() -> None:
    link = machine()
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 4)
        await press(pilot, "ctrl+n")
        assert "type an address, a folder or a join line" in text_of(pilot) and asked(link, "remote", "add") == []


# Service and summary ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["lifeboat service install", "lifeboat daemon start"])
@driven
async def test_what_captures_by_itself_is_started(command: str) -> None:
    document = steps()
    document["steps"][-1]["command"] = command
    link = machine((("setup",), document))
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 5)
        await press(pilot, "ctrl+n")
        assert tuple(command.split()[1:]) in [words for words, _ in link.asked]
        assert "› done" in text_of(pilot).splitlines()[0]


@driven
async def test_a_service_that_cannot_be_installed_keeps_its_page_and_later_goes_on() -> None:
    link = machine()
    link.fails(("service", "install"), LifeboatError("systemd did not answer", fix="lifeboat daemon start"))
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 5)
        await press(pilot, "ctrl+n")
        assert "systemd did not answer" in text_of(pilot) and "5 Service" in text_of(pilot)
        await press(pilot, "ctrl+l")
        assert "systemd did not answer" not in text_of(pilot)


@driven
async def test_the_end_says_that_you_are_protected_only_when_nothing_is_left() -> None:
    agent = {"id": "1", "name": "ada", "sequence": 3}
    everything = steps(find="done", protect="done", key="done", words="done", second_copy="done", service="done")
    link = machine((("setup",), everything), (("status",), status(agent)))
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 6)
        assert "Your agents are protected." in text_of(pilot)
        link.answers(("setup",), steps(words="missing"))
        await press(pilot, "ctrl+r")
        said = text_of(pilot)
        assert "Your agents are protected." not in said and "lifeboat keys init" in said
        await press(pilot, "ctrl+n")
        assert isinstance(pilot.app.screen, DashboardScreen)


# All pages --------------------------------------------------------------------------------------------------------

LOOKS = {
    1: ("agents", "discover"),
    2: ("keys", "status"),
    3: ("keys", "status"),
    4: ("remote", "list"),
    5: ("setup",),
    6: ("setup",),
}


@pytest.mark.parametrize("step", LOOKS)
@driven
async def test_a_command_that_fails_is_said_on_its_page(step: int) -> None:
    link = machine()
    link.fails(LOOKS[step], NotRunning("nobody is there", fix="lifeboat daemon start"))
    async with _run(link) as pilot:
        await go_to(pilot, "protect", step)
        assert "nobody is there" in text_of(pilot) and isinstance(pilot.app.screen, FirstRunWizard)


@driven
async def test_nothing_is_done_on_a_page_that_could_not_look() -> None:
    link = machine()
    link.fails(("setup",), NotRunning("nobody is there"))
    async with _run(link) as pilot:
        await go_to(pilot, "protect", 5)
        await press(pilot, "ctrl+n")
        assert "nobody is there" in text_of(pilot) and "5 Service" in text_of(pilot)
        link.answers(("setup",), steps())
        await press(pilot, "ctrl+n")
        assert (
            "Press Continue to install the background service" in text_of(pilot)
            and asked(link, "service", "install") == []
        )
        await press(pilot, "ctrl+n")
        assert asked(link, "service", "install") == [""]


@driven
async def test_what_is_done_already_is_told_first() -> None:
    link = machine((("setup",), steps(find="done", protect="done")))
    async with _run(link) as pilot:
        said = text_of(pilot)
        assert "The protect is so." in said and "The words is so." not in said


@driven
async def test_without_the_daemon_everything_works_and_the_footer_says_that_it_is_not_running() -> None:
    link = machine()
    link.connection = LinkStatus(LinkStage.DOWN)
    async with _run(link) as pilot:
        await choose(pilot, "protect")
        assert "daemon not running" in text_of(pilot) and "2 agents are not protected" in text_of(pilot)
        await press(pilot, "enter")
        assert len(asked(link, "agents", "add")) == 2


@driven
async def test_plain_letters_are_enough() -> None:
    async with _run(ascii=True) as pilot:
        await go_to(pilot, "protect", 4)
        assert "4 Remote @" in text_of(pilot) and "[ ] This remote is not always reachable" in text_of(pilot)
        pilot.app.screen.query_one("#away").toggle()  # type: ignore[attr-defined]
        await settled(pilot)
        assert "[x] This remote is not always reachable" in text_of(pilot)


@pytest.mark.parametrize(
    ("step", "command"),
    [
        (1, "lifeboat agents discover"),
        (2, "lifeboat keys status"),
        (3, "lifeboat keys init"),
        (4, "lifeboat remote list"),
        (5, "lifeboat service install"),
        (6, "lifeboat setup"),
    ],
)
@driven
async def test_y_copies_the_command_of_the_step(step: int, command: str) -> None:
    async with _run() as pilot:
        await go_to(pilot, "protect", step)
        pilot.app.screen.set_focus(None)
        await press(pilot, "y")
        assert _clipboard(pilot) == command


@driven
async def test_esc_goes_one_step_back_and_question_mark_helps() -> None:
    async with _run() as pilot:
        await go_to(pilot, "protect", 5)
        await press(pilot, "question_mark")
        assert "The first two choices restore" in text_of(pilot)
        await press(pilot, "escape", "escape")
        assert "A remote (on another machine" in text_of(pilot)


def test_no_page_says_a_key_id_that_is_no_key() -> None:
    assert re.fullmatch("[0-9a-f]{32}", KEY_ID)
