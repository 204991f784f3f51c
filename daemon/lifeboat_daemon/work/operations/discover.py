"""Look around for agents that nobody protects.

    {"offers": [{runtime, native_id, name, workspace}], "new": [...], "watch_names": [".openclaw", ...]}

`offers` are neither protected nor dismissed; `new` are those of them that no look around found before. A folder of the
user's home with one of the `watch_names` that comes or goes is worth another look.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lifeboat_adapters.contract import Adapter
from lifeboat_alf.errors import LifeboatError
from lifeboat_daemon import offers
from lifeboat_daemon.agent import everyone
from lifeboat_daemon.context import Context
from lifeboat_daemon.offers import Offer

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker import Work

JsonObject = dict[str, Any]


def run(work: Work) -> JsonObject:
    """See the module. A runtime whose configuration cannot be read hides no other. Raises ConfigError."""
    return look_around(work.context)


def look_around(context: Context) -> JsonObject:
    """What `run` answers; also for a command that finds no service."""
    adapters = context.adapters()
    found = [offer for adapter in adapters for offer in _found(context, adapter)]
    names = sorted({name for adapter in adapters for name in adapter.home_names})
    new = offers.remember(context, found, names)
    protected, dismissed = offers.protected_folders(everyone(context)), offers.dismissed(context)
    standing = offers.open_offers(found, protected, dismissed)
    return {
        "offers": [each.to_json() for each in standing],
        "new": [each.to_json() for each in new],
        "watch_names": names,
    }


def _found(context: Context, adapter: Adapter) -> Iterator[Offer]:
    try:
        agents = adapter.discover(context.environment, context.user_home)
    except (LifeboatError, OSError):
        return
    for agent in agents:
        yield Offer(agent.runtime, agent.native_id, agent.name, os.path.realpath(agent.workspace))
