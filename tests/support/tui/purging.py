"""The purge wizard on invented answers."""

from __future__ import annotations

import asyncio
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_tui.link.recorded_link import RecordedLink, load_demo_recording
from support.tui.pilots import press, recorded, settled

CANARY = "kingfisher-0042-Xq"
"""The text to purge. It may appear only on standard input."""
TOKEN = "purge-token-77Zz"
RECEIPT = "01a1f95a-7f20-709c-83ec-44fdd97a0001"
_STATUS = next(each.document for each in load_demo_recording().answers if each.words == ("status",))
IDS = {each["name"]: each["id"] for each in _STATUS["agents"]}
ADA = IDS["ada"]
LOOK, PURGE = ("purge", ADA, "--dry-run"), ("purge", ADA, "--yes")


def plan(**more: Any) -> JsonObject:
    """Return the answer of a dry run: three versions of a file, one memory, and a remote where the purge would be
    pending."""
    return {
        "receipt": None,
        "agent": {"id": ADA, "name": "ada"},
        "dry_run": True,
        "scope": "record_purge",
        "records": 1,
        "record_ids": ["r1"],
        "versions": 4,
        "sequences_rewritten": 3,
        "files": {"raw/openclaw/MEMORY.md": 3},
        "hits": [
            {
                "where": "raw/openclaw/MEMORY.md",
                "line": 7,
                "masked": "····Xq",
                "kind": "file",
                "versions": 3,
                "first": 4,
                "last": 9,
            }
        ],
        "beside": [{"place": "undo", "where": "/srv/ada/undo/notes.md", "line": 2, "match": "····Xq"}],
        "live": [{"path": "MEMORY.md", "places": 1, "command": None}],
        "names": [],
        "dropped": ["raw/openclaw/photo.bin"],
        "spared": [],
        "elsewhere": {"bookkeeper": 2},
        "sealed": False,
        "unreachable": [{"name": "laptop-2", "why": "it is off", "what": "purged at the next contact"}],
        "remotes": [
            {"name": "office", "state": None, "message": "", "waits": True, "only_there": []},
            {"name": "laptop-2", "state": "pending", "message": "it is off", "waits": True, "only_there": []},
        ],
    } | more


def done(**more: Any) -> JsonObject:
    """Return the answer of the purge."""
    searched = {"bodies": 60, "files": 9, "hits": 0, "live": 1}
    remotes = [{"name": "office", "state": "waiting", "applies_at": "2026-11-21T15:00:00Z", "message": ""}]
    return plan(receipt=RECEIPT, dry_run=False, remotes=remotes, objects=4, searched=searched) | more


def shown(*, office: str = "waiting", **more: Any) -> JsonObject:
    """Return the answer of `receipts show`."""
    vault: JsonObject = {"id": "v", "since": "2026-11-20T15:00:00Z", "applies_at": None, "message": "", "receipt": None}
    waits = {"applies_at": "2026-11-21T15:00:00Z"} if office == "waiting" else {}
    receipt = {
        "id": RECEIPT,
        "audit": {"agent_id": ADA, "reason": "user_request", "requested_at": "2026-11-20T15:00:00Z"},
        "here": {"undo_folders": 1, "searched": {"bodies": 60, "hits": 0, "live": 1}, "keep_out_until": None},
        "vaults": [
            {**vault, "name": "desk", "kind": "home", "state": "done", "receipt": {"objects": 4, "remaining": 0}},
            {**vault, "name": "office", "kind": "endpoint", "state": office, **waits},
        ],
        "unreachable": [{"name": "laptop-2", "why": "it is off", "what": "states that only it has"}],
    }
    return {"receipt": receipt, "holds": True, "findings": [], **more}


def link() -> RecordedLink:
    """Return a link with all answers that the wizard needs."""
    made = recorded()
    made.answers(LOOK, plan())
    made.answers(PURGE, done())
    made.answers(("receipts", "list"), {"receipts": [], "damaged": []})
    made.answers(("receipts", "show", RECEIPT), shown())
    made.answers(("receipts", "confirm", RECEIPT), {"id": RECEIPT, "vault": {"name": "office", "state": "done"}})
    made.answers(("receipts", "export", RECEIPT), {"id": RECEIPT, "path": "/srv/ada/receipt.json"})
    return made


def asked(made: RecordedLink, *words: str) -> list[tuple[tuple[str, ...], str]]:
    """Return commands that begin with these words, and their standard input."""
    return [each for each in made.asked if each[0][: len(words)] == words]


async def fill(pilot: Pilot[None], name: str, text: str) -> None:
    """Paste into a field."""
    field = pilot.app.screen.query_one(f"#{name}", Input)
    field.focus()
    await pilot.pause()
    field.insert_text_at_cursor(text)
    await settled(pilot)


async def preview(pilot: Pilot[None], text: str = CANARY) -> None:
    """Go to the second step."""
    await fill(pilot, "text", text)
    await press(pilot, "enter")


async def confirm(pilot: Pilot[None], words: str = "purge 4") -> None:
    """Go to the third step and type its phrase."""
    await preview(pilot)
    await press(pilot, "ctrl+n")
    await fill(pilot, "phrase", words)


async def destroy(pilot: Pilot[None]) -> None:
    """Carry out all steps."""
    await confirm(pilot)
    await press(pilot, "enter", "enter")


class SlowLink(RecordedLink):
    """Link whose purge runs until it is stopped or released."""

    def __init__(self, made: RecordedLink, words: tuple[str, ...]) -> None:
        self.__dict__.update(made.__dict__)
        self._slow = words
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def run(self, *words: str, text: str = "", tell: Any = None) -> Any:
        if words[: len(self._slow)] == self._slow:
            self.begun.set()
            await self.go_on.wait()
        return await super().run(*words, text=text, tell=tell)
