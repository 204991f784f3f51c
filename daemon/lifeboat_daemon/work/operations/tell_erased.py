"""Second copies of agents that were purged whole are told, where that did not work before: {} -> {}.

How each of them stands is in the receipts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.json_types import JsonObject

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker import Work


def run(work: Work) -> JsonObject:
    """See the module. What goes wrong at one is no failure of this work."""
    from lifeboat_core.purge import erasing

    erasing.tell_everywhere(work.context)
    return {}
