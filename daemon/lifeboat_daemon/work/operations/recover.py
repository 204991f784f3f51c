"""Finish what a crash interrupted: roll restores forward and complete the rotation of a key.

{} -> {"said": [sentence, ...], "problems": [sentence, ...]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.home import crash_recovery
from lifeboat_core.remotes import arrange_credentials

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob


def run(work: RunningJob) -> JsonObject:
    """Run the operation; see the module. An unfinished item becomes a problem and does not affect the others."""
    context, problems = work.context, []
    said = [
        *crash_recovery.rebuild_lost(context),
        *crash_recovery.finish_restores(context),
        *crash_recovery.finish_purges(context),
        *arrange_credentials.arrange_quietly(context),
    ]
    try:
        said += crash_recovery.finish_rotation(context)
    except LifeboatError as error:
        problems.append(f"{error.title}: {error.message}")
    return {"said": said, "problems": problems}
