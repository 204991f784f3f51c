"""The first run that restores the agents of a recovery kit, driven by keys on recorded answers."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_keys.errors import KeysError
from lifeboat_tui.link.recorded_link import RecordedLink
from support.tui.first_run_home import asked, choose, driven, fill, machine
from support.tui.pilots import SIZES, dashboard, press, text_of, until

READ = ("setup", "--kit", "/media/kit.txt", "--dry-run")
RUN_IT = ("setup", "--kit", "/media/kit.txt", "--yes")
REMOTE = {"name": "home", "url": "https://boat.example.com", "state": "planned"}
AGENT = {"id": "1", "name": "Juniper", "remote": "home", "to": "/srv/ada/.openclaw/workspace", "next": []}
PLAN = {"key_id": "0a1b", "checked": True, "dry_run": True, "remotes": [REMOTE]}
RESTORED = {"state": "restored", "summary": "19 files, 36 memories and 3 credentials restored"}
DONE = {"key_id": "0a1b", "checked": True, "remotes": [REMOTE | {"state": "added"}], "agents": [AGENT | RESTORED]}
MOVED = {"code": "moved_elsewhere", "title": "T", "message": "laptop wrote Juniper 2 hours ago", "fix": None}


def kit_machine(done: JsonObject = DONE) -> RecordedLink:
    link = machine()
    link.answers(READ, PLAN)
    link.answers(RUN_IT, done)
    return link


async def read_kit(pilot: Pilot[None]) -> None:
    await choose(pilot, "kit")
    await fill(pilot, "kit", "/media/kit.txt")
    await press(pilot, "ctrl+n")


@driven
async def test_bring_my_agent_back_is_the_first_thing_named() -> None:
    async with dashboard(machine(), screen="setup") as pilot:
        said = text_of(pilot)
        assert said.index("Restore my agent") < said.index("Protect the agents")


@pytest.mark.parametrize("size", SIZES)
@driven
async def test_the_page_fits_and_has_its_button(size: tuple[int, int]) -> None:
    async with dashboard(machine(), screen="setup", size=size) as pilot:
        await choose(pilot, "kit")
        said = text_of(pilot)
        assert "Read the recovery kit" in said and max(map(len, said.splitlines())) <= size[0]


@driven
async def test_the_kit_is_shown_before_anything_is_written() -> None:
    link = kit_machine()
    async with dashboard(link, screen="setup") as pilot:
        await read_kit(pilot)
        said = text_of(pilot)
        assert "https://boat.example.com" in said and "Restore my agents" in said
        assert asked(link, *RUN_IT) == []


@driven
async def test_one_key_brings_every_agent_back() -> None:
    link = kit_machine()
    async with dashboard(link, screen="setup") as pilot:
        await read_kit(pilot)
        await press(pilot, "ctrl+n")
        assert "36 memories and 3 credentials restored" in " ".join(text_of(pilot).split())
        assert len(asked(link, *RUN_IT)) == 1
        await press(pilot, "ctrl+n")
        assert "2 Service" in text_of(pilot)


@driven
async def test_the_passphrase_of_an_encrypted_kit_is_on_standard_input_only() -> None:
    link = kit_machine()
    link.answers((*READ, "--passphrase-stdin"), PLAN)
    async with dashboard(link, screen="setup") as pilot:
        await choose(pilot, "kit")
        await fill(pilot, "kit", "/media/kit.txt")
        await fill(pilot, "passphrase", "canary")
        await press(pilot, "ctrl+n")
        assert asked(link, *READ, "--passphrase-stdin") == ["canary\n"]
        assert "canary" not in text_of(pilot) and pilot.app.screen.query_one("#passphrase", Input).password
        assert not [words for words, _ in link.asked if "canary" in " ".join(words)]


@driven
async def test_a_kit_that_is_refused_keeps_the_page() -> None:
    link = kit_machine()
    link.fails(READ, KeysError.NOT_A_KIT("the remotes on the page were changed"))
    async with dashboard(link, screen="setup") as pilot:
        await read_kit(pilot)
        assert "were changed" in text_of(pilot) and "Read the recovery kit" in text_of(pilot)


@driven
async def test_what_was_left_out_is_named_and_can_be_tried_again() -> None:
    away = {"code": "unreachable", "title": "T", "message": "stick is not there", "fix": None}
    left = DONE | {"remotes": [REMOTE | {"name": "stick", "state": "left_out", "error": away}]}
    link = kit_machine(left)
    async with dashboard(link, screen="setup") as pilot:
        await read_kit(pilot)
        await press(pilot, "ctrl+n")
        assert "stick failed: " in text_of(pilot) and "Try again" in text_of(pilot)
        link.answers(RUN_IT, DONE)
        await press(pilot, "ctrl+n")
        assert "stick failed: " not in text_of(pilot) and len(asked(link, *RUN_IT)) == 2


@driven
async def test_a_machine_that_wrote_lately_is_typed_before_its_agent_is_taken_over() -> None:
    moved = AGENT | {"state": "left_out", "error": MOVED, "machine": "laptop"}
    link = kit_machine(DONE | {"agents": [moved]})
    link.answers((*RUN_IT, "--take-over", "laptop"), DONE)
    async with dashboard(link, screen="setup") as pilot:
        await read_kit(pilot)
        await press(pilot, "ctrl+n")
        await until(pilot, lambda: "2 hours ago" in text_of(pilot))
        await fill(pilot, "phrase", "laptop")
        await press(pilot, "enter")
        await until(pilot, lambda: asked(link, *RUN_IT, "--take-over", "laptop"))
        await until(pilot, lambda: "was restored to" in text_of(pilot))
