"""The entry point `lifeboat.dashboard`: opens the dashboard on this terminal and returns its exit status."""

from __future__ import annotations

from lifeboat_daemon.control.commands import Commands
from lifeboat_daemon.control.door import Door
from lifeboat_tui.app import LifeboatApp, Options
from lifeboat_tui.link import Link
from lifeboat_tui.themes import BY_SETTING, DEFAULT_THEME

DEMO_PAUSE = 0.15
"""Seconds between two figures of recorded work."""


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
    """Run until the user closes it. `theme` is a value of the setting `dashboard.theme`. Raises HomeError, Busy."""
    app = LifeboatApp(_link(demo=demo), Options(readonly, ascii, BY_SETTING.get(theme, DEFAULT_THEME), screen, agent))
    app.run(mouse=mouse)
    return app.return_code or 0


def _link(*, demo: bool) -> Link:
    if demo:
        from lifeboat_tui.link.recorded import RecordedLink, shipped

        return RecordedLink(shipped(), pause=DEMO_PAUSE)
    from lifeboat_tui.link.live import LiveLink

    return LiveLink(Door(), Commands())
