"""The entry point `lifeboat.dashboard`: opens the dashboard on this terminal and returns its exit status."""

from __future__ import annotations

from lifeboat_daemon.control.command_runner import CommandRunner
from lifeboat_daemon.control.home_access import HomeAccess
from lifeboat_tui.dashboard_app import DashboardOptions, LifeboatApp
from lifeboat_tui.link import DashboardLink
from lifeboat_tui.themes import BY_SETTING, DEFAULT_THEME

DEMO_PAUSE = 0.15
"""Seconds between two progress reports of a recorded command."""


def open_dashboard(
    *,
    screen: str = "dashboard",
    agent: str | None = None,
    demo: bool = False,
    readonly: bool = False,
    ascii: bool = False,
    theme: str = "",
    mouse: bool = True,
) -> int:
    """Run the dashboard until the user closes it. `theme` is a value of the setting `dashboard.theme`. Raises
    HomeError, Busy."""
    app = LifeboatApp(
        _link(demo=demo), DashboardOptions(readonly, ascii, BY_SETTING.get(theme, DEFAULT_THEME), screen, agent)
    )
    app.run(mouse=mouse)
    return app.return_code or 0


def _link(*, demo: bool) -> DashboardLink:
    if demo:
        from lifeboat_tui.link.recorded_link import RecordedLink, load_demo_recording

        return RecordedLink(load_demo_recording(), pause=DEMO_PAUSE)
    from lifeboat_tui.link.live_link import LiveLink

    return LiveLink(HomeAccess(), CommandRunner())
