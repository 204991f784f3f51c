"""Read back from one remote what it has of one agent.

    {remote: name}  ->  {"name", "id", "sequence", "items", "bytes", "findings", "ok", "drill", "deferred": null,
                         "facts": ...}

Without a network nothing is asked: then `deferred` says so, and `ok` is true. `sequence` is null where there is nothing
that could be held against what is here. `drill`: what the restore drill of the remote found where one was due (see
`verify --remote --json`), else null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.json_types import JsonObject
from lifeboat_core.health import status
from lifeboat_core.machine import conditions
from lifeboat_daemon.work.operations.push import named

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker import Work


def run(work: Work) -> JsonObject:
    """See the module. Raises BadRequest, UnknownRemote, ConfigError, and what keeps it from being found out."""
    from lifeboat_core.remotes import drilling, sending

    context, agent, config = work.context, work.needed_agent(), named(work)
    if sending.needs_network(config) and conditions.is_online() is False:
        nothing: JsonObject = {
            "name": config.name,
            "id": config.id,
            "sequence": None,
            "items": 0,
            "bytes": 0,
            "findings": [],
            "drill": None,
        }
        found, deferred = {**nothing, "ok": True}, conditions.NO_NETWORK
    else:
        work.tell(f"Reading back from {config.name}")
        found, deferred = drilling.read_back(context, agent, config, work.tell), None
    return {**found, "deferred": deferred, "facts": status.gather(context, agent).to_json()}
