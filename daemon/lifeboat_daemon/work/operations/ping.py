"""Call the user's dead-man's switch.

{"ok": true}  ->  {"reached": true, "why": null}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.json_types import JsonObject
from lifeboat_core.machine import conditions
from lifeboat_daemon.notices import ping

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker import Work


def run(work: Work) -> JsonObject:
    """See the module. Without a network nothing fails, and nothing is tried: `why` says so. Raises ConfigError."""
    if conditions.read(work.context).online is False:
        return {"reached": False, "why": conditions.NO_NETWORK}
    why = ping.ping(work.context, is_well=bool(work.parameters.get("ok")))
    return {"reached": why is None, "why": why}
