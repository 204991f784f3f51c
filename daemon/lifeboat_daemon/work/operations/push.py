"""Bring one remote up to date with one agent.

    {remote: name, asked?: bool}
        ->  {"remote": one remote of `sync --json`, "retry_after": seconds | null, "facts": ...}

What nobody `asked` for waits for a network, and with much to send for one that does not cost. How it ended is in
`remote.state`: what is wrong there, or on the way, is no failure of this work. Between two requests, and between two
pieces of a large one, it can be stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import BadRequest
from lifeboat_core.health import status_gathering
from lifeboat_core.remotes import remote_registry

if TYPE_CHECKING:
    from lifeboat_core.remotes.contract import RemoteConfig
    from lifeboat_daemon.work.worker_loop import RunningJob


def run(work: RunningJob) -> JsonObject:
    """See the module. Raises BadRequest, SecondCopyError.UNKNOWN_REMOTE, ConfigError, Cancelled, and what is wrong on
    this machine."""
    from lifeboat_core.remotes import conditional_replication

    context, agent, config = work.context, work.needed_agent(), find_named_remote(work)

    def tell(text: str, done: int, total: int | None) -> None:
        work.tell(f"{config.name}: {text}", done, total)
        work.check()

    outcome = conditional_replication.send_when_suitable(
        context, agent, config, asked=bool(work.parameters.get("asked")), tell=tell
    )
    return {
        "remote": conditional_replication.make_sync_document(config, outcome),
        "retry_after": outcome.retry_after,
        "facts": status_gathering.gather_facts(context, agent).to_json(),
    }


def find_named_remote(work: RunningJob) -> RemoteConfig:
    """The remote that the work is about. Raises BadRequest, SecondCopyError.UNKNOWN_REMOTE, ConfigError."""
    name = work.parameters.get("remote")
    if not isinstance(name, str):
        raise BadRequest("remote: the name of a second copy is expected")
    return remote_registry.find_remote(work.context, name)
