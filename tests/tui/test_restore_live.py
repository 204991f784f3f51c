"""The restore wizard with a real home, service and commands; the service is killed in the middle."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from lifeboat_cli.demo.tree_comparison import Tree, read_tree
from lifeboat_daemon.control.command_runner import CommandRunner
from lifeboat_daemon.control.home_access import HomeAccess
from lifeboat_tui.dashboard_app import LifeboatApp
from lifeboat_tui.link import LinkStage
from lifeboat_tui.link.live_link import LiveLink
from lifeboat_tui.screens.restore.restore_wizard import RestoreWizard
from support.core.harbour import Harbour, harbour
from support.daemon.serving import Daemon
from support.daemon.serving import settled as serving
from support.tui.pilots import text_of, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def ada(tmp_path: Path) -> Harbour:
    """Return a home with two days of changes, so that the first sequence differs from the workspace."""
    made = harbour(tmp_path)
    made.day_passes()
    made.another_day_passes()
    return made


@asynccontextmanager
async def wizard(ada: Harbour, **more: str) -> AsyncIterator[Pilot[None]]:
    around = {**os.environ, **ada.context.environment}
    app = LifeboatApp(LiveLink(HomeAccess(around), CommandRunner(around)))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.link.connection.stage is LinkStage.UP)
        await app.push_screen(RestoreWizard(ada.agent.id, **more))  # type: ignore[arg-type]
        yield pilot


async def says(pilot: Pilot[None], text: str) -> None:
    await until(pilot, lambda: text in " ".join(text_of(pilot).split()))


async def kill(daemon: Daemon) -> None:
    await asyncio.to_thread(daemon.kill)


def written(ada: Harbour) -> Tree:
    """Return the content of the workspace."""
    return read_tree(ada.workspace)


async def test_a_restore_by_keys_brings_back_what_was_and_u_takes_it_back(ada: Harbour) -> None:
    before = written(ada)
    with serving(ada.context):
        async with wizard(ada) as pilot:
            await says(pilot, "Sequences [3]")
            await pilot.press("end", "enter")
            await says(pilot, "in place:")
            await pilot.press("ctrl+n")
            await says(pilot, "Shell command: lifeboat restore")
            assert written(ada) == before
            await pilot.press("R")
            await says(pilot, "press u, or run")
            assert written(ada) == ada.trees[0]
            await pilot.press("u")
            await says(pilot, "Undo the last restore?")
            await pilot.press("right", "enter")
            await says(pilot, "was undone")
            assert written(ada) == before


async def test_a_service_that_is_killed_at_the_preview_is_not_missed(ada: Harbour) -> None:
    with serving(ada.context) as daemon:
        async with wizard(ada, at="0") as pilot:
            await says(pilot, "Shell command: lifeboat restore")
            await kill(daemon)
            await says(pilot, "The daemon is not running")
            await pilot.press("R")
            await says(pilot, "Restored sequence 0 of")
            assert written(ada) == ada.trees[0]


async def test_a_service_that_is_killed_while_it_is_done_leaves_all_new(ada: Harbour) -> None:
    with serving(ada.context) as daemon:
        async with wizard(ada, at="0") as pilot:
            await says(pilot, "Shell command: lifeboat restore")
            await pilot.press("R")
            await kill(daemon)
            await says(pilot, "Restored sequence 0 of")
            assert written(ada) == ada.trees[0]
            await says(pilot, "The daemon is not running")


async def test_stopped_in_the_middle_it_is_all_old_or_all_new_and_the_wizard_says_which(ada: Harbour) -> None:
    before = written(ada)
    with serving(ada.context):
        async with wizard(ada, at="0") as pilot:
            await says(pilot, "Shell command: lifeboat restore")
            await pilot.press("R")
            await until(
                pilot,
                lambda: any(isinstance(each, RestoreWizard) and each.is_at_work for each in pilot.app.screen_stack),
            )
            await pilot.press("c")
            await until(
                pilot,
                lambda: any(
                    said in text_of(pilot)
                    for said in (
                        "stopped before it changed anything",
                        "The restore finished before",
                        "Restored sequence 0 of",
                    )
                ),
            )
            if "stopped before it changed anything" in text_of(pilot):
                assert written(ada) == before
            else:
                assert written(ada) == ada.trees[0]


async def test_a_command_server_that_is_killed_in_the_middle_leaves_all_old_or_all_new(ada: Harbour) -> None:
    before = written(ada)
    with serving(ada.context):
        async with wizard(ada, at="0") as pilot:
            await says(pilot, "Shell command: lifeboat restore")
            link = pilot.app.link  # type: ignore[attr-defined]
            starting = link._commands._starting
            assert starting is not None
            await pilot.press("R")
            os.kill(starting.result().pid, 9)
            await until(
                pilot,
                lambda: any(
                    said in text_of(pilot)
                    for said in ("completes it or discards it", "The restore finished before", "Restored sequence 0 of")
                ),
            )
            await until(pilot, lambda: written(ada) in (before, ada.trees[0]))
            await pilot.press("escape")
            await until(pilot, lambda: "Shell command:" in text_of(pilot) or "lifeboat › restore" not in text_of(pilot))
            assert written(ada) in (before, ada.trees[0])
