"""An invented history of the agent ada: five sequences with their changes."""

from __future__ import annotations

import sys
from datetime import timedelta
from types import ModuleType

import pytest

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.lifeboat_screen import LifeboatScreen
from support.tui.pilots import recorded


def ada_of(link: RecordedLink) -> str:
    """Return the id of ada."""
    status = link.remembered()
    assert status is not None
    return str(next(one["id"] for one in status["agents"] if one["name"] == "ada"))


def entry(link: RecordedLink, sequence: int, hours_ago: float, **more: object) -> JsonObject:
    """Return a sequence as `timeline` reports it."""
    document: JsonObject = {
        "sequence": sequence,
        "created_at": times.to_text(link.now() - timedelta(hours=hours_ago)),
        "kind": "capture",
        "changes": {
            "records": {"created": 1, "updated": 0, "deleted": 0},
            "raw": {"put": 1, "patched": 0, "removed": 0},
        },
        "files": 1,
        "records_changed": 1,
        "trigger": None,
        "verified": ["local"],
        "on": [],
        "bytes": 900,
        "label": None,
        "pins": [],
        "digest": "0" * 64,
        "signed": True,
    }
    return document | more


def timeline(link: RecordedLink, entries: list[JsonObject], **more: object) -> JsonObject:
    begin = times.to_text(link.now() - timedelta(hours=47))
    activity = {"unit": "hour", "from": begin, "counts": [0] * 40 + [1, 2, 0, 0, 4, 0, 1, 1]}
    document: JsonObject = {"total": len(entries), "entries": entries, "activity": activity, "set_aside": []}
    return {"agent": ada_of(link), **document, **more}


def file(path: str, operation: str = "changed", *lines: str, **more: object) -> JsonObject:
    """Return a changed file with the lines of its diff from `@@` on."""
    diff = "\n".join((f"--- a/{path}", f"+++ b/{path}", *lines))
    return {"path": f"raw/openclaw/{path}", "operation": operation, "diff": diff, "cut": False, **more}


def difference(link: RecordedLink, first: int, second: int | None, **more: object) -> JsonObject:
    moment = times.to_text(link.now())
    to: JsonObject = {"workspace": "/srv/ada"} if second is None else {"sequence": second, "time": moment}
    document: JsonObject = {"files": [], "records": [], "documents": [], "truncated": False}
    return {"agent": ada_of(link), "from": {"sequence": first, "time": moment}, "to": to, **document, **more}


def history(**more: object) -> RecordedLink:
    """Return a link with five sequences of three days; the workspace is one file ahead."""
    link = recorded()
    ada = ada_of(link)
    entries = [
        entry(link, 5, 1, verified=["local", "stick"], on=["stick"]),
        entry(link, 4, 2, kind="restore", files=3, records_changed=0, trigger="user"),
        entry(link, 3, 26, label="before the move"),
        entry(link, 2, 50, verified=[], pins=["release"]),
        entry(link, 1, 51),
    ]
    link.answers(["timeline", ada], timeline(link, entries, **more))
    link.answers(["timeline", ada, "--days"], timeline(link, entries, activity=_days(link)))
    for number in (2, 3, 4, 5):
        changed = file(f"notes/{number}.md", "created", "@@ -0,0 +1,1 @@", f"+the note of {number}")
        link.answers(["diff", ada, str(number - 1), str(number)], difference(link, number - 1, number, files=[changed]))
    ahead = file("MEMORY.md", "changed", "@@ -7,1 +7,2 @@", " kept", "+not kept yet")
    link.answers(["diff", ada], difference(link, 5, None, files=[ahead]))
    return link


def _days(link: RecordedLink) -> JsonObject:
    return {"unit": "day", "from": times.to_text(link.now() - timedelta(days=59)), "counts": [1] * 60}


def opened(monkeypatch: pytest.MonkeyPatch) -> list[JsonObject]:
    """Replace the restore wizard, which has separate tests, and return how it was opened."""
    calls: list[JsonObject] = []

    class RestoreWizard(LifeboatScreen):
        NAME = "Restore"

        def __init__(self, agent_id: str, **of: object) -> None:
            super().__init__()
            calls.append({"agent": agent_id, **of})

        def twin(self) -> tuple[str, ...]:
            return ("restore",)

    module = ModuleType("lifeboat_tui.screens.restore.restore_wizard")
    module.RestoreWizard = RestoreWizard  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lifeboat_tui.screens.restore.restore_wizard", module)
    return calls
