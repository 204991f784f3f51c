"""The timeline with a real home and real commands, with and without a daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_tui.screens.timeline.diff_screen import DiffScreen
from lifeboat_tui.screens.timeline.timeline_screen import TimelineScreen
from support.cli import cli_client
from support.daemon.serving import serving
from support.tui.live import live, shows
from support.tui.pilots import notes, text_of, until

pytestmark = pytest.mark.anyio
run = cli_client.run


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a workspace with three sequences: a rudder was noted and removed again."""
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "SOUL.md").write_text("# Soul\n\nBe kind.\n")
    (folder / "MEMORY.md").write_text("# Memory\n\n## Boat\n\nThe red boat needs paint.\n")
    run("agents", "add", folder, "--name", "ada")
    (folder / "MEMORY.md").write_text("# Memory\n\n## Boat\n\nThe red boat needs a rudder.\n")
    run("sync")
    (folder / "MEMORY.md").write_text("# Memory\n\n## Boat\n\nThe red boat is sold.\n")
    run("sync")
    return folder


async def test_a_person_looks_compares_names_verifies_and_finds(workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("# Memory\n\n## Boat\n\nNobody captured this yet.\n")
    async with live(screen="timeline", agent="ada") as pilot:
        await shows(pilot, "+ The red boat is sold.")
        await shows(pilot, "not captured")
        await pilot.press("down")
        await shows(pilot, "+ The red boat needs a rudder.")

        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, DiffScreen), "the comparison")
        await shows(pilot, "- The red boat needs paint.")
        await pilot.press("escape", "d")
        await shows(pilot, "+ Nobody captured this yet.")
        await pilot.press("escape")

        await pilot.press("t", *"boat", "enter")
        await until(pilot, lambda: "Sequence 1 is now named: boat" in notes(pilot), "the name")
        await pilot.press("v")
        await until(pilot, lambda: any("sequence 1 verified" in note for note in notes(pilot)), "verify")

        await pilot.press("F", *"rudder", "enter")
        await shows(pilot, "gone")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, TimelineScreen), "the timeline")
        screen = pilot.app.screen
        assert isinstance(screen, TimelineScreen) and screen.chosen is not None and screen.chosen.sequence == 1
        await until(pilot, lambda: screen.chosen is not None and screen.chosen.label == "boat", "the name in its line")


async def test_what_the_service_captures_comes_in_by_itself(workspace: Path) -> None:
    with serving(Context.open()):
        async with live(screen="timeline", agent="ada") as pilot:
            await shows(pilot, "Sequences [3]")
            (workspace / "MEMORY.md").write_text("# Memory\n\n## Boat\n\nA new boat is here.\n")
            await shows(pilot, "Sequences [4]")
            assert "Traceback" not in text_of(pilot)
