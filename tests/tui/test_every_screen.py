"""Every screen in every state: it reports failures, its twin is a valid command, and it never crashes."""

from __future__ import annotations

import shlex

import click
import msgspec
import pytest

from lifeboat_cli.program import program
from lifeboat_core.errors import Busy
from lifeboat_tui.link import LinkStage, LinkStatus
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.screen_registry import PLACES
from lifeboat_tui.widgets.screen_bars import ConnectionBanner
from support.tui.pilots import dashboard, notes, press, recorded, settled, text_of

pytestmark = pytest.mark.anyio
every_screen = pytest.mark.parametrize("screen", PLACES)


def opened(screen: str, link: RecordedLink | None = None, **options: object):  # type: ignore[no-untyped-def]
    return dashboard(link, screen=screen, agent="ada", **options)


def parsed(words: list[str]) -> click.Context:
    """Parse a command with its own parser. Raises UsageError."""
    command: click.Command = program
    context = command.make_context("lifeboat", list(words))
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None
        command, context = found, found.make_context(name, rest, parent=context)
    return context


@every_screen
async def test_y_copies_a_command_that_there_is(screen: str) -> None:
    async with opened(screen) as pilot:
        pilot.app.screen.set_focus(None)  # inside of a field it is a letter
        await press(pilot, "y")
        words = shlex.split(pilot.app.clipboard)
        assert words[0] == "lifeboat"
        assert parsed(words[1:]).command.name
        assert notes(pilot)[-1].startswith("Copied: lifeboat ")


@every_screen
async def test_keys_behind_q_do_nothing(screen: str) -> None:
    async with opened(screen) as pilot:
        pilot.app.screen.set_focus(None)
        before, keys = pilot.app.screen, sorted({*pilot.app.screen.active_bindings} - {"q"})
        await pilot.press("q")
        assert pilot.app._exit
        await pilot.press(*keys)
        await pilot.pause()
        assert pilot.app.return_code == 0 and pilot.app._exception is None and pilot.app.screen is before


@every_screen
async def test_what_fails_is_said_and_the_screen_stays(screen: str) -> None:
    link = recorded()
    async with opened(screen, link) as pilot:
        pilot.app.screen.set_focus(None)
        link.failing = Busy("another program is at work here")
        await press(pilot, "ctrl+r")
        if any(words[:1] != ("status",) for words, _ in link.asked[-1:]):
            assert "another program is at work here" in text_of(pilot)
        link.failing = None
        await press(pilot, "ctrl+r")
        assert "another program is at work here" not in text_of(pilot)


@every_screen
async def test_nothing_that_is_there_is_no_reason_to_fall(screen: str) -> None:
    link = recorded()
    for words, answer in link._answers.items():
        if words != ("status",):
            link._answers[words] = msgspec.structs.replace(answer, document={}, text="")
    async with opened(screen, link) as pilot:
        assert text_of(pilot).strip()
        await press(pilot, "down", "escape")


@every_screen
async def test_an_answer_of_another_shape_is_an_error_that_is_said(screen: str) -> None:
    link = recorded()
    for words, answer in link._answers.items():
        if words != ("status",):
            strange = dict.fromkeys(answer.document, 7)
            link._answers[words] = msgspec.structs.replace(answer, document=strange, text="?")
    async with opened(screen, link) as pilot:
        assert text_of(pilot).strip()
        await press(pilot, "down", "escape")


@pytest.mark.parametrize("screen", [name for name in PLACES if name != "setup"])
async def test_without_the_daemon_a_banner_names_the_key_that_starts_it(screen: str) -> None:
    link = recorded()
    link.connection = LinkStatus(LinkStage.DOWN, "", "lifeboat daemon start", "2026-11-22T14:02:00Z")
    async with opened(screen, link) as pilot:
        shown = text_of(pilot)
        assert "The daemon is not running since 14:02:00. Press S to start the daemon" in " ".join(shown.split())


async def test_no_banner_lies_over_the_first_run_while_the_daemon_is_not_running() -> None:
    link = recorded()
    link.connection = LinkStatus(LinkStage.DOWN, "", "lifeboat daemon start", "2026-11-22T14:02:00Z")
    async with opened("setup", link) as pilot:
        assert not pilot.app.screen.query_one(ConnectionBanner).has_class("-shown")
        assert "daemon not running" in text_of(pilot).splitlines()[-1]


@every_screen
@pytest.mark.parametrize("size", [(60, 15), (80, 24), (200, 50)], ids=str)
async def test_it_is_drawn_at_every_size_with_ascii_alone(screen: str, size: tuple[int, int]) -> None:
    async with opened(screen, size=size, ascii=True) as pilot:
        assert "the dashboard needs" not in text_of(pilot)
        lines = text_of(pilot).splitlines()
        assert lines[0].strip() and lines[-1].strip(), "header and footer are there"


@every_screen
async def test_below_the_smallest_size_there_is_one_sentence(screen: str) -> None:
    async with opened(screen, size=(59, 15)) as pilot:
        assert text_of(pilot).strip() == "The terminal is 59x15; the dashboard needs 60x15."


@every_screen
async def test_a_dashboard_that_only_looks_refuses_every_act_that_writes(screen: str) -> None:
    async with opened(screen, readonly=True) as pilot:
        shown = pilot.app.screen
        for act in shown.acts():  # type: ignore[attr-defined]
            if act.writes:
                await shown.action_act(act.name)  # type: ignore[attr-defined]
                await settled(pilot)
                assert "--readonly" in notes(pilot)[-1]
                assert pilot.app.screen is shown
