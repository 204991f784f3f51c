"""Push one agent to one remote.

    {remote: name, asked?: bool}         ->  {"remote": one remote of `sync --json`, "retry_after": seconds | null,
                                              "facts": ...}

Without `asked` it waits for a network, and for an unmetered one if there is much to send. The outcome is in
`remote.state`: an error of the remote or the network is not a failure of the operation. It can be cancelled between two
requests, and between two parts of a large one.
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
    """Run the operation; see the module. Raises BadRequest, SecondCopyError.UNKNOWN_REMOTE, ConfigError, Cancelled, and
    errors of this machine."""
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
    """Return the remote of the job. Raises BadRequest, SecondCopyError.UNKNOWN_REMOTE, ConfigError."""
    name = work.parameters.get("remote")
    if not isinstance(name, str):
        raise BadRequest("the parameter `remote` must be the name of a remote")
    return remote_registry.find_remote(work.context, name)
