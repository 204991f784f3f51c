"""Determine the status of an agent, and the folders to watch.

{"facts": health.standing.Facts, "watch": watch_plan.WatchPlan}
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
    """Run the operation; see the module."""
    return gather_facts(work.context, work.needed_agent())


def gather_facts(context: Context, agent: Agent) -> JsonObject:
    """Return the facts of an agent. No key is asked."""
    return {
        "facts": status_gathering.gather_facts(context, agent).to_json(),
        "watch": msgspec.to_builtins(make_watch_plan.plan_watching(context, agent)),
    }
