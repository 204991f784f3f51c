"""Check the user's key: {"key": health.standing.KeyFacts}.

The key store is asked. A keyring may have to ask the user, or never answer, so no other work waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.health import status_gathering

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob


def run(work: RunningJob) -> JsonObject:
    """Run the operation; see the module. Never raises for a problem with the key: the document reports it."""
    return {"key": msgspec.to_builtins(status_gathering.make_key_facts(work.context.keys().status()))}
