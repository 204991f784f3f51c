"""How the user's key stands: {"key": health.standing.KeyFacts}.

The store of the key is asked. A keyring may have to ask somebody else, or never answers: that takes its time, which is
why nothing else waits for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.health import status_gathering

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob


def run(work: RunningJob) -> JsonObject:
    """See the module. Never raises for what is wrong with a key: it says so."""
    return {"key": msgspec.to_builtins(status_gathering.make_key_facts(work.context.keys().status()))}
