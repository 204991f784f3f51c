"""The settings screen: value, source and effect; one change at a time, checked before it is set."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from lifeboat_core.documents.setting_documents import spell_value
from lifeboat_core.errors import BadSetting, Busy
from lifeboat_tui.link.recorded_link import RecordedLink
from support.tui.pilots import dashboard, notes, press, recorded, settled, text_of

pytestmark = pytest.mark.anyio
PRIVATE = "https://ping.example.com/4711-secret"


def setting(name: str, value: object, kind: str, **more: object) -> dict[str, object]:
    return {"name": name, "value": value, "kind": kind, "default": value, "effect": f"what {name} does", **more}


SETTINGS = [
    setting("cadence", "manual", "choice", choices=["manual", "scheduled"], source="config file"),
    setting("retention.daily", "90d", "duration", example="15m"),
    setting("transcripts", False, "switch", choices=["true", "false"]),
    setting("ping.url", None, "address", private=True, set=True, per_agent=False, source="private file"),
    setting("dashboard.theme", "lifeboat", "choice", choices=["lifeboat", "lifeboat-light"], per_agent=False),
    setting("dashboard.ascii", "auto", "choice", choices=["auto", "yes", "no"], per_agent=False),
]


def configured(problem: str | None = None) -> RecordedLink:
    link = recorded()
    link.answers(["config", "list"], {"settings": SETTINGS, "problem": problem})
    link.answers(["config", "check"], {"ok": True})
    for one in SETTINGS:
        link.answers(["config", "set", str(one["name"])], {**one, "source": "config file"})
    return link


def changed(link: RecordedLink) -> list[tuple[tuple[str, ...], str]]:
    """Return the changing commands and their input."""
    return [each for each in link.asked if each[0][:2] == ("config", "set")]


async def to(pilot: Pilot[None], name: str) -> None:
    """Put the cursor on a setting."""
    assert pilot.app.screen.table.select(name)  # type: ignore[attr-defined]
    await settled(pilot)


async def type_in(pilot: Pilot[None], text: str) -> None:
    pilot.app.screen.query_one("#answer", Input).value = text
    await press(pilot, "enter")


# What is shown ------------------------------------------------------------------------------------------------------


async def test_settings_are_grouped_by_their_first_word() -> None:
    async with dashboard(configured(), screen="settings") as pilot:
        lines = [line.strip("│ ▸") for line in text_of(pilot).splitlines()]
        order = [lines.index(heading) for heading in ("general", "retention", "ping", "dashboard")]
        assert order == sorted(order)
        names = [line.split()[0] for line in lines if line.split()[:1] in (["cadence"], ["transcripts"])]
        assert names[:2] == ["cadence", "transcripts"]


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)])
async def test_value_source_and_effect_are_seen_at_every_size(size: tuple[int, int]) -> None:
    async with dashboard(configured(), size=size, screen="settings") as pilot:
        shown = text_of(pilot)
        assert "what cadence does" in shown and "manual  (config file)" in shown


async def test_the_settings_of_the_recording_are_all_there() -> None:
    link = recorded()
    async with dashboard(link, size=(120, 60), screen="settings") as pilot:
        shown = text_of(pilot)
        for one in link._answers[("config", "list")].document["settings"]:
            if not one["private"]:
                pilot.app.screen.table.select(one["name"])  # type: ignore[attr-defined]
                await settled(pilot)
                assert spell_value(one["value"]) in text_of(pilot)
        assert "general" in shown


async def test_a_private_setting_is_never_shown() -> None:
    async with dashboard(configured(), screen="settings") as pilot:
        await to(pilot, "ping.url")
        assert "set, but not shown" in text_of(pilot)


async def test_a_file_that_cannot_be_used_is_said() -> None:
    async with dashboard(configured("config.toml, line 3: what is this?"), screen="settings") as pilot:
        assert "config.toml, line 3: what is this?; the last valid settings are in use" in text_of(pilot)


async def test_a_list_that_cannot_be_had_is_said() -> None:
    link = recorded()
    link.fails(["config", "list"], Busy("process 4711 is at work"))
    async with dashboard(link, screen="settings") as pilot:
        assert "process 4711 is at work" in text_of(pilot)
        await press(pilot, "e")
        assert notes(pilot)[-1] == "Change: select a setting first"


# Changing a setting -------------------------------------------------------------------------------------------------


async def test_enter_turns_a_switch_over_and_says_what_it_does() -> None:
    link = configured()
    async with dashboard(link, screen="settings") as pilot:
        await to(pilot, "transcripts")
        await press(pilot, "enter")
        assert changed(link) == [(("config", "set", "transcripts", "true"), "")]
        assert notes(pilot)[-1] == "transcripts = false (config file): what transcripts does"


async def test_a_choice_is_chosen_and_the_same_one_changes_nothing() -> None:
    link = configured()
    async with dashboard(link, screen="settings") as pilot:
        await press(pilot, "e", "enter")
        assert changed(link) == []
        await press(pilot, "e", "down", "enter")
        assert changed(link) == [(("config", "set", "cadence", "scheduled"), "")]


async def test_a_text_is_tried_out_before_it_is_kept() -> None:
    link = configured()
    link.fails(["config", "check", "retention.daily"], BadSetting("the value must be a time like 30s"))
    async with dashboard(link, screen="settings") as pilot:
        await to(pilot, "retention.daily")
        await press(pilot, "e")
        await type_in(pilot, "soon")
        assert "The value is not valid: the value must be a time like 30s" in text_of(pilot) and changed(link) == []
        assert pilot.app.screen.query_one("#answer", Input).value == "soon"
        link.answers(["config", "check", "retention.daily"], {"ok": True})
        await type_in(pilot, "60d")
        assert changed(link) == [(("config", "set", "retention.daily", "60d"), "")]


async def test_a_private_value_goes_to_standard_input_and_nowhere_else() -> None:
    link = configured()
    async with dashboard(link, screen="settings") as pilot:
        await to(pilot, "ping.url")
        await press(pilot, "e")
        field = pilot.app.screen.query_one("#answer", Input)
        assert field.password and field.value == ""
        await type_in(pilot, PRIVATE)
        assert changed(link) == [(("config", "set", "ping.url", "--stdin"), f"{PRIVATE}\n")]
        assert (("config", "check", "ping.url", "--stdin"), f"{PRIVATE}\n") in link.asked
        await press(pilot, "y")
        assert PRIVATE not in text_of(pilot) + " ".join(notes(pilot)) + pilot.app.clipboard


async def test_a_value_that_looks_like_an_option_is_none() -> None:
    link = configured()
    async with dashboard(link, screen="settings") as pilot:
        await to(pilot, "retention.daily")
        await press(pilot, "e")
        await type_in(pilot, "--default")
        assert changed(link) == [(("config", "set", "retention.daily", "--stdin"), "--default\n")]


async def test_x_takes_the_default_back_and_says_why_not_where_it_is_that() -> None:
    link = configured()
    async with dashboard(link, screen="settings") as pilot:
        await press(pilot, "x")
        assert changed(link) == [(("config", "set", "cadence", "--default"), "")]
        await to(pilot, "retention.daily")
        await press(pilot, "x")
        assert notes(pilot)[-1] == "Default: this setting already has its default value" and len(changed(link)) == 1


async def test_a_change_that_failed_is_said() -> None:
    link = configured()
    link.fails(["config", "set", "transcripts"], Busy("process 4711 is at work"))
    async with dashboard(link, screen="settings") as pilot:
        await to(pilot, "transcripts")
        await press(pilot, "enter")
        assert "process 4711 is at work" in text_of(pilot)


async def test_the_theme_is_another_one_at_once() -> None:
    link = configured()
    link.answers(["config", "set", "dashboard.theme"], setting("dashboard.theme", "lifeboat-light", "choice"))
    async with dashboard(link, screen="settings") as pilot:
        await to(pilot, "dashboard.theme")
        await press(pilot, "e", "down", "enter")
        assert pilot.app.theme == "lifeboat-light"


async def test_what_counts_from_the_next_start_says_so() -> None:
    async with dashboard(configured(), screen="settings") as pilot:
        await to(pilot, "dashboard.ascii")
        await press(pilot, "e", "down", "enter")
        assert notes(pilot)[-1].endswith("the change takes effect when the dashboard starts again")


@pytest.mark.parametrize("key", ["e", "enter", "x"])
async def test_nothing_is_changed_under_readonly(key: str) -> None:
    link = configured()
    async with dashboard(link, screen="settings", readonly=True) as pilot:
        await press(pilot, key)
        assert "--readonly" in notes(pilot)[-1] and changed(link) == []


# Settings of one agent, and finding settings ------------------------------------------------------------------------


async def test_a_setting_can_be_another_one_for_an_agent() -> None:
    link = configured()
    async with dashboard(link, screen="settings") as pilot:
        ada = pilot.app.find_agent("ada")  # type: ignore[attr-defined]
        await press(pilot, "A", "down", "enter")
        assert "settings › ada" in text_of(pilot)
        assert (("config", "list", ada.id), "") in link.asked
        await to(pilot, "transcripts")
        await press(pilot, "enter")
        assert changed(link) == [(("config", "set", "transcripts", "true", "--agent", ada.id), "")]
        await press(pilot, "y")
        assert notes(pilot)[-1].endswith("lifeboat config list ada")


async def test_one_that_is_the_same_for_all_agents_says_so() -> None:
    link = configured()
    async with dashboard(link, screen="settings") as pilot:
        await press(pilot, "A", "down", "enter")
        await to(pilot, "dashboard.theme")
        await press(pilot, "e")
        assert "this setting applies to all agents" in notes(pilot)[-1] and changed(link) == []


async def test_a_filter_finds_settings_by_their_effect() -> None:
    async with dashboard(configured(), screen="settings") as pilot:
        await press(pilot, "slash", *"retention")
        shown = text_of(pilot)
        assert "Settings [1 of 6]" in shown and "cadence " not in shown
        await press(pilot, "escape")
        assert "Settings [6]" in text_of(pilot)
