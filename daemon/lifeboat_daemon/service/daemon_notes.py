"""What the daemon has to know again after a restart, and nothing that a user decided: `state/service.json`.

Losing it costs a notification said twice, or a scheduled capture made once more.
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
    """`scheduled`: when each agent was last captured by its schedule; `verify_failed`: when a verification last failed;
    `told`: what people were told of each agent; `discovered`, `pinged`: when that was last done. All timestamps.
    `untold`: notices that nobody could be told yet."""

    scheduled: dict[str, str] = {}
    verify_failed: dict[str, str] = {}
    told: dict[str, JsonObject] = {}
    untold: list[UserNotice] = []
    discovered: str | None = None
    pinged: str | None = None

    def forget(self, agent_id: str) -> None:
        """Know nothing of an agent any more."""
        for kept in (self.scheduled, self.verify_failed, self.told):
            kept.pop(agent_id, None)


def load_notes(context: Context) -> DaemonNotes:
    """The notes of the last daemon, empty ones when there are none that can be read."""
    return state_cache.read_cache(context.files, _path(context), DaemonNotes, _is_sane) or DaemonNotes()


def _is_sane(notes: DaemonNotes) -> bool:
    """Whether every moment is one. Raises ValueError otherwise."""
    moments = [*notes.scheduled.values(), *notes.verify_failed.values(), notes.discovered, notes.pinged]
    for told in map(NoticeState.from_json, notes.told.values()):
        moments += [told.since, told.trouble_since, *told.said_at.values()]
    return all(each is None or times.parse_time(each).year < 9000 for each in moments)


def save_notes(context: Context, notes: DaemonNotes) -> None:
    """Keep them. On a full disk they are not kept: nothing depends on them."""
    with contextlib.suppress(OSError):
        write_atomic(context.files, _path(context), msgspec.json.encode(notes))


def _path(context: Context) -> Path:
    return context.home.state_folder / "service.json"
