"""How an agent stands, and what is to be watched of it.

{"facts": health.standing.Facts, "watch": watch.plan.Plan}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health import status_gathering
from lifeboat_core.home.context import Context
from lifeboat_daemon.watch import make_watch_plan

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob


def run(work: RunningJob) -> JsonObject:
    """See the module."""
    return gather_facts(work.context, work.needed_agent())


def gather_facts(context: Context, agent: Agent) -> JsonObject:
    """What every look at an agent finds. Asks no key."""
    return {
        "facts": status_gathering.gather_facts(context, agent).to_json(),
        "watch": msgspec.to_builtins(make_watch_plan.plan_watching(context, agent)),
    }
