"""The dashboard with a real home and command server, and a daemon if a test starts one."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from textual.pilot import Pilot

from lifeboat_daemon.control.command_runner import CommandRunner
from lifeboat_daemon.control.home_access import HomeAccess
from lifeboat_tui.dashboard_app import DashboardOptions, LifeboatApp
from lifeboat_tui.link.live_link import LiveLink
from support.tui.pilots import text_of, until


@contextlib.asynccontextmanager
async def live(*, size: tuple[int, int] = (120, 36), **options: object) -> AsyncIterator[Pilot[None]]:
    """Run the dashboard for the home of the environment."""
    app = LifeboatApp(LiveLink(HomeAccess(), CommandRunner()), DashboardOptions(**options))  # type: ignore[arg-type]
    async with app.run_test(size=size, tooltips=False, notifications=True) as pilot:
        yield pilot


async def shows(pilot: Pilot[None], text: str) -> None:
    """Wait until a text is on the screen."""
    await until(pilot, lambda: text in text_of(pilot), repr(text))
