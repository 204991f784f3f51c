"""The first run that restores an agent, driven by keys on recorded answers: every page, and its failures."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, RadioSet

from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import MovedElsewhere, RestoreError
from lifeboat_daemon.control.command_runner import CommandProgress
from lifeboat_keys.errors import BadWords, KeyLocked
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.first_run.first_run_wizard import FirstRunWizard
from lifeboat_vault.errors import RemoteDenied
from support.tui.first_run_home import (
    AWAY,
    BACK,
    PLAN,
    RESTORE,
    RESTORED,
    WORDS,
    asked,
    away,
    choose,
    driven,
    fill,
    go_to,
    key,
    knows_stick,
    machine,
)
from support.tui.pilots import SIZES, dashboard, press, settled, text_of, until

NO_KEY = (("keys", "status"), key(key_id=None, state="needs_key"))
REST = (*RESTORE, "--adopt", "--yes")


def _run(link: RecordedLink | None = None, **options: object):  # type: ignore[no-untyped-def]
    return dashboard(link or machine(knows_stick()), screen="setup", **options)


def _said_to(link: RecordedLink) -> list[tuple[str, ...]]:
    return [words for words, _ in link.asked]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("step", range(1, 7))
@driven
async def test_every_page_fits_and_has_its_button(size: tuple[int, int], step: int) -> None:
    async with _run(size=size) as pilot:
        await go_to(pilot, "return", step)
        said = text_of(pilot)
        assert "1 Remote" in said and max(map(len, said.splitlines())) <= size[0]
        assert str(pilot.app.screen.query_one("#go").label) in said  # type: ignore[attr-defined]


def _told(pilot: Pilot[None]) -> str:
    """Return the texts of the notifications."""
    return "\n".join(note.message for note in pilot.app._notifications)


# The remote -------------------------------------------------------------------------------------------------------


@driven
async def test_a_new_machine_asks_where_the_agent_is_and_sends_nothing_there(monkeypatch: pytest.MonkeyPatch) -> None:
    link = machine()
    monkeypatch.setattr(Path, "is_dir", lambda folder: True)
    async with _run(link) as pilot:
        await choose(pilot, "return")
        assert "Restore the agent from a remote" in text_of(pilot)
        await fill(pilot, "address", "/media/stick")
        await press(pilot, "ctrl+n")
        assert ("remote", "add", "stick", "file:///media/stick") in _said_to(link)
        assert ("sync",) not in _said_to(link)
        assert "is on this machine" in text_of(pilot)


@pytest.mark.parametrize(
    ("typed", "problem"), [("stick", "absolute path"), ("/no/such", "the folder /no/such does not exist")]
)
@driven
async def test_a_folder_that_is_not_there_is_no_second_copy(typed: str, problem: str) -> None:
    link = machine()
    async with _run(link) as pilot:
        await choose(pilot, "return")
        await fill(pilot, "address", typed)
        await press(pilot, "ctrl+n")
        assert problem in text_of(pilot)
        assert not [words for words in _said_to(link) if words[:2] == ("remote", "add")]


@driven
async def test_of_known_second_copies_one_is_chosen_or_another_one_named() -> None:
    link = machine(knows_stick())
    async with _run(link) as pilot:
        await choose(pilot, "return")
        assert "stick" in text_of(pilot) and "Address or folder" not in text_of(pilot)
        await press(pilot, "down", "enter")
        assert "Address or folder" in text_of(pilot)


@driven
async def test_a_wrong_token_keeps_the_page() -> None:
    link = machine()
    link.fails(("remote", "add"), RemoteDenied("the token counts no more there"))
    async with _run(link) as pilot:
        await choose(pilot, "return")
        await fill(pilot, "secret", "canary")
        await press(pilot, "ctrl+n")
        said = text_of(pilot)
        assert "the token counts no more there" in said and "canary" not in said and "1 Remote" in said


# The key ----------------------------------------------------------------------------------------------------------


@driven
async def test_the_key_comes_from_words_that_are_hidden_unless_asked_for() -> None:
    link = machine(knows_stick(), NO_KEY)
    async with _run(link) as pilot:
        await go_to(pilot, "return", 2)
        field = pilot.app.screen.query_one("#words", Input)
        field.value = " ".join(WORDS)
        await settled(pilot)
        assert WORDS[0] not in text_of(pilot) and "24 of 24 words" in text_of(pilot)
        pilot.app.screen.query_one("#visible").toggle()  # type: ignore[attr-defined]
        await settled(pilot)
        assert WORDS[0] in text_of(pilot)
        field.focus()
        await press(pilot, "enter")
        assert asked(link, "keys", "recover", "--words-from", "-") == [" ".join(WORDS) + "\n"]
        assert "Choose the agent to restore" in text_of(pilot) and WORDS[0] not in text_of(pilot)


@driven
async def test_wrong_words_are_said_without_repeating_them() -> None:
    link = machine(knows_stick(), NO_KEY)
    link.fails(("keys", "recover"), BadWords("these words are not in the word list: number 3"))
    async with _run(link) as pilot:
        await go_to(pilot, "return", 2)
        await press(pilot, "ctrl+n")
        assert "type the 24 words first" in text_of(pilot)
        await fill(pilot, "words", "some canary")
        await press(pilot, "enter")
        assert "number 3" in text_of(pilot) and "canary" not in text_of(pilot)
        assert pilot.app.screen.query_one("#words", Input).value == "some canary", "what is typed stays for correction"


@driven
async def test_without_the_key_there_is_no_next_step() -> None:
    async with _run(machine(knows_stick(), NO_KEY)) as pilot:
        await go_to(pilot, "return", 2)
        await press(pilot, "ctrl+l")
        assert "this step cannot be skipped" in _told(pilot) and "24 words" in text_of(pilot)


# The agent --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agents", "said"),
    [
        ([], "the remote stick contains no agent to restore"),
        ([away(here="Juniper")], "is already on this machine"),
        ([away(sequence=None)], "the remote stick contains no captured state of Juniper yet"),
    ],
)
@driven
async def test_where_there_is_nothing_to_bring_back_it_is_said(agents: list[dict[str, object]], said: str) -> None:
    link = machine(knows_stick(), (("agents", "list", "--remote", "stick"), {"remote": "stick", "agents": agents}))
    async with _run(link) as pilot:
        await go_to(pilot, "return", 3)
        await press(pilot, "ctrl+n")
        assert said in text_of(pilot) and "3 Agent" in text_of(pilot)


@driven
async def test_a_second_copy_that_does_not_answer_is_said() -> None:
    link = machine(knows_stick())
    link.fails(("agents", "list", "--remote", "stick"), LifeboatError("stick is not there", fix="df -h"))
    async with _run(link) as pilot:
        await go_to(pilot, "return", 3)
        assert "stick is not there" in text_of(pilot)


@driven
async def test_a_sealed_second_copy_asks_for_the_passphrase_of_a_locked_key() -> None:
    link = machine(knows_stick(), (("keys", "status"), key(state="needs_key", store="passphrase", note="key: locked")))
    link.fails(("agents", "list", "--remote", "stick"), KeyLocked("it is encrypted with a passphrase"))
    async with _run(link) as pilot:
        await go_to(pilot, "return", 2)
        assert "is on this machine" in text_of(pilot)
        await _press_until(pilot, "ctrl+n", "Passphrase of your key")
        link.answers(("agents", "list", "--remote", "stick"), {"remote": "stick", "agents": [away()]})
        await press_in_dialog(pilot, *"canary", "enter")
        await settled(pilot)
        assert asked(link, "keys", "unlock") == ["canary\n"]
        assert "Juniper" in text_of(pilot) and "canary" not in text_of(pilot)


@driven
async def test_where_nobody_was_reached_nothing_is_said_of_its_agents() -> None:
    link = machine(knows_stick())
    link.fails(("agents", "list", "--remote", "stick"), LifeboatError("stick is not there"))
    async with _run(link) as pilot:
        await go_to(pilot, "return", 3)
        await press(pilot, "ctrl+n")
        assert "contains no agent" not in text_of(pilot) and "3 Agent" in text_of(pilot)


# Directory and preview --------------------------------------------------------------------------------------------


@driven
async def test_the_folder_follows_the_runtime_until_somebody_types_one() -> None:
    link = machine(knows_stick())
    async with _run(link) as pilot:
        await go_to(pilot, "return", 4)
        field = pilot.app.screen.query_one("#folder", Input)
        assert field.value == BACK
        pilot.app.screen.query_one(RadioSet).focus()
        await press(pilot, "down", "enter")
        assert field.value.endswith(".zeroclaw/agents/juniper/workspace")
        field.value = "/srv/mine"
        pilot.app.screen.query_one(RadioSet).focus()
        await press(pilot, "up", "enter")
        assert field.value == "/srv/mine"


@driven
async def test_another_runtime_is_named_in_the_command() -> None:
    link = machine(knows_stick(), (("restore", AWAY), PLAN))
    async with _run(link) as pilot:
        await go_to(pilot, "return", 4)
        pilot.app.screen.query_one(RadioSet).focus()
        await press(pilot, "down", "enter", "ctrl+n")
        (words,) = (words for words in _said_to(link) if words[0] == "restore")
        assert words[-4:] == ("--runtime", "zeroclaw", "--with-credentials", "--dry-run")


@driven
async def test_a_folder_that_is_refused_is_said_before_anything_is_written() -> None:
    link = machine(knows_stick())
    link.fails((*RESTORE, "--dry-run"), RestoreError.TARGET_REFUSED("that is a home folder"))
    async with _run(link) as pilot:
        await go_to(pilot, "return", 4)
        await press(pilot, "ctrl+n")
        assert "that is a home folder" in text_of(pilot) and "4 Folder" in text_of(pilot)
        assert REST not in _said_to(link)


@driven
async def test_the_preview_writes_nothing_and_esc_goes_back_from_it() -> None:
    link = machine(knows_stick())
    async with _run(link) as pilot:
        await go_to(pilot, "return", 5)
        said = text_of(pilot)
        assert "Sequence 7" in said and "Files: 23 new." in said and "1 will be restored" in said
        assert REST not in _said_to(link)
        await press(pilot, "escape")
        assert "Runtime" in text_of(pilot) and "Files: 23 new." not in text_of(pilot)


# The restore ------------------------------------------------------------------------------------------------------


@driven
async def test_the_agent_is_brought_back_and_its_next_steps_are_told() -> None:
    link = machine(knows_stick())
    async with _run(link) as pilot:
        await go_to(pilot, "return", 5)
        await press(pilot, "enter")
        said = text_of(pilot)
        assert REST in _said_to(link) and "of Juniper was restored to" in said and "openclaw gateway start" in said
        await press(pilot, "ctrl+n")
        assert "The service is so." in text_of(pilot)


@driven
async def test_a_machine_that_wrote_lately_gives_the_agent_up_only_by_its_typed_name() -> None:
    link = machine(knows_stick())
    link.fails(REST, MovedElsewhere("laptop-2 wrote Juniper 5 minutes ago"))
    link.answers((*REST, "--take-over", "laptop-2"), RESTORED)
    async with _run(link) as pilot:
        await go_to(pilot, "return", 5)
        await _press_until(pilot, "enter", "laptop-2 wrote Juniper")
        await press_in_dialog(pilot, "escape")
        await settled(pilot)
        assert "laptop-2 wrote Juniper 5 minutes ago" in text_of(pilot) and "was restored" not in text_of(pilot)
        await _press_until(pilot, "enter", "Make this machine the writer of the agent?")
        await press_in_dialog(pilot, "shift+tab", *"laptop", "minus", "2", "enter")
        await settled(pilot)
        assert (*REST, "--take-over", "laptop-2") in _said_to(link) and "of Juniper was restored to" in text_of(pilot)


async def press_in_dialog(pilot: Pilot[None], *keys: str) -> None:
    """Press keys without waiting: the worker behind the dialog waits for the dialog itself."""
    for each in keys:
        await pilot.press(each)
        await pilot.pause()


async def _press_until(pilot: Pilot[None], key_name: str, said: str) -> None:
    await pilot.press(key_name)
    await until(pilot, lambda: said in text_of(pilot), said)


@driven
async def test_esc_stops_a_restore_that_is_at_work_and_says_how_far_it_is() -> None:
    link = machine(knows_stick())
    async with _run(link) as pilot:
        await go_to(pilot, "return", 5)
        link.answers(REST, RESTORED, progress=(CommandProgress("Writing", 5, 10, 2.0, 2.5),) * 300)
        link._pause = 0.1
        await _press_until(pilot, "enter", "5 of 10")
        assert "0:02 left" in text_of(pilot)
        await press_in_dialog(pilot, "ctrl+n")
        await press_in_dialog(pilot, "escape")
        await settled(pilot)
        assert "the step is running; press esc to stop it" in _told(
            pilot
        ) and "The command was stopped. No change was left unfinished." in _told(pilot)
        assert "was restored" not in text_of(pilot) and isinstance(pilot.app.screen, FirstRunWizard)
        assert _said_to(link).count(REST) == 1


@driven
async def test_a_restore_that_fails_keeps_the_preview() -> None:
    link = machine(knows_stick())
    link.fails(REST, LifeboatError("the disk is full", fix="df -h"))
    async with _run(link) as pilot:
        await go_to(pilot, "return", 5)
        await press(pilot, "enter")
        assert "the disk is full" in text_of(pilot) and "Files: 23 new." in text_of(pilot)


@pytest.mark.parametrize(
    ("step", "command"),
    [
        (1, "lifeboat remote list"),
        (2, "lifeboat keys recover"),
        (3, "lifeboat agents list --remote stick"),
        (
            4,
            f"lifeboat restore {AWAY} --from stick --to {BACK} --with-credentials --dry-run",
        ),
        (
            5,
            f"lifeboat restore {AWAY} --from stick --to {BACK} --with-credentials --adopt",
        ),
    ],
)
@driven
async def test_y_copies_the_command_of_the_step(step: int, command: str) -> None:
    async with _run() as pilot:
        await go_to(pilot, "return", step)
        pilot.app.screen.set_focus(None)
        await press(pilot, "y")
        assert pilot.app.clipboard == command
