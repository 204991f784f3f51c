"""What the daemon has to know again after a restart, and nothing that a user decided: `state/service.json`.

Losing it costs a notification said twice, or a scheduled capture made once more.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from lifeboat_alf import times
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.seams.files import write_atomic
from lifeboat_core.home.context import Context
from lifeboat_core.state import state_cache
from lifeboat_daemon.notices.notices import Notice, Told


class Notes(msgspec.Struct):
    """`scheduled`: when each agent was last captured by its schedule; `verify_failed`: when a verification last failed;
    `told`: what people were told of each agent; `discovered`, `pinged`: when that was last done. All timestamps.
    `untold`: notices that nobody could be told yet."""

    scheduled: dict[str, str] = {}
    verify_failed: dict[str, str] = {}
    told: dict[str, JsonObject] = {}
    untold: list[Notice] = []
    discovered: str | None = None
    pinged: str | None = None

    def forget(self, agent_id: str) -> None:
        """Know nothing of an agent any more."""
        for kept in (self.scheduled, self.verify_failed, self.told):
            kept.pop(agent_id, None)


def read(context: Context) -> Notes:
    """The notes of the last daemon, empty ones when there are none that can be read."""
    return state_cache.read(context.files, _path(context), Notes, _is_sane) or Notes()


def _is_sane(notes: Notes) -> bool:
    """Whether every moment is one. Raises ValueError otherwise."""
    moments = [*notes.scheduled.values(), *notes.verify_failed.values(), notes.discovered, notes.pinged]
    for told in map(Told.from_json, notes.told.values()):
        moments += [told.since, told.trouble_since, *told.said_at.values()]
    return all(each is None or times.parse(each).year < 9000 for each in moments)


def write(context: Context, notes: Notes) -> None:
    """Keep them. On a full disk they are not kept: nothing depends on them."""
    with contextlib.suppress(OSError):
        write_atomic(context.files, _path(context), msgspec.json.encode(notes))


def _path(context: Context) -> Path:
    return context.home.state_folder / "service.json"
