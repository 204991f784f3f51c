"""Look for agents that are not protected.

    {"found": [...], "offers": [{runtime, native_id, name, workspace}], "new": [...], "watch_names": [".openclaw", ...],
     "problems": ["..."]}

`found` are all agents; `offers` are neither protected nor dismissed; `new` are the offers that no earlier discovery
found. When a directory of the user's home with one of the `watch_names` appears or disappears, discovery should run
again. `problems` are runtimes that could not be inspected, in words for people.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lifeboat_adapters.adapter_registry import find_refused_adapters
from lifeboat_adapters.contract import Adapter
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import describe_refusal
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents import offers
from lifeboat_core.agents.agent import list_agents
from lifeboat_core.agents.offers import AgentOffer
from lifeboat_core.home.context import Context

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker_loop import RunningJob


def run(work: RunningJob) -> JsonObject:
    """Run the operation; see the module. A runtime whose configuration cannot be read does not hide the others. Raises
    ConfigError."""
    return look_for_agents(work.context)


def look_for_agents(context: Context) -> JsonObject:
    """Return the document of `run`; commands use it too. Raises ConfigError."""
    adapters = context.adapters()
    problems = [refused.message for refused in find_refused_adapters(context.home.profiles_folder).values()]
    found: list[AgentOffer] = []
    for adapter in adapters:
        try:
            found += _of_runtime(context, adapter)
        except LifeboatError as error:
            problems.append(error.message)
        except OSError as error:
            problems.append(describe_refusal(error))
    names = sorted({name for adapter in adapters for name in adapter.home_names})
    new = offers.remember_discovery(context, found, names)
    standing = offers.select_open_offers(
        found, offers.list_protected_folders(list_agents(context)), offers.load_dismissed_folders(context)
    )
    return {
        "found": [each.to_json() for each in found],
        "offers": [each.to_json() for each in standing],
        "new": [each.to_json() for each in new],
        "watch_names": names,
        "problems": problems,
    }


def _of_runtime(context: Context, adapter: Adapter) -> list[AgentOffer]:
    found = adapter.discover(context.environment, context.user_home)
    return [AgentOffer(one.runtime, one.native_id, one.name, os.path.realpath(one.workspace)) for one in found]
