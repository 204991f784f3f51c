"""Call the user's dead-man's switch.

{"ok": true}  ->  {"reached": true, "why": null}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lifeboat_daemon.health import ping

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker import Work

JsonObject = dict[str, Any]


def run(work: Work) -> JsonObject:
    """See the module. Without a network nothing fails: `why` says so. Raises ConfigError."""
    why = ping.ping(work.context, is_well=bool(work.parameters.get("ok")))
    return {"reached": why is None, "why": why}
