"""An invented machine for the first run: the answers of its commands, and a driver for the wizard."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_tui.link.recorded_link import RecordedAnswer, RecordedLink, Recording
from lifeboat_tui.screens.first_run.first_run_wizard import WAYS
from support.tui.pilots import press, settled

NOW = "2026-11-22T12:00:00Z"
KEY_ID = "4a55f53b7ae122c8b37e71b844475c78"
WORDS = [f"quay{letter}" for letter in "abcdefghijklmnopqrstuvwx"]
"""Invented words: tests find them wherever they leak."""
REVEAL = ("keys", "init", "--words-to", "-", "--no-prove")
ADA = "/srv/ada/.openclaw/workspace"
ROVER = "/srv/ada/.openclaw/workspace-rover"
AWAY = "01a204cc-ca69-75e0-896f-6ebb69a19237"
BACK = "/home/mira/.openclaw/workspace"
RESTORE = (
    "restore",
    AWAY,
    "--from",
    "stick",
    "--to",
    BACK,
    "--with-credentials",
)


def driven(run: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Turn an asynchronous test into a synchronous one."""

    @functools.wraps(run)
    def test(*arguments: Any, **named: Any) -> None:
        asyncio.run(run(*arguments, **named))

    return test


def found(name: str, workspace: str, protected_as: str | None = None) -> JsonObject:
    return {
        "runtime": "openclaw",
        "native_id": name,
        "name": name,
        "workspace": workspace,
        "protected_as": protected_as,
        "dismissed": False,
    }


def key(**more: Any) -> JsonObject:
    return {"state": "ok", "key_id": KEY_ID, "store": "file", "note": "", "proven_at": None} | more


def steps(**states: str) -> JsonObject:
    """Return the answer of `setup --json`; the service command is that of a machine with a service manager."""
    command = {"service": "lifeboat service install", "words": "lifeboat keys init"}
    names = ("find", "protect", "key", "words", "second_copy", "service")
    rows = [
        {"name": name, "state": states.get(name, "missing"), "text": f"The {name} is so.", "command": command.get(name)}
        for name in names
    ]
    return {"steps": rows, "next": None, "did": []}


def status(*agents: JsonObject) -> JsonObject:
    return {
        "verdict": "On this disk only.",
        "state": "ok",
        "agents": list(agents),
        "key": {"state": "ok"},
        "problems": [],
        "daemon": {"running": False},
        "offers": [],
    }


def away(**more: Any) -> JsonObject:
    return {
        "id": AWAY,
        "name": "Juniper",
        "runtime": "openclaw",
        "sequence": 7,
        "time": "2026-11-22T11:00:00Z",
        "machine": "laptop-2",
        "written_at": "2026-11-22T11:00:00Z",
        "bytes": 29060,
        "here": None,
        "folders": {"openclaw": BACK, "zeroclaw": "/home/mira/.zeroclaw/agents/juniper/workspace"},
    } | more


PLAN = {
    "agent": AWAY,
    "sequence": 7,
    "time": "2026-11-22T11:00:00Z",
    "to": BACK,
    "runtime": "openclaw",
    "signature": "signed",
    "files": {"created": 23, "overwritten": 0, "same": 0, "removed": 0, "skipped": 0},
    "warnings": ["the newest sequence at stick is sequence 7"],
    "credentials": [{"label": "openclaw.json: apiKey", "outcome": "injected", "reason": None}],
}
RESTORED = {
    "name": "Juniper",
    "sequence": 7,
    "to": BACK,
    "files": PLAN["files"],
    "credentials": {"injected": 1, "skipped": 0},
    "warnings": [],
    "next": [{"title": "Start its gateway", "command": "openclaw gateway start"}],
}


def machine(*answers: tuple[tuple[str, ...], JsonObject]) -> RecordedLink:
    """Return a link with two agents, a key whose words are not written down, no remote and no service."""
    known = [
        (("status",), status()),
        (("agents", "discover"), {"found": [found("ada", ADA), found("rover", ROVER)]}),
        (("agents", "add"), {"id": "1", "name": "ada"}),
        (("keys", "status"), key()),
        (("keys", "prove", "--answers-stdin"), {"key_id": KEY_ID, "proven_at": NOW}),
        (("keys", "unlock"), {"state": "ok"}),
        (("keys", "recover"), {"key_id": KEY_ID, "store": "file", "was_here": False}),
        (("remote", "list"), {"remotes": []}),
        (("remote", "add"), {"name": "stick", "url": "file:///media/stick", "readable": "Nobody can read it."}),
        (("sync",), {"agents": []}),
        (("setup",), steps()),
        (("service", "install"), {"done": [], "advice": []}),
        (("daemon", "start"), {}),
        (("agents", "list", "--remote", "stick"), {"remote": "stick", "agents": [away()]}),
        ((*RESTORE, "--dry-run"), PLAN),
        ((*RESTORE, "--adopt", "--yes"), RESTORED),
        *answers,
    ]
    link = RecordedLink(Recording(NOW, answers=tuple(RecordedAnswer(*each) for each in known)), is_demo=False)
    link.answers(REVEAL, {}, text=" ".join(WORDS) + "\n")
    return link


def knows_stick() -> tuple[tuple[str, ...], JsonObject]:
    return ("remote", "list"), {"remotes": [{"name": "stick", "url": "file:///media/stick", "problem": None}]}


def asked(link: RecordedLink, *words: str) -> list[str]:
    """Return the standard input of each command that begins with these words, in order."""
    return [text for command, text in link.asked if command[: len(words)] == words]


async def choose(pilot: Pilot[None], way: str) -> None:
    """Choose `kit`, `return` or `protect` on the first page."""
    await press(pilot, *["down"] * list(WAYS).index(way), "enter")


async def go_to(pilot: Pilot[None], way: str, step: int) -> None:
    """Go to a step of a purpose, counted from 1, and skip the steps before it."""
    await choose(pilot, way)
    for _ in range(step - 1):
        await press(pilot, "ctrl+l" if way == "protect" else "ctrl+n")


async def fill(pilot: Pilot[None], name: str, text: str) -> None:
    """Type into a field key by key."""
    pilot.app.screen.query_one(f"#{name}", Input).focus()
    await pilot.pause()
    await pilot.press(*(_key(character) for character in text))
    await settled(pilot)


def _key(character: str) -> str:
    return {" ": "space", "/": "slash", ":": "colon", ".": "full_stop", "-": "minus", "~": "tilde"}.get(
        character, character
    )
