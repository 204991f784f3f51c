"""What a crash interrupted, finished: restores are rolled forward, a replaced key is settled.

{} -> {"said": [sentence, ...], "problems": [sentence, ...]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.home import crash_recovery

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob


def run(work: RunningJob) -> JsonObject:
    """See the module. What cannot be finished now is a problem, and keeps nothing else from being done."""
    context, problems = work.context, []
    said = [
        *crash_recovery.rebuild_lost(context),
        *crash_recovery.finish_restores(context),
        *crash_recovery.finish_purges(context),
    ]
    try:
        said += crash_recovery.finish_rotation(context)
    except LifeboatError as error:
        problems.append(f"{error.title}: {error.message}")
    return {"said": said, "problems": problems}
