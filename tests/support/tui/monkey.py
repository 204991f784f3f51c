"""Random use of the dashboard: arbitrary keys, failing answers, events, and changes of the terminal size.

There must be no traceback, no screen that cannot be closed, and no secret among the words of a command.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.pilot import Pilot

from lifeboat_core.errors import Busy, WorkerFailed
from lifeboat_tui.link import LinkStage, LinkStatus
from lifeboat_tui.link.recorded_link import RecordedLink
from support.tui.pilots import dashboard, recorded

KEYS = (
    *"abcdefghijklmnoprstuvwxyz",
    *"ABCDEFGHIJKLMNOPRSTUVWXYZ",
    *"12345678",
    "enter", "escape", "space", "tab", "shift+tab", "up", "down", "left", "right", "pageup", "pagedown", "home", "end",
    "slash", "question_mark", "ctrl+p", "ctrl+o", "ctrl+r", "backspace", "delete", "ctrl+u",
)  # fmt: skip
"""All keys except `q`, which closes the dashboard."""
SIZES = ((80, 24), (120, 36), (200, 50), (60, 15), (40, 8))
HAPPENS = (
    {"event": "tick"},
    {"event": "agent"},
    {"event": "capture", "agent": "nobody"},
    {"event": "job", "state": "running", "operation": "push", "done": 1, "total": 2},
    {"event": "notice"},
    {"event": "gone", "agent": "nobody"},
)
EVENTS = tuple(f"event {number}" for number in range(len(HAPPENS)))
RESIZES = tuple(f"size {number}" for number in range(len(SIZES)))
OTHERS = ("daemon goes", "daemon comes", "fails", "works")
STEPS = (*KEYS, *KEYS, *EVENTS, *RESIZES, *OTHERS)
"""Possible steps; keys are twice as likely."""


async def plays(steps: Sequence[str], *, readonly: bool = False) -> int:
    """Play random steps on the demo recording, and return how many were done. When the dashboard is closed through the
    palette, start it again. Raises any error of the dashboard."""
    done = 0
    while done < len(steps):
        link = recorded()
        async with dashboard(link, size=(100, 30), readonly=readonly) as pilot:
            for step in steps[done:]:
                await _do(pilot, link, step)
                done += 1
                if pilot.app._exit:
                    break
    return done


async def _do(pilot: Pilot[None], link: RecordedLink, step: str) -> None:
    if step in EVENTS:
        link.happens(HAPPENS[EVENTS.index(step)])
    elif step in RESIZES:
        await pilot.resize_terminal(*SIZES[RESIZES.index(step)])
    elif step == "daemon goes":
        link.connection = LinkStatus(LinkStage.DOWN, "", None, "2026-11-22T14:02:00Z")
        link.happens({"event": "connection"})
    elif step == "daemon comes":
        link.connection = LinkStatus(LinkStage.UP)
        link.happens({"event": "connection"})
    elif step == "fails":
        link.failing = (
            Busy("process 4711 (restore) is at work") if link.failing is None else WorkerFailed("it was killed")
        )
    elif step == "works":
        link.failing = None
    else:
        await pilot.press(step)
    await pilot.pause()
