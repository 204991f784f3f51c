"""Capture an agent and maintain its history.

    {full?: bool, asked?: bool, reason?: str} -> {"capture": one agent of `sync --json`, "facts": ..., "watch": ...}

`full` reads every file regardless of its stat. `asked`: the user waits for it, so no large file is deferred. It needs
no user key, so a keyring that is locked or never answers stops no capture.
"""

from __future__ import annotations

import contextlib
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.file_operations import read_all, write_atomic
from lifeboat_core.agents import agent_sync, manage_agents
from lifeboat_core.home.context import Context
from lifeboat_core.machine import clock_trust
from lifeboat_core.migrations import home_backups
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_daemon.work.operations.standing import gather_facts

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob

_SWEPT = "swept"
_SWEEP_EVERY = timedelta(days=1)
_CARE_EVERY = 300.0
"""Seconds between two maintenance runs of an agent's history."""
_cared: dict[str, float] = {}


def run(work: RunningJob) -> JsonObject:
    """Run the operation; see the module. Raises Busy, and any other error that prevents the capture."""
    context, agent = work.context, work.needed_agent()
    work.tell("capturing")
    full, asked = (bool(work.parameters.get(name)) for name in ("full", "asked"))
    document = agent_sync.sync_agent(context, agent, full=full, paced=not asked, care=_is_care_due(agent.id))
    _sweep_if_due(context)
    return {"capture": document, **gather_facts(context, agent)}


def _is_care_due(agent_id: str) -> bool:
    """Return whether maintenance is due. It reads every kept sequence, so after each capture of a busy agent it would
    cost more than the captures. A worker maintains an agent at its first capture, then every few minutes."""
    now = time.monotonic()
    if now - _cared.get(agent_id, float("-inf")) < _CARE_EVERY:
        return False
    _cared[agent_id] = now
    return True


def _sweep_if_due(context: Context) -> None:
    """Once a day, delete the history of agents that were removed long ago, and copies from before a migration. Errors
    are ignored, because the next run tries again."""
    with contextlib.suppress(LifeboatError), convert_system_errors():
        note = context.home.state_folder / _SWEPT
        if _is_due(context, note):
            manage_agents.sweep_removed(context, trusted=clock_trust.is_clock_trusted(context))
            home_backups.remove_old_backups(context)
            write_atomic(context.files, note, f"{context.now()}\n".encode())


def _is_due(context: Context, note: Path) -> bool:
    """Return whether it is due. A note from the future counts as due: a wrong clock must not stop it for years."""
    try:
        last = times.parse_time(read_all(context.files, note).decode().strip())
    except (FileNotFoundError, ValueError):
        return True
    return abs(context.clock.now() - last) >= _SWEEP_EVERY
