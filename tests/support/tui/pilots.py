"""The dashboard on recorded answers, driven by keys."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable

from textual.pilot import Pilot

from lifeboat_tui.dashboard_app import DashboardOptions, LifeboatApp
from lifeboat_tui.link.recorded_link import RecordedLink, Recording, load_demo_recording
from support.waiting import until_async

SIZES = ((80, 24), (120, 36), (200, 50))
_SHIPPED = load_demo_recording()
_WAITING = frozenset({"follow", "act"})
"""Groups of workers that may wait for the user or for an event."""
_ROUNDS = 200
"""Maximum rounds of the event loop, not a time: recorded answers need no more, and some tests leave a worker
hanging."""


def recorded(recording: Recording | None = None, *, is_demo: bool = False) -> RecordedLink:
    """Return a link with the answers of the demo recording, which a test can replace."""
    return RecordedLink(recording or _SHIPPED, is_demo=is_demo)


@contextlib.asynccontextmanager
async def dashboard(
    link: RecordedLink | None = None, *, size: tuple[int, int] = (120, 36), **options: object
) -> AsyncIterator[Pilot[None]]:
    """Run the app; `options` are the fields of `DashboardOptions`."""
    app = LifeboatApp(link or recorded(), DashboardOptions(**options))  # type: ignore[arg-type]
    async with app.run_test(size=size, tooltips=False, notifications=True) as pilot:
        await settled(pilot)
        yield pilot


async def settled(pilot: Pilot[None]) -> None:
    """Wait until all answers are drawn. A dialog that waits for the user counts as settled."""
    for _ in range(_ROUNDS):
        await pilot.pause()
        if not any(each.is_running and each.group not in _WAITING for each in pilot.app.workers):
            break
    await pilot.pause()


async def until(pilot: Pilot[None], is_so: Callable[[], object], what: str = "") -> None:
    """Wait until `is_so()` is true and drawn. If that never happens, fail with the text of the screen."""
    await until_async(is_so, lambda: f"{what}:\n{notes(pilot)}\n{text_of(pilot)}")
    await pilot.pause()


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys and wait for the effect."""
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


def notes(pilot: Pilot[None]) -> list[str]:
    """Return the notifications, newest last."""
    return [str(each.message) for each in pilot.app._notifications]


def text_of(pilot: Pilot[None]) -> str:
    """Return the text of the screen, line by line."""
    screen = pilot.app.screen
    _width, height = screen.size
    lines = screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in line).rstrip() for line in lines[:height])
