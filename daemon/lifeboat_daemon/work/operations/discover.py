"""Look around for agents that nobody protects.

    {"found": [...], "offers": [{runtime, native_id, name, workspace}], "new": [...], "watch_names": [".openclaw", ...],
     "problems": ["..."]}

`found` are all that there are; `offers` are neither protected nor dismissed; `new` are those of them that no look
around found before. A folder of the user's home with one of the `watch_names` that comes or goes is worth another look.
`problems` are runtimes that could not be looked at, in words for people.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lifeboat_adapters.contract import Adapter
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.json_types import JsonObject
from lifeboat_alf.system_texts import describe_refusal
from lifeboat_core.agents import offers
from lifeboat_core.agents.agent import everyone
from lifeboat_core.agents.offers import Offer
from lifeboat_core.home.context import Context

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker import Work


def run(work: Work) -> JsonObject:
    """See the module. A runtime whose configuration cannot be read hides no other. Raises ConfigError."""
    return look_around(work.context)


def look_around(context: Context) -> JsonObject:
    """What `run` answers; also for a command. Raises ConfigError."""
    adapters, problems = context.adapters(), []
    found: list[Offer] = []
    for adapter in adapters:
        try:
            found += _of_runtime(context, adapter)
        except LifeboatError as error:
            problems.append(error.message)
        except OSError as error:
            problems.append(describe_refusal(error))
    names = sorted({name for adapter in adapters for name in adapter.home_names})
    new = offers.remember(context, found, names)
    standing = offers.open_offers(found, offers.protected_folders(everyone(context)), offers.dismissed(context))
    return {
        "found": [each.to_json() for each in found],
        "offers": [each.to_json() for each in standing],
        "new": [each.to_json() for each in new],
        "watch_names": names,
        "problems": problems,
    }


def _of_runtime(context: Context, adapter: Adapter) -> list[Offer]:
    found = adapter.discover(context.environment, context.user_home)
    return [Offer(one.runtime, one.native_id, one.name, os.path.realpath(one.workspace)) for one in found]
