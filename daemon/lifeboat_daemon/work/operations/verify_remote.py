"""Read back what one remote has of one agent.

    {remote: name} -> {"name", "id", "sequence", "items", "bytes", "findings", "ok", "drill", "deferred": null,
                       "facts": ...}

Without a network nothing is asked: `deferred` says so, and `ok` is true. `sequence` is null if nothing there can be
compared with this machine. `drill` is the result of the remote's restore drill if one was due (see `verify --remote
--json`), otherwise null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.health import status_gathering
from lifeboat_core.machine import power_and_network
from lifeboat_daemon.work.operations.push import find_named_remote

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob


def run(work: RunningJob) -> JsonObject:
    """Run the operation; see the module. Raises BadRequest, SecondCopyError.UNKNOWN_REMOTE, ConfigError, and errors
    that prevent the verification."""
    from lifeboat_core.remotes import remote_drill, remote_kinds

    context, agent, config = work.context, work.needed_agent(), find_named_remote(work)
    if remote_kinds.needs_network(config) and power_and_network.is_online() is False:
        nothing: JsonObject = {
            "name": config.name,
            "id": config.id,
            "sequence": None,
            "items": 0,
            "bytes": 0,
            "findings": [],
            "drill": None,
        }
        found, deferred = {**nothing, "ok": True}, power_and_network.NO_NETWORK
    else:
        work.tell(f"Verifying {config.name}")
        found, deferred = remote_drill.verify_or_drill(context, agent, config, work.tell), None
    return {**found, "deferred": deferred, "facts": status_gathering.gather_facts(context, agent).to_json()}
