"""Tell remotes about agents that were purged entirely, where that failed before: {} -> {}.

The state of each is in the receipts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.common.json_types import JsonObject

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob


def run(work: RunningJob) -> JsonObject:
    """Run the operation; see the module. An error of a remote is not a failure of the operation."""
    from lifeboat_core.purge import agent_purge

    agent_purge.tell_remotes_of_purged_agents(work.context)
    return {}
