"""Scenes for pictures: every screen and the steps of the wizards, with the keys that lead there."""

from __future__ import annotations

from dataclasses import dataclass, field

from textual.pilot import Pilot

from lifeboat_tui.link import LinkStage, LinkStatus
from support.tui.pilots import dashboard, press, recorded


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene: `keys` are pressed on `screen` (of the agent ada); "type:..." types a text. `is_down`: the service does
    not run."""

    name: str
    screen: str = "dashboard"
    keys: tuple[str, ...] = ()
    is_down: bool = False
    more: dict[str, object] = field(default_factory=dict)


SIZES = {"80x24": (80, 24), "120x36": (120, 36), "200x50": (200, 50), "no-color": (120, 36)}
SCENES = (
    Scene("dashboard"),
    Scene("dashboard-without-service", is_down=True),
    Scene("dashboard-held", keys=("G", "A")),
    Scene("help", keys=("question_mark",)),
    Scene("palette", keys=("ctrl+p",)),
    Scene("timeline", "timeline", ("down", "down")),
    Scene("diff", "timeline", ("down", "down", "enter")),
    Scene("memories", "memories", ("down",)),
    Scene("restore", "restore"),
    Scene("restore-what", "restore", ("enter",)),
    Scene("restore-preview", "restore", ("enter", "ctrl+n")),
    Scene("restore-done", "restore", ("enter", "ctrl+n", "R")),
    Scene("purge", "purge"),
    Scene("purge-preview", "purge", ("type:canary", "enter")),
    Scene("purge-confirm", "purge", ("type:canary", "enter", "ctrl+n")),
    Scene("receipts", "receipts"),
    Scene("activity", "activity"),
    Scene("keys", "keys"),
    Scene("remotes", "remotes"),
    Scene("settings", "settings", ("down",)),
    Scene("doctor", "doctor"),
    Scene("setup", "setup"),
)


async def drawn(scene: Scene, size: str) -> str:
    """Return the scene as an SVG."""
    link = recorded()
    if scene.is_down:
        link.connection = LinkStatus(LinkStage.DOWN, "", "lifeboat daemon start", "2026-11-22T14:02:00Z")
    async with dashboard(link, size=SIZES[size], screen=scene.screen, agent="ada", **scene.more) as pilot:
        for key in scene.keys:
            await _do(pilot, key)
        if "ctrl+p" in scene.keys:
            await pilot.pause(0.5)
        for toast in list(pilot.app._notifications):
            pilot.app._unnotify(toast)
        await pilot.pause()
        return pilot.app.export_screenshot(title="lifeboat", simplify=True)


async def _do(pilot: Pilot[None], key: str) -> None:
    if key.startswith("type:"):
        await press(pilot, *key.removeprefix("type:"))
    else:
        await press(pilot, key)
