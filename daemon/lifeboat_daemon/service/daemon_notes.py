"""What the daemon needs after a restart and no user decided: `state/service.json`.

If the file is lost, a notice may be repeated or a scheduled capture be made twice.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import write_atomic
from lifeboat_core.home.context import Context
from lifeboat_core.state import state_cache
from lifeboat_daemon.notices.notice_rules import NoticeState, UserNotice


class DaemonNotes(msgspec.Struct):
    """The saved data. `scheduled`: time of each agent's last scheduled capture; `verify_failed`: time of its last
    failed verification; `told`: notices sent about each agent; `discovered`, `pinged`: time of the last discovery and
    ping. All times are timestamps. `untold`: notices that could not be delivered yet."""

    scheduled: dict[str, str] = {}
    verify_failed: dict[str, str] = {}
    told: dict[str, JsonObject] = {}
    untold: list[UserNotice] = []
    discovered: str | None = None
    pinged: str | None = None

    def forget(self, agent_id: str) -> None:
        """Remove everything about an agent."""
        for kept in (self.scheduled, self.verify_failed, self.told):
            kept.pop(agent_id, None)


def load_notes(context: Context) -> DaemonNotes:
    """Load the notes of the last daemon. Return empty ones if there are none or they cannot be read."""
    return state_cache.read_cache(context.files, _path(context), DaemonNotes, _is_sane) or DaemonNotes()


def _is_sane(notes: DaemonNotes) -> bool:
    """Check that every time is valid. Raises ValueError otherwise."""
    moments = [*notes.scheduled.values(), *notes.verify_failed.values(), notes.discovered, notes.pinged]
    for told in map(NoticeState.from_json, notes.told.values()):
        moments += [told.since, told.trouble_since, *told.said_at.values()]
    return all(each is None or times.parse_time(each).year < 9000 for each in moments)


def save_notes(context: Context, notes: DaemonNotes) -> None:
    """Save the notes. On a full disk they are not saved, and nothing depends on them."""
    with contextlib.suppress(OSError):
        write_atomic(context.files, _path(context), msgspec.json.encode(notes))


def _path(context: Context) -> Path:
    return context.home.state_folder / "service.json"
