"""Second copies of agents that were purged whole are told, where that did not work before: {} -> {}.

How each of them stands is in the receipts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.common.json_types import JsonObject

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob


def run(work: RunningJob) -> JsonObject:
    """See the module. What goes wrong at one is no failure of this work."""
    from lifeboat_core.purge import agent_purge

    agent_purge.tell_remotes_of_purged_agents(work.context)
    return {}
