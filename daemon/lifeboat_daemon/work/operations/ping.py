"""Call the user's dead-man's switch.

{"ok": true}  ->  {"reached": true, "why": null}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.machine import power_and_network
from lifeboat_daemon.notices import dead_man_ping

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob


def run(work: RunningJob) -> JsonObject:
    """Run the operation; see the module. Without a network nothing is tried and `why` says so. Raises ConfigError."""
    if power_and_network.read_conditions(work.context).online is False:
        return {"reached": False, "why": power_and_network.NO_NETWORK}
    why = dead_man_ping.send_ping(work.context, is_well=bool(work.parameters.get("ok")))
    return {"reached": why is None, "why": why}
