"""How an agent stands, and what is to be watched of it.

{"facts": health.standing.Facts, "watch": watch.plan.Plan}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lifeboat_alf.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health import status
from lifeboat_core.home.context import Context
from lifeboat_daemon.watch import planning

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker import Work


def run(work: Work) -> JsonObject:
    """See the module."""
    return facts(work.context, work.needed_agent())


def facts(context: Context, agent: Agent) -> JsonObject:
    """What every look at an agent finds. Asks no key."""
    return {
        "facts": status.gather(context, agent).to_json(),
        "watch": msgspec.to_builtins(planning.plan(context, agent)),
    }
