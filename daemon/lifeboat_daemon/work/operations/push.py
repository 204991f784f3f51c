"""Bring one remote up to date with one agent.

    {remote: name, asked?: bool}
        ->  {"remote": one remote of `sync --json`, "retry_after": seconds | null, "facts": ...}

What nobody `asked` for waits for a network, and with much to send for one that does not cost. How it ended is in
`remote.state`: what is wrong there, or on the way, is no failure of this work. Between two requests, and between two
pieces of a large one, it can be stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.json_types import JsonObject
from lifeboat_core.errors import BadRequest
from lifeboat_core.health import status
from lifeboat_core.remotes import registry

if TYPE_CHECKING:
    from lifeboat_core.remotes.contract import RemoteConfig
    from lifeboat_daemon.work.worker import Work


def run(work: Work) -> JsonObject:
    """See the module. Raises BadRequest, UnknownRemote, ConfigError, Cancelled, and what is wrong on this machine."""
    from lifeboat_core.remotes import sending

    context, agent, config = work.context, work.needed_agent(), named(work)

    def tell(text: str, done: int, total: int | None) -> None:
        work.tell(f"{config.name}: {text}", done, total)
        work.check()

    outcome = sending.send(context, agent, config, asked=bool(work.parameters.get("asked")), tell=tell)
    return {
        "remote": sending.told(config, outcome),
        "retry_after": outcome.retry_after,
        "facts": status.gather(context, agent).to_json(),
    }


def named(work: Work) -> RemoteConfig:
    """The remote that the work is about. Raises BadRequest, UnknownRemote, ConfigError."""
    name = work.parameters.get("remote")
    if not isinstance(name, str):
        raise BadRequest("remote: the name of a second copy is expected")
    return registry.find(work.context, name)
