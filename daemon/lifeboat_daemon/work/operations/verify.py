"""Read a copy back: a sample of it, as a restore would, or with every kept sequence.

{whole?: bool, sample?: bool} -> {what `lifeboat verify --json` gives, or the document of a sample, "facts", "watch"}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lifeboat_daemon import verification
from lifeboat_daemon.work.operations.standing import facts

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker import Work

JsonObject = dict[str, Any]


def run(work: Work) -> JsonObject:
    """See the module. Raises NothingToRestore, Busy."""
    context, agent = work.context, work.needed_agent()
    work.tell("verifying")
    if work.parameters.get("sample"):
        found = verification.sample(context, agent).to_json()
    else:
        found = verification.drill(context, agent, whole=bool(work.parameters.get("whole"))).to_json()
    work.check()
    return {**found, **facts(context, agent)}
