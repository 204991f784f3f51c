"""An invented machine for the restore wizard: the answers of its commands, and the opened wizard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_tui.link.recorded_link import RecordedAnswer, RecordedLink, Recording
from lifeboat_tui.screens.restore.restore_wizard import RestoreWizard
from support.tui.pilots import dashboard, settled, until

ADA = "01a20000-0000-7000-8000-00000000ada0"
HOME = "/srv/ada/.openclaw/workspace"
OTHER = "/srv/ada/.zeroclaw/agents/ada/workspace"
STATUS: JsonObject = {
    "verdict": "All well.",
    "agents": [{"id": ADA, "name": "ada", "runtime": "openclaw", "workspace": HOME, "sequence": 14}],
}
TIMELINE: JsonObject = {
    "entries": [
        {"sequence": number, "created_at": f"2026-11-20T{number:02}:00:00Z", "files": 1, "signed": True}
        for number in range(14, 9, -1)
    ],
    "set_aside": [{"from": "aside", "since": "2026-11-18T09:00:00Z"}],
    "total": 5,
}
TIMELINE["entries"][2] |= {"verified": ["local", "stick"], "label": "before the storm"}
PLAN: JsonObject = {
    "sequence": 12,
    "time": "2026-11-20T12:00:00Z",
    "to": HOME,
    "runtime": "openclaw",
    "files": {"created": 1, "overwritten": 1, "same": 18, "removed": 1, "skipped": 0},
    "items": [
        {"name": "skills/inbox/SKILL.md", "action": "create", "kind": "file", "basis": "raw", "size": 2900},
        {"name": "MEMORY.md", "action": "overwrite", "kind": "file", "basis": "raw", "size": 41000},
        {"name": "notes/today.md", "action": "remove", "kind": "file"},
    ],
}
DONE: JsonObject = {
    "name": "ada",
    "sequence": 12,
    "to": HOME,
    "files": PLAN["files"],
    "records": {"restored": 9},
    "credentials": {"injected": 1, "skipped": 1},
    "credential_details": [
        {
            "label": "openclaw.json: botToken",
            "outcome": "skipped",
            "reason": "bound elsewhere",
            "reissue": "make another",
        }
    ],
    "next": [{"title": "Start its gateway", "command": "openclaw gateway start"}],
    "receipt": "r-1",
    "objects": 22,
    "outcomes": {"accepted": 20, "omitted": 2},
    "fates": [{"kind": "vector", "outcome": "omitted", "reason": "it is made again", "names": ["v-1", "v-2"]}],
    "safety": 15,
    "undo": True,
}
UNDONE = DONE | {"kind": "undo", "undo": False, "next": [], "credential_details": []}
DRY, RUN_IT, UNDO = ("restore", ADA, "--dry-run"), ("restore", ADA, "--yes"), ("undo", ADA)
LOGGED = {"time": "2026-11-20T15:00:00Z", "kind": "restore", "text": "restored sequence 12"}


def machine(kind: type[RecordedLink] = RecordedLink) -> RecordedLink:
    known: list[tuple[tuple[str, ...], JsonObject]] = [
        (("status",), STATUS),
        (("timeline", ADA), TIMELINE),
        (
            ("agents", "list"),
            {"agents": [STATUS["agents"][0] | {"folders": {"openclaw": f"{HOME}-ada", "zeroclaw": OTHER}}]},
        ),
        (("agents", "list", "--remote", "stick"), {"agents": [_away()]}),
        (("remote", "list"), {"remotes": [{"name": "stick", "url": "file:///media/stick"}]}),
        (("log", ADA), {"entries": []}),
        (("keys", "unlock"), {"state": "ok"}),
        (("diff", ADA), {"files": [], "records": [], "documents": []}),
        (DRY, PLAN),
        (RUN_IT, DONE),
        (UNDO, UNDONE),
    ]
    return kind(
        Recording("2026-11-20T16:00:00Z", answers=tuple(RecordedAnswer(*each) for each in known)), is_demo=False
    )


def _away(**more: Any) -> JsonObject:
    away = {"id": ADA, "name": "ada", "runtime": "openclaw", "sequence": 13, "machine": "laptop-2"}
    return away | {"written_at": "2026-11-20T13:00:00Z", "folders": {"openclaw": HOME, "zeroclaw": OTHER}} | more


@asynccontextmanager
async def wizard(
    link: RecordedLink, *, size: tuple[int, int] = (120, 36), readonly: bool = False, **more: Any
) -> AsyncIterator[Pilot[None]]:
    """Open the wizard over the dashboard, as other screens do."""
    async with dashboard(link, size=size, readonly=readonly) as pilot:
        await pilot.app.push_screen(RestoreWizard(ADA, **more))
        await settled(pilot)
        yield pilot


def screen(pilot: Pilot[None]) -> RestoreWizard:
    found = next(each for each in pilot.app.screen_stack if isinstance(each, RestoreWizard))
    return found


async def say(pilot: Pilot[None], text: str) -> None:
    """Type into the field of a dialog and press its button."""
    await until(pilot, lambda: pilot.app.screen.query("#answer, #phrase"))
    field = pilot.app.screen.query("#answer, #phrase").first()
    field.value = text  # type: ignore[attr-defined]
    await pilot.pause()
    await pilot.click("#yes")
    await settled(pilot)


def commands(link: RecordedLink, *words: str) -> list[tuple[str, ...]]:
    return [said for said, _ in link.asked if said[: len(words)] == words]
