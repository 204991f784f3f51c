"""Recovery words in a field that is not made for them are removed and reach no command."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from lifeboat_keys.recovery import bip39_words
from lifeboat_tui.screens.remotes.add_remote_dialog import AddRemoteDialog
from lifeboat_tui.widgets.hidden_input import HiddenInput
from support.tui.first_run_home import choose, driven, knows_stick, machine
from support.tui.pilots import dashboard, press, settled

TEXT = " ".join(bip39_words.to_words(bytes(range(32))))
STEPS = 6


async def _fill_all(pilot: Pilot[None]) -> list[Input]:
    """Put the recovery words into every visible field."""
    fields = list(pilot.app.screen.query(Input))
    for field in fields:
        field.value = TEXT
        await settled(pilot)
    return fields


def _keeps_them(field: Input) -> bool:
    return field.value == TEXT


@pytest.mark.parametrize(("way", "go_on"), [("protect", "ctrl+l"), ("return", "ctrl+n")])
@driven
async def test_every_field_of_the_first_run_but_theirs_takes_none(way: str, go_on: str) -> None:
    link = machine(knows_stick())
    seen = set()
    async with dashboard(link, screen="setup") as pilot:
        await choose(pilot, way)
        for _ in range(STEPS):
            before = {field: field.value for field in pilot.app.screen.query(Input)}
            for field in await _fill_all(pilot):
                is_theirs = isinstance(field, HiddenInput) and field.takes_words
                assert _keeps_them(field) == is_theirs, field.id
                seen.add(field.id)
                field.value = before[field]
            await press(pilot, go_on)
        assert all(TEXT not in " ".join(said) for said, _ in link.asked)
    assert "folder" in seen and "address" in seen


@driven
async def test_a_second_copy_that_is_added_takes_none() -> None:
    link = machine()
    async with dashboard(link, screen="setup") as pilot:
        pilot.app.push_screen(AddRemoteDialog(link))
        await settled(pilot)
        fields = await _fill_all(pilot)
        assert [field.id for field in fields] == ["name", "address", "secret"]
        assert not any(map(_keeps_them, fields))
        assert "recovery words" in " ".join(note.message for note in pilot.app._notifications)
