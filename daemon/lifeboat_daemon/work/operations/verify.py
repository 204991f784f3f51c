"""Verify an agent's copy.

    {"sample": true}                     the newest sequence and a sample of its bodies
    {"whole": false}                     a restore drill of the newest sequence
    {"whole": true, "unasked": false}    a drill, and every other kept sequence

The answer is what `verify --json` says, with `how` (`sample`, `drill`, `whole`), `ok`, `deferred` and `facts`. A whole
verification that nobody asked for (`unasked`) waits while the battery is to be saved, two weeks at most: then `how` is
None and `deferred` says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_alf.json_types import JsonObject
from lifeboat_core.agents.agent import Agent
from lifeboat_core.health import due, status
from lifeboat_core.home.context import Context
from lifeboat_core.machine import conditions
from lifeboat_core.verify import verification

if TYPE_CHECKING:
    from lifeboat_daemon.work.worker import Work

SAVING = "the battery is to be saved: every kept sequence is read back when the machine is on the mains"


def run(work: Work) -> JsonObject:
    """See the module. Raises BadRequest, NothingToRestore, Busy."""
    agent = work.needed_agent()
    why = _deferred(work, agent) if work.parameters.get("unasked") and work.parameters.get("whole") else None
    work.check()
    answer: JsonObject = {"how": None, "ok": True} if why else _verified(work, agent)
    facts = status.gather(work.context, agent)
    return {"agent": agent.id, **answer, "deferred": why, "facts": facts.to_json()}


def _verified(work: Work, agent: Agent) -> JsonObject:
    if work.parameters.get("sample"):
        work.tell(f"Reading back a sample of {agent.name}")
        sampled = verification.sample(work.context, agent)
        known = status.gather(work.context, agent).damaged
        if not (sampled.ok and sampled.healed and known):
            return {**sampled.to_json(), "how": due.SAMPLE, "ok": sampled.ok}
        # What was found damaged before is mended: a drill of as much can take it back.
        return _drilled(work, agent, whole=bool(known.get("whole")))
    return _drilled(work, agent, whole=bool(work.parameters.get("whole")))


def _drilled(work: Work, agent: Agent, *, whole: bool) -> JsonObject:
    work.tell(f"Trying out the copy of {agent.name}")
    drilled = verification.drill(work.context, agent, whole=whole, tell=work.tell)
    return {**drilled.to_json(), "how": due.WHOLE if whole else "drill", "ok": drilled.ok}


def _deferred(work: Work, agent: Agent) -> str | None:
    context = work.context
    last_whole_at = status.gather(context, agent).last_whole_at
    every = float(context.setting("verify.whole_every", agent))
    may = due.may_defer(last_whole_at, agent.added_at or None, every, context.clock.now())
    return SAVING if may and _saves_battery(context) else None


def _saves_battery(context: Context) -> bool:
    found = conditions.read(context)
    return bool(found.saver or found.on_battery)
